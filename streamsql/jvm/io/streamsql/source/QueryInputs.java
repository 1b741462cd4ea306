package io.streamsql.source;

import io.streamsql.formats.Json;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.TopicPartition;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.sql.streaming.StreamingQueryProgress;

/**
 * The topics that one query reads, and whether there is anything to read.
 *
 * <p>A query goes on while any of its inputs moved in the last round (a batch, or a look for one).
 * Whether a round that read nothing has missed nothing is told by where the topics ended before it
 * and after it: only if these are the same is there nothing unread, and only then does the query
 * sleep. The offsets read say it less well: the end of a topic may be a transaction's marker, which
 * is never read. Since a whole round comes after the last record, what a batch owes to the one
 * before it (a watermark that moved) has been done.
 */
public final class QueryInputs {
  private static final long LOOK_MILLIS = 5;
  private static final Map<String, QueryInputs> QUERIES = new ConcurrentHashMap<>();

  private final String query;
  private final Ends ends;
  private final List<Input> inputs = new ArrayList<>();
  private final TablesFirst tablesFirst;
  private final BatchPace pace = new BatchPace();
  private final OwedBatch owed = new OwedBatch();
  private int made;
  private volatile boolean asleep;
  private volatile boolean finishing;
  private volatile boolean finished;

  QueryInputs(String query, Ends ends) {
    this.query = query;
    this.ends = ends;
    tablesFirst = new TablesFirst(ends::readable);
  }

  /** Those of a query, made when its first input is. */
  static QueryInputs of(String query, Ends ends) {
    return QUERIES.computeIfAbsent(query, name -> new QueryInputs(name, ends));
  }

  /** Whether a query sleeps now, since its topics get no records. */
  public static boolean isAsleep(String query) {
    QueryInputs inputs = QUERIES.get(query);
    return inputs != null && inputs.asleep;
  }

  /** The queries that sleep now. */
  public static List<String> asleep() {
    return QUERIES.keySet().stream().filter(QueryInputs::isAsleep).toList();
  }

  /** Those of a query that runs; null where it does not, or not in this JVM. */
  static QueryInputs find(String query) {
    return QUERIES.get(query);
  }

  /** What rows of streams wait for. */
  TablesFirst tablesFirst() {
    return tablesFirst;
  }

  /** Whether the query's batch is to end now: then it reads no more. */
  boolean isFinishing() {
    return finishing || owed.isOver();
  }

  /** When the query's real-time batch ends, if nothing comes. */
  OwedBatch owed() {
    return owed;
  }

  /**
   * Has a query in real time end its batch and commit it, for it to be stopped without reading
   * anything twice afterwards. It begins no other batch.
   *
   * @return whether it has within this time; then, or if it sleeps, all that it read is committed.
   *     Of one that reads nothing yet that is not known: it may begin before it is stopped
   */
  public static boolean finish(StreamingQuery query, long millis) throws InterruptedException {
    QueryInputs inputs = QUERIES.get(query.name());
    if (inputs == null) {
      return false;
    }
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
    // In this order: a batch that ends in between is not taken for one that ended by this.
    inputs.finishing = true;
    long batch = lastBatch(query);
    TopicTails.rouse();
    // Spark tells nothing of a batch without records: then it is the next one that begins.
    // One that sleeps begins none when it wakes: it looks once more before it does.
    while (lastBatch(query) == batch && !inputs.finished && !inputs.asleep) {
      if (!query.isActive() || System.nanoTime() > deadline) {
        return false;
      }
      TimeUnit.MILLISECONDS.sleep(LOOK_MILLIS);
    }
    return true;
  }

  private static long lastBatch(StreamingQuery query) {
    StreamingQueryProgress progress = query.lastProgress();
    return progress == null ? -1 : progress.batchId();
  }

  /**
   * One input more, until it is closed.
   *
   * @param atOnce see {@link TopicSource#AT_ONCE}
   * @param isTable see {@link TopicSource#TABLE}
   * @param timeDecides see {@link TopicSource#TIME_DECIDES}
   */
  synchronized Input reading(String topic, boolean atOnce, boolean isTable, boolean timeDecides) {
    finishing = finished = false;
    Input input = new Input(topic, atOnce, isTable, timeDecides);
    inputs.add(input);
    return input;
  }

  /** Returns at once if there may be something to read, else when there is. */
  private void await(Input beginning, String start) throws InterruptedException {
    endIfFinishing();
    Map<String, Map<Integer, Long>> known;
    synchronized (this) {
      if (!beginning.ended) {
        return; // It is asked again within one round.
      }
      boolean atOnce = beginning.mayBeginAsleep() && inputs.size() == 1;
      boolean looks = atOnce || isQuiet();
      known = looks ? ends.now(inputs.stream().map(input -> input.topic).toList()) : Map.of();
      if (atOnce ? !isAt(start, beginning.topic, known) : !isSame(known)) {
        beginning.began(start, known.get(beginning.topic));
        return;
      }
    }
    asleep = true;
    try {
      ends.awaitOthers(known);
    } finally {
      asleep = false;
    }
    endIfFinishing();
    synchronized (this) {
      beginning.began(start, null);
    }
  }

  /** A real-time batch begins with the first of its inputs. */
  private synchronized void beginRound() {
    if (inputs.stream().allMatch(input -> input.ended)) {
      owed.begins(
          inputs.stream().anyMatch(input -> input.timeDecides)
              && inputs.stream().anyMatch(input -> input.moved));
    }
  }

  private synchronized boolean isFirst(Input input) {
    return inputs.get(0) == input;
  }

  private void rest() throws InterruptedException {
    TimeUnit.NANOSECONDS.sleep(pace.rest(System.nanoTime()));
  }

  private static UncheckedIOException stoppedWhileAsleep() {
    return new UncheckedIOException(new InterruptedIOException("stopped while it slept"));
  }

  private void endIfFinishing() throws InterruptedException {
    if (finishing) {
      finished = true;
      new CountDownLatch(1).await(); // It is being stopped.
    }
  }

  private boolean isQuiet() {
    return inputs.stream().allMatch(input -> input.ended && input.start.equals(input.end));
  }

  private boolean isSame(Map<String, Map<Integer, Long>> known) {
    return !known.isEmpty()
        && inputs.stream().allMatch(input -> known.get(input.topic).equals(input.ends));
  }

  /** Whether Spark's offsets of a topic, as JSON, are where it ends. */
  private static boolean isAt(String offsets, String topic, Map<String, Map<Integer, Long>> known) {
    Map<Integer, Long> found = parsed(offsets, topic);
    return !found.isEmpty() && found.equals(known.get(topic));
  }

  /** Spark's offsets of a topic, which are JSON; none where they are something else. */
  private static Map<Integer, Long> parsed(String offsets, String topic) {
    Map<Integer, Long> found = new HashMap<>();
    try {
      Json.TREES
          .readTree(offsets)
          .path(topic)
          .properties()
          .forEach(e -> found.put(Integer.valueOf(e.getKey()), e.getValue().asLong()));
    } catch (IOException notOffsets) {
      return Map.of();
    }
    return found;
  }

  private synchronized void remove(Input input) {
    inputs.remove(input);
    if (inputs.isEmpty()) {
      QUERIES.remove(query, this);
    }
  }

  /** One topic as the query reads it, in rounds that begin and end. */
  final class Input {
    private final String topic;
    private final boolean atOnce;
    private final boolean isTable;
    private final boolean timeDecides;

    /** Of the inputs of the query that there have been. */
    final int number = made++;

    private String start = "";
    private String end = "none yet";
    private boolean ended = true;

    /** Where the last real-time batch began, and whether it or a look since has found records. */
    private String planned = "";

    private boolean moved = true;

    /** Where the topic ended when the last round began; null if that was not looked up. */
    private Map<Integer, Long> ends;

    private Input(String topic, boolean atOnce, boolean isTable, boolean timeDecides) {
      this.timeDecides = timeDecides;
      this.topic = topic;
      this.atOnce = atOnce;
      this.isTable = isTable;
    }

    private boolean mayBeginAsleep() {
      return atOnce && start.isEmpty();
    }

    /** A micro-batch begins at these offsets, after a rest if it `rests`, and then as any round. */
    void beginBatch(String offsets, boolean rests) {
      boolean isFirst = isFirst(this);
      try {
        if (rests && isFirst) {
          rest();
        }
        await(this, offsets);
      } catch (InterruptedException stopped) {
        throw stoppedWhileAsleep();
      }
      if (isFirst) {
        pace.begins(System.nanoTime());
      }
    }

    /** A real-time batch begins at these offsets; sleeps first if there is nothing to read. */
    void begin(String offsets) {
      beginRound();
      planned = offsets;
      try {
        await(this, offsets);
      } catch (InterruptedException stopped) {
        throw stoppedWhileAsleep();
      }
    }

    /** Whether it is a table that rows of a stream wait for. */
    boolean isWaitedFor() {
      synchronized (QueryInputs.this) {
        return isTable && !inputs.stream().allMatch(input -> input.isTable);
      }
    }

    /** A real-time batch of a table begins at these offsets. */
    void beginTable(String offsets) {
      Map<TopicPartition, Long> starts = new HashMap<>();
      parsed(offsets, topic)
          .forEach(
              (partition, start) -> {
                if (start >= 0) { // Else it is read by Spark's own reader, which tells nothing.
                  starts.put(new TopicPartition(topic, partition), start);
                }
              });
      tablesFirst.begin(number, starts);
    }

    /** The round has ended at these offsets. */
    void end(String offsets) {
      synchronized (QueryInputs.this) {
        end = offsets;
        ended = true;
        moved = !planned.equals(offsets);
      }
    }

    /** The query reads it no longer. */
    void close() {
      remove(this);
    }

    private void began(String offsets, Map<Integer, Long> topicEnds) {
      start = offsets;
      ends = topicEnds;
      ended = false;
    }
  }
}
