package io.streamsql.serving;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * The results of a query over a snapshot of tables, in parts, each computed by one of the {@link
 * ScanThreads}.
 */
public final class ScannedRows implements AutoCloseable {
  private static final int PIECE = 256 * 1024;

  private final List<? extends AutoCloseable> read;
  private final PlanRun run;
  private ByteArrayOutputStream first;
  private boolean closed;

  /**
   * @param inputs the rows of the plan's sources
   * @param read the snapshot, closed at the end
   */
  ScannedRows(
      CompiledPlan plan, List<Iterable<InternalRow>> inputs, List<? extends AutoCloseable> read) {
    this.read = read;
    try {
      this.run = ScanThreads.run(() -> new PlanRun(plan, inputs));
    } catch (RuntimeException | Error e) {
      closeAll(read);
      throw e;
    }
  }

  /** All results over the inputs, each after its length (int), in one turn of a thread. */
  static byte[] all(CompiledPlan plan, List<Iterable<InternalRow>> inputs) {
    return ScanThreads.run(
        () -> {
          try (PlanRun run = new PlanRun(plan, inputs)) {
            return run.within(
                () -> {
                  ByteArrayOutputStream out = new ByteArrayOutputStream();
                  while (run.hasNext()) {
                    put(out, run.next().getBinary(0));
                  }
                  return out.toByteArray();
                });
          }
        });
  }

  /** All results as next() gives them, if these are few; else this. */
  public synchronized Object whole() {
    try {
      first = ScanThreads.run(() -> run.within(this::piece));
      if (ScanThreads.run(() -> run.within(run::hasNext))) {
        return this;
      }
    } catch (RuntimeException | Error e) {
      close();
      throw e;
    }
    close();
    return first.toByteArray();
  }

  /** Some more results, each after its length (int); null at the end. */
  public synchronized byte[] next() {
    if (closed) {
      return null;
    }
    if (first != null) {
      byte[] found = first.toByteArray();
      first = null;
      return found;
    }
    ByteArrayOutputStream out = ScanThreads.run(() -> run.within(this::piece));
    if (out.size() == 0) {
      close();
      return null;
    }
    return out.toByteArray();
  }

  private ByteArrayOutputStream piece() {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    while (out.size() < PIECE && run.hasNext()) {
      put(out, run.next().getBinary(0));
    }
    return out;
  }

  @Override
  public synchronized void close() {
    if (!closed) {
      closed = true;
      try {
        run.close();
      } finally {
        closeAll(read);
      }
    }
  }

  static void closeAll(List<? extends AutoCloseable> open) {
    for (AutoCloseable each : open) {
      try {
        each.close();
      } catch (Exception e) {
        throw new IllegalStateException(e);
      }
    }
  }

  static void put(ByteArrayOutputStream out, byte[] bytes) {
    out.writeBytes(ByteBuffer.allocate(4).putInt(bytes.length).array());
    out.writeBytes(bytes);
  }
}
