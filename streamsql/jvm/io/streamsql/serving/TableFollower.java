package io.streamsql.serving;

import io.streamsql.epochs.Cut;
import io.streamsql.epochs.EpochMarks;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.rocksdb.RocksDBException;

/**
 * Reads a topic into its {@link TableStore} until it is closed, in its own thread.
 *
 * <p>A store of another topic (a deleted one of the same name), or ahead of the topic, is emptied
 * first. Failures are retried.
 */
final class TableFollower implements AutoCloseable {
  private static final Duration POLL = Duration.ofMillis(200);
  private static final long LOOK_MS = 5_000;
  private static final long TIDY_MS = 60_000;
  private static final long FIRST_RETRY_MS = 250;
  private static final long LONGEST_RETRY_MS = 8_000;
  private static final long CLOSE_MS = 5_000;

  /** How long a starting reader waits for others of the store. */
  private static final long RESET_MS = 2_000;

  /** The most records of an unfinished epoch in memory: more are written to the store early. */
  private static final int MOST_HELD = 100_000;

  private final TableStore store;
  private final String topic;

  /** Where the epochs of a view end; null: the topic is of no view. */
  private final EpochMarks marks;

  /** The records of a view's unfinished epoch. */
  private List<ConsumerRecord<byte[], byte[]>> held = new ArrayList<>();

  private final Supplier<FollowedTopic> source;
  private final List<TableRows> rows;
  private final Thread thread;
  private volatile boolean closed;
  private volatile Consumer<byte[], byte[]> reading;
  private long retryMs = FIRST_RETRY_MS;
  private volatile String failure;

  /** The store's position by partition; guarded by this, which is notified of every change. */
  private Map<Integer, Long> positions = Map.of();

  /** The topic's ends at the start of reading: before them the store is incomplete. */
  private Map<Integer, Long> wanted;

  private volatile boolean complete;

  private volatile long lag = -1;

  /**
   * @param source opens the topic, again after each failure
   * @param rows is notified of all changes of the store
   * @param marks of a view: records appear with the end of their epoch; null: at once
   */
  TableFollower(
      TableStore store,
      String topic,
      Supplier<FollowedTopic> source,
      List<TableRows> rows,
      EpochMarks marks) {
    this.marks = marks;
    this.store = store;
    this.rows = rows;
    this.topic = topic;
    this.source = source;
    this.thread = new Thread(this::run, "table " + topic);
    thread.setDaemon(true);
    // The client looks for plug-in classes there.
    thread.setContextClassLoader(KafkaConsumer.class.getClassLoader());
  }

  void start() {
    if (marks != null) {
      marks.listen(topic, this::wake);
    }
    thread.start();
  }

  private void wake() {
    Consumer<byte[], byte[]> consumer = reading;
    if (consumer != null) {
      consumer.wakeup();
    }
  }

  /** Whether the topic is that of a view that has done an epoch. */
  boolean hasEpochs() {
    return marks != null && marks.newest(topic) != null;
  }

  /** The number of the newest epoch of the engine's views, which a view may still have to do. */
  long begun() {
    return marks == null ? 0 : marks.begun();
  }

  /** Why it makes no progress at present, or null. */
  String failure() {
    return failure;
  }

  /** The number of records between the store and the topic's end, -1 while it is unknown. */
  long lag() {
    return lag;
  }

  synchronized Map<Integer, Long> positions() {
    return positions;
  }

  /** Whether the store holds all that was in the topic at the start of reading. */
  boolean complete() {
    return complete;
  }

  /** Waits until the store holds all that was in the topic at the start of reading. */
  synchronized boolean awaitComplete(long timeoutMs) throws InterruptedException {
    long deadline = System.nanoTime() + timeoutMs * 1_000_000;
    while (!complete) {
      long left = (deadline - System.nanoTime()) / 1_000_000;
      if (left <= 0 || closed) {
        return false;
      }
      wait(left);
    }
    return true;
  }

  /** Waits until the store has reached these positions. */
  synchronized boolean await(Map<Integer, Long> ends, long timeoutMs) throws InterruptedException {
    long deadline = System.nanoTime() + timeoutMs * 1_000_000;
    while (!reached(ends)) {
      long left = (deadline - System.nanoTime()) / 1_000_000;
      if (left <= 0 || closed) {
        return false;
      }
      wait(left);
    }
    return true;
  }

  private boolean reached(Map<Integer, Long> ends) {
    return Cut.isWithin(ends, positions);
  }

  private void run() {
    while (!closed) {
      try {
        follow();
      } catch (WakeupException marked) {
        // It was to wake a poll: another call takes it for its own.
      } catch (VirtualMachineError fatal) {
        throw fatal; // The process exits because of it, see FatalErrors.
      } catch (Exception | Error e) {
        failure = e.getMessage() == null ? e.toString() : e.getMessage();
        pause();
      }
    }
    synchronized (this) {
      notifyAll();
    }
  }

  @SuppressWarnings("WaitNotInLoop") // a premature wake-up only retries earlier
  private synchronized void pause() {
    try {
      if (!closed) {
        wait(retryMs);
      }
      retryMs = Math.min(2 * retryMs, LONGEST_RETRY_MS);
    } catch (InterruptedException e) {
      closed = true;
    }
  }

  private void follow()
      throws IOException,
          RocksDBException,
          ExecutionException,
          InterruptedException,
          TimeoutException {
    try (FollowedTopic opened = source.get()) {
      Consumer<byte[], byte[]> consumer = opened.consumer();
      reading = consumer;
      try {
        String identity = opened.identity();
        if (store.stuck()) {
          store.reopen(RESET_MS);
        }
        if (store.damaged() || !store.isOf(identity)) {
          restart(identity);
        }
        begin(consumer, identity);
        failure = null;
        retryMs = FIRST_RETRY_MS;
        read(opened, identity);
      } finally {
        reading = null;
      }
    }
  }

  private void restart(String identity)
      throws IOException, RocksDBException, InterruptedException, TimeoutException {
    synchronized (this) {
      complete = false;
      wanted = null;
      positions = Map.of();
    }
    held.clear();
    // Outside the loop: waiting clients may give up meanwhile.
    store.reset(identity, RESET_MS);
    rows.forEach(TableRows::drop);
  }

  /** Moves the consumer to the store's position. */
  private void begin(Consumer<byte[], byte[]> consumer, String identity)
      throws IOException, RocksDBException, InterruptedException, TimeoutException {
    List<TopicPartition> partitions =
        consumer.partitionsFor(topic).stream()
            .map(p -> new TopicPartition(topic, p.partition()))
            .toList();
    consumer.assign(partitions);
    held.clear();
    Map<Integer, Long> marked = newestMark();
    Map<TopicPartition, Long> first = consumer.beginningOffsets(partitions);
    Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
    Map<Integer, Long> known = store.positions();
    if (ends.entrySet().stream()
        .anyMatch(e -> known.getOrDefault(e.getKey().partition(), 0L) > e.getValue())) {
      restart(identity);
      known.clear();
    }
    Map<Integer, Long> positions = new HashMap<>();
    Map<Integer, Long> wanted = new HashMap<>();
    for (TopicPartition partition : partitions) {
      long at = Math.max(known.getOrDefault(partition.partition(), 0L), first.get(partition));
      consumer.seek(partition, at);
      positions.put(partition.partition(), at);
      long end = ends.get(partition);
      // What follows the last epoch may be a part of the next one.
      wanted.put(
          partition.partition(), Math.min(end, marked.getOrDefault(partition.partition(), end)));
    }
    synchronized (this) {
      this.wanted = wanted;
      moved(positions);
    }
    if (marks != null) {
      endEpochs(positions);
    }
  }

  /** Where the newest epoch of a view ends; nothing for other topics. */
  private Map<Integer, Long> newestMark() throws InterruptedException, TimeoutException {
    if (marks == null) {
      return Map.of();
    }
    if (!marks.awaitComplete(RESET_MS)) {
      throw new TimeoutException("the log of epochs is still being read");
    }
    EpochMarks.Mark newest = marks.newest(topic);
    return newest == null ? Map.of() : newest.ends();
  }

  private void read(FollowedTopic opened, String identity)
      throws IOException,
          RocksDBException,
          ExecutionException,
          InterruptedException,
          TimeoutException {
    Consumer<byte[], byte[]> consumer = opened.consumer();
    long look = System.currentTimeMillis() + LOOK_MS;
    long tidy = System.currentTimeMillis() + TIDY_MS;
    while (!closed) {
      ConsumerRecords<byte[], byte[]> records;
      try {
        records = consumer.poll(POLL);
      } catch (WakeupException stoppedOrMarked) {
        records = ConsumerRecords.empty();
      } catch (OffsetOutOfRangeException e) {
        if (opened.identity().equals(identity)) {
          return; // records were deleted before they were read: begin() continues after them
        }
        throw e;
      }
      take(consumer, records);
      if (store.damaged()) {
        return; // follow() starts over
      }
      long now = System.currentTimeMillis();
      if (now >= look) {
        if (!opened.identity().equals(identity)
            || consumer.partitionsFor(topic).size() != consumer.assignment().size()) {
          return;
        }
        look = now + LOOK_MS;
      }
      if (now >= tidy) {
        store.removeExpired();
        rows.forEach(TableRows::tidy);
        tidy = now + TIDY_MS;
      }
    }
  }

  private void take(Consumer<byte[], byte[]> consumer, ConsumerRecords<byte[], byte[]> records)
      throws RocksDBException {
    Map<Integer, Long> positions = new HashMap<>();
    long behind = 0;
    for (TopicPartition partition : consumer.assignment()) {
      // Not the last record's offset: a log may end with transaction markers.
      positions.put(partition.partition(), consumer.position(partition));
      behind += Math.max(0, consumer.currentLag(partition).orElse(0));
    }
    if (marks != null) {
      records.forEach(held::add);
      endEpochs(positions);
      boolean free = marks.newest(topic) == null || held.size() > MOST_HELD;
      if (free && !positions.equals(this.positions)) {
        move(held, positions, null);
        held.clear();
      }
    } else if (!positions.equals(this.positions)) {
      move(records, positions, null);
    }
    lag = behind;
  }

  /** Moves the store to the end of each epoch that has been read whole. */
  private void endEpochs(Map<Integer, Long> read) throws RocksDBException {
    long newest = store.epoch();
    for (var mark = marks.after(topic, newest); mark != null; mark = marks.after(topic, newest)) {
      Map<Integer, Long> ends = mark.ends();
      newest = mark.epoch();
      if (!Cut.isWithin(ends, read)) {
        return;
      }
      if (Cut.isWithin(ends, positions) && !Cut.isWithin(positions, ends)) {
        continue; // The store was beyond it when it was opened.
      }
      List<ConsumerRecord<byte[], byte[]>> of = new ArrayList<>();
      List<ConsumerRecord<byte[], byte[]>> later = new ArrayList<>();
      for (ConsumerRecord<byte[], byte[]> record : held) {
        boolean isOf = record.offset() < ends.getOrDefault(record.partition(), 0L);
        (isOf ? of : later).add(record);
      }
      held = later;
      Map<Integer, Long> reached = new HashMap<>(positions);
      ends.forEach((partition, end) -> reached.merge(partition, end, Math::max));
      move(of, reached, mark);
    }
  }

  private void move(
      Iterable<ConsumerRecord<byte[], byte[]>> records,
      Map<Integer, Long> positions,
      EpochMarks.Mark mark)
      throws RocksDBException {
    synchronized (store.moving) {
      store.apply(records, positions);
      // Before the position is published: a client that waits for it sees these rows.
      rows.forEach(each -> each.changed(records));
      store.at(mark);
    }
    moved(positions);
  }

  private synchronized void moved(Map<Integer, Long> positions) {
    this.positions = positions;
    complete = complete || reached(wanted);
    notifyAll();
  }

  /** Asks the thread to end. */
  void stop() {
    synchronized (this) {
      closed = true;
      notifyAll();
    }
    if (marks != null) {
      marks.silence(topic);
    }
    wake();
  }

  /** Asks the thread to end, and waits a moment for it. */
  @Override
  public void close() {
    stop();
    try {
      thread.join(CLOSE_MS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
