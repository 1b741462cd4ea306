package io.streamsql.operators.joins;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.streaming.TTLConfig;

/**
 * The rows that a stream-stream join keeps of a key: by side and time bucket, in chunks, so that
 * storing, finding or dropping a row does not touch the others. Chunks that a batch has used stay
 * in memory until {@link #store}.
 */
final class JoinWindowRows {
  /** A stored row. */
  record Place(RowChunk chunk, int place) {
    long time() {
      return chunk.time(place);
    }

    byte[] row() {
      return chunk.row(place);
    }

    boolean waits() {
      return chunk.waits(place);
    }

    void stopWaiting() {
      chunk.stopWaiting(place);
    }
  }

  private record Name(int side, long bucket, int number) {
    byte[] bytes() {
      return ByteBuffer.allocate(1 + Long.BYTES + Integer.BYTES)
          .put((byte) side)
          .putLong(bucket)
          .putInt(number)
          .array();
    }
  }

  private final MapState<byte[], byte[]> state;
  private final long length;
  private final boolean one;
  private final Map<Name, RowChunk> used = new HashMap<>();

  /**
   * @param window of the join: if it is unbounded, one bucket holds all rows
   */
  JoinWindowRows(StatefulProcessorHandle handle, JoinWindow window) {
    this.state = handle.getMapState("rows", Encoders.BINARY(), Encoders.BINARY(), TTLConfig.NONE());
    this.length = window.bucket();
    this.one = window.isForever();
  }

  /** Whether the row is the first one of its bucket. */
  boolean add(int side, long time, boolean waits, byte[] row) {
    long bucket = bucketOf(time);
    Name head = new Name(side, bucket, 0);
    RowChunk first = chunk(head);
    if (first == null) {
      first = new RowChunk();
      used.put(head, first);
      first.add(time, waits, row);
      return true;
    }
    int last = first.chunks() - 1;
    RowChunk chunk = last == 0 ? first : chunk(new Name(side, bucket, last));
    if (chunk.isFull()) {
      chunk = new RowChunk();
      used.put(new Name(side, bucket, last + 1), chunk);
      first.setChunks(last + 2);
    }
    chunk.add(time, waits, row);
    return false;
  }

  /** The rows in the inclusive time range, in the order of their buckets. */
  List<Place> between(int side, long from, long to) {
    List<Place> found = new ArrayList<>();
    long last = bucketOf(to);
    for (long bucket = bucketOf(from); bucket <= last; bucket++) {
      RowChunk first = chunk(new Name(side, bucket, 0));
      int count = first == null ? 0 : first.chunks();
      for (int number = 0; number < count; number++) {
        RowChunk chunk = number == 0 ? first : chunk(new Name(side, bucket, number));
        for (int place = chunk.first(); place >= 0; place = chunk.next(place)) {
          long time = chunk.time(place);
          if (time >= from && time <= to) {
            found.add(new Place(chunk, place));
          }
        }
      }
    }
    return found;
  }

  /** Deletes the bucket of that time. */
  void drop(int side, long time) {
    long bucket = bucketOf(time);
    RowChunk first = chunk(new Name(side, bucket, 0));
    int count = first == null ? 0 : first.chunks();
    for (int number = 0; number < count; number++) {
      Name name = new Name(side, bucket, number);
      used.remove(name);
      state.removeKey(name.bytes());
    }
  }

  /** The last time in the bucket of that time. */
  long lastOf(long time) {
    return (Math.floorDiv(time, length) + 1) * length - 1;
  }

  /** Whether a bucket ends with that time. */
  boolean isLast(long time) {
    return lastOf(time) == time;
  }

  /** Ends the key's batch. */
  void store() {
    used.forEach(
        (name, chunk) -> {
          if (chunk != null && chunk.isChanged()) {
            state.updateValue(name.bytes(), chunk.stored());
          }
        });
    used.clear();
  }

  private long bucketOf(long time) {
    return one ? 0 : Math.floorDiv(time, length);
  }

  private RowChunk chunk(Name name) {
    if (used.containsKey(name)) {
      return used.get(name);
    }
    byte[] stored = state.getValue(name.bytes());
    RowChunk chunk = stored == null ? null : new RowChunk(stored);
    used.put(name, chunk);
    return chunk;
  }
}
