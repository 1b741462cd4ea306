package io.streamsql.source;

import io.streamsql.epochs.Epochs;
import io.streamsql.formats.Json;
import io.streamsql.runs.QueryRun;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.apache.kafka.common.TopicPartition;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.sql.streaming.StreamingQueryProgress;

/**
 * The topics that one run of a query reads, and whether they have unread records.
 *
 * <p>A query continues while any of its inputs moved in the last round (a batch, or a check for
 * one). A round that read nothing has missed nothing if the topics' ends are the same before and
 * after it; only then does the query sleep. The read offsets are less reliable: a topic may end
 * with a transaction marker, which is never read. Since a whole round follows the last record, the
 * work that a batch leaves to the next one (a moved watermark) is done.
 */
public final class QueryInputs implements QueryRun.Part {
  private static final long LOOK_MILLIS = 5;

  private final Ends ends;
  private final ReadUntil.Steps steps;
  private final Clock clock;
  private final List<Input> inputs = new ArrayList<>();
  private final TablesFirst tablesFirst;
  private final BatchPace pace = new BatchPace();
  private final OwedBatch owed = new OwedBatch();

  /** Null: the query goes through none. */
  private final InputEpochs epochs;

  /** The present round of a query with epochs. */
  private final Round round = new Round();

  private int made;
  private volatile boolean asleep;
  private volatile boolean finishing;
  private volatile boolean finished;

  /**
   * @param clock by which the query has batches without records
   * @param steps at which a run over the existing records ends its batches; null: it has none
   * @param epochs at which the query's batches end; null: they end anywhere
   */
  QueryInputs(Ends ends, ReadUntil.Steps steps, Clock clock, InputEpochs epochs) {
    this.ends = ends;
    this.steps = steps;
    this.clock = clock;
    this.epochs = epochs;
    tablesFirst = new TablesFirst(ends::readable);
  }

  /**
   * The inputs of a run, created with its first one.
   *
   * @param epochs makes those of the query; null: it goes through none
   */
  static QueryInputs of(QueryRun run, Ends ends, Function<Clock, InputEpochs> epochs) {
    return run.own(
        QueryInputs.class,
        () -> {
          Clock clock = Clock.of(run);
          InputEpochs found = epochs == null ? null : epochs.apply(clock);
          return new QueryInputs(ends, ReadUntil.takeSteps(run.query()), clock, found);
        });
  }

  /** The epoch that the batch of a run belongs to; 0: to none. */
  public static long epoch(String run) {
    QueryInputs inputs = inputs(run);
    return inputs == null || inputs.epochs == null ? 0 : inputs.epochs.epoch();
  }

  /** What the batch of a run has written is committed. */
  public static void batchEnded(String run) throws InterruptedException {
    QueryInputs inputs = inputs(run);
    if (inputs != null && inputs.epochs != null) {
      inputs.epochs.ended(inputs.positions());
    }
  }

  /** By the query of a view: what holds it back. */
  public static Map<String, Epochs.Held> held() {
    return ViewEpochs.held();
  }

  private static QueryInputs inputs(String id) {
    QueryRun run = QueryRun.find(id);
    return run == null ? null : run.get(QueryInputs.class);
  }

  /** The sleeping queries. */
  public static List<String> asleep() {
    return QueryRun.all().stream().filter(QueryInputs::isAsleep).map(QueryRun::query).toList();
  }

  private static boolean isAsleep(QueryRun run) {
    QueryInputs inputs = run.get(QueryInputs.class);
    return inputs != null && inputs.asleep;
  }

  /** The inputs of the calling task's run; null if its driver is another JVM. */
  static QueryInputs current() {
    QueryRun run = QueryRun.current();
    return run == null ? null : run.get(QueryInputs.class);
  }

  /** The tables that rows of streams wait for. */
  TablesFirst tablesFirst() {
    return tablesFirst;
  }

  /** Whether the query's batch has to end now, without reading more. */
  boolean isFinishing() {
    return finishing || owed.isOver();
  }

  /** The end of the query's real-time batch if no record arrives. */
  OwedBatch owed() {
    return owed;
  }

  /**
   * Makes a query commit its batch and begin no other, so that it can be stopped without reading
   * records twice. A real-time batch ends early; a micro-batch reads up to its end.
   *
   * @return whether it did so within this time; then, or if it sleeps, all that it read is
   *     committed. Unknown for a query that has not begun to read: it may begin before it is
   *     stopped
   */
  public static boolean finish(StreamingQuery query, long millis) throws InterruptedException {
    QueryInputs inputs = inputs(query.runId().toString());
    if (inputs == null) {
      return false;
    }
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
    // In this order: a batch that ends in between is not taken for one that this call ended.
    inputs.finishing = true;
    long batch = lastBatch(query);
    TopicTails.rouse();
    // Spark does not report a batch without records: then the next one begins. A sleeping query
    // begins none when it wakes: it checks once more first.
    while (lastBatch(query) == batch
        && !inputs.finished
        && !inputs.asleep
        && !isBetweenBatches(query)) {
      if (!query.isActive() || System.nanoTime() > deadline) {
        return false;
      }
      TimeUnit.MILLISECONDS.sleep(LOOK_MILLIS);
    }
    return true;
  }

  /** Whether Spark waits for the time of the next batch, after one that has been committed. */
  private static boolean isBetweenBatches(StreamingQuery query) {
    return query.lastProgress() != null && !query.status().isTriggerActive();
  }

  private static long lastBatch(StreamingQuery query) {
    StreamingQueryProgress progress = query.lastProgress();
    return progress == null ? -1 : progress.batchId();
  }

  /**
   * Adds an input, until it is closed.
   *
   * @param atOnce see {@link TopicSource#AT_ONCE}
   * @param isTable see {@link TopicSource#TABLE}
   * @param timeDecides see {@link TopicSource#TIME_DECIDES}
   */
  synchronized Input reading(String topic, boolean atOnce, boolean isTable, boolean timeDecides) {
    Input input = new Input(topic, atOnce, isTable, timeDecides);
    inputs.add(input);
    return input;
  }

  /** Returns when there may be records to read. */
  private void await(Input beginning, String start) throws InterruptedException {
    endIfFinishing();
    Map<String, Map<Integer, Long>> known;
    synchronized (this) {
      if (!beginning.ended) {
        return; // It is asked again within one round.
      }
      if (epochs != null && !round.beginsWith(beginning)) {
        beginning.began(start, null);
        return;
      }
    }
    if (epochs != null) {
      awaitEpoch(beginning, start);
      return;
    }
    synchronized (this) {
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
      ends.awaitOthers(known, clock.due() - System.currentTimeMillis());
    } finally {
      asleep = false;
    }
    endIfFinishing();
    synchronized (this) {
      beginning.began(start, null);
    }
  }

  private void awaitEpoch(Input beginning, String start) throws InterruptedException {
    asleep = true;
    try {
      epochs.await(inputs.stream().map(input -> input.topic).toList(), positions());
    } finally {
      asleep = false;
    }
    endIfFinishing();
    synchronized (this) {
      beginning.began(start, null);
    }
  }

  /** Where the last round ended, by topic; nothing before the first one. */
  private synchronized Map<String, Map<Integer, Long>> positions() {
    Map<String, Map<Integer, Long>> found = new HashMap<>();
    inputs.forEach(input -> found.put(input.topic, parsed(input.end, input.topic)));
    return found;
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
    return new UncheckedIOException(new InterruptedIOException("stopped while the query slept"));
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

  /** Whether Spark's offsets of a topic, as JSON, are its ends. */
  private static boolean isAt(String offsets, String topic, Map<String, Map<Integer, Long>> known) {
    Map<Integer, Long> found = parsed(offsets, topic);
    return !found.isEmpty() && found.equals(known.get(topic));
  }

  /** Spark's offsets of a topic from JSON; none for other texts. */
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
  }

  @Override
  public void close() {
    if (steps != null) {
      steps.close();
    }
    if (epochs != null) {
      epochs.close();
    }
  }

  /** One topic as the query reads it, in rounds that begin and end. */
  final class Input {
    private final String topic;
    private final boolean atOnce;
    private final boolean isTable;
    private final boolean timeDecides;

    /** Its index among all inputs that the query has had. */
    final int number = made++;

    private String start = "";
    private String end = "none yet";
    private boolean ended = true;

    /** The start of the last real-time batch, and whether records were found since. */
    private String planned = "";

    private boolean moved = true;

    /** The topic's ends at the start of the last round; null if they were not requested. */
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

    /** A micro-batch begins at these offsets, after a pause if it `rests`. */
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

    /** A micro-batch begins, of a query that ends with the records present at its start. */
    void beginLimitedBatch() {
      try {
        endIfFinishing();
      } catch (InterruptedException stopped) {
        throw stoppedWhileAsleep();
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
                if (start >= 0) { // Otherwise Spark's own reader reads it, which reports nothing.
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

    /**
     * Where a batch of a run over the existing records ends.
     *
     * @param stream that asks, for a batch between these offsets of Spark's
     */
    String step(Object stream, String start, String end) {
      return steps == null ? end : steps.end(stream, topic, start, end);
    }

    /** Where a micro-batch ends, between these offsets of Spark's. */
    String inEpoch(String start, String end) {
      return epochs == null ? end : epochs.bounded(topic, start, end);
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
