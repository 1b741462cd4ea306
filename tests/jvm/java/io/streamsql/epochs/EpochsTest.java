package io.streamsql.epochs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.apache.kafka.common.KafkaException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class EpochsTest {
  private static final long NEVER = Long.MAX_VALUE;

  private final Ends topics = new Ends();
  private final Log log = new Log();
  private final AtomicLong time = new AtomicLong(1_000_000);
  private final Epochs epochs = new Epochs(topics, log, this::now);
  private final List<View> views = new ArrayList<>();
  private final List<Thread> keepingUp = new ArrayList<>();

  private long now() {
    return time.get() + System.nanoTime() / 1_000_000;
  }

  private static final class Ends implements Topics {
    final Map<String, Long> written = new ConcurrentHashMap<>();
    final Map<String, Long> open = new ConcurrentHashMap<>();

    @Override
    public Map<String, Map<Integer, Long>> written(Collection<String> topics) {
      Map<String, Map<Integer, Long>> found = new HashMap<>();
      topics.forEach(topic -> found.put(topic, Map.of(0, written.getOrDefault(topic, 0L))));
      return found;
    }

    @Override
    public Map<String, Map<Integer, Long>> committed(Map<String, Map<Integer, Long>> ends) {
      Map<String, Map<Integer, Long>> found = new HashMap<>();
      ends.forEach((topic, of) -> found.put(topic, Map.of(0, open.getOrDefault(topic, of.get(0)))));
      return found;
    }

    @Override
    public void awaitOthers(Map<String, Map<Integer, Long>> known, long millis)
        throws InterruptedException {
      long deadline = System.nanoTime() + Math.max(0, millis) * 1_000_000;
      while (written(known.keySet()).equals(known) && System.nanoTime() < deadline) {
        Thread.sleep(1);
      }
    }
  }

  private static final class Log implements EpochLog {
    final Map<String, NavigableMap<Long, Long>> ends = new ConcurrentHashMap<>();
    final Map<Long, Map<String, Map<Integer, Long>>> begun = new ConcurrentHashMap<>();
    volatile boolean broken;

    @Override
    public long newest() {
      return 40;
    }

    @Override
    public void begins(long epoch, long time, Map<String, Map<Integer, Long>> cut) {
      if (broken) {
        broken = false;
        throw new KafkaException("no broker");
      }
      begun.put(epoch, cut);
    }

    @Override
    public void ends(String topic, long epoch, long time, Map<Integer, Long> of) {
      ends.computeIfAbsent(topic, each -> new ConcurrentSkipListMap<>()).put(epoch, of.get(0));
    }
  }

  /** A view that writes one record for each batch, unless it is silent. */
  private final class View {
    final EpochView joined;
    final String topic;
    final Map<String, Long> at = new HashMap<>();
    int batches;
    boolean silent;

    View(String topic, Set<String> bases, Set<String> inputs) {
      this(topic, bases, inputs, () -> NEVER);
    }

    View(String topic, Set<String> bases, Set<String> inputs, LongSupplier due) {
      this.topic = topic;
      bases.forEach(each -> at.put(each, 0L));
      inputs.forEach(each -> at.put(each, 0L));
      joined = epochs.join(topic, topic, bases, inputs, 0, due);
      views.add(this);
    }

    private Map<String, Map<Integer, Long>> positions() {
      Map<String, Map<Integer, Long>> found = new HashMap<>();
      at.forEach((each, end) -> found.put(each, Map.of(0, end)));
      return found;
    }

    /** Waits for the next epoch with news, and takes it whole. */
    long batch() throws Exception {
      Cut cut = joined.next(positions());
      at.replaceAll((each, start) -> Math.max(start, cut.ends().get(each).get(0)));
      batches++;
      topics.written.merge(topic, silent ? 0L : 1L, Long::sum);
      joined.batchEnded(positions());
      return cut.epoch();
    }

    /**
     * Does epoch after epoch until it is stopped. Epochs begin while views join: a reader may need
     * one after the first that its input does.
     */
    Thread keepUp() {
      Thread thread =
          new Thread(
              () -> {
                try {
                  while (true) {
                    batch();
                  }
                } catch (Exception stopped) {
                  Thread.currentThread().interrupt();
                }
              });
      keepingUp.add(thread);
      thread.start();
      return thread;
    }

    CompletableFuture<Long> batchSoon() {
      return CompletableFuture.supplyAsync(
          () -> {
            try {
              return batch();
            } catch (Exception e) {
              throw new IllegalStateException(e);
            }
          });
    }
  }

  private static long get(CompletableFuture<Long> soon) throws Exception {
    return soon.get(20, TimeUnit.SECONDS);
  }

  private static void until(BooleanSupplier condition) {
    long deadline = System.nanoTime() + 20_000_000_000L;
    while (!condition.getAsBoolean()) {
      assertTrue(System.nanoTime() < deadline);
      LockSupport.parkNanos(1_000_000);
    }
  }

  private static void stop(Thread keepingUp) throws InterruptedException {
    keepingUp.interrupt();
    keepingUp.join();
  }

  @AfterEach
  void close() {
    keepingUp.forEach(Thread::interrupt);
    views.forEach(view -> view.joined.close());
  }

  @Test
  void aReaderBeginsAnEpochWhenItsInputsHaveDoneIt() throws Exception {
    topics.written.put("base", 5L);
    View first = new View("first", Set.of("base"), Set.of());
    View second = new View("second", Set.of("base"), Set.of());
    View reader = new View("reader", Set.of(), Set.of("first", "second"));
    CompletableFuture<Long> read = reader.batchSoon();
    long epoch = get(first.batchSoon());
    assertTrue(epoch > 40, "numbers continue where the log ends");
    assertFalse(read.isDone(), "the second view has not done it");
    first.keepUp();
    second.keepUp();
    assertTrue(get(read) > 40);
    assertEquals(1L, reader.at.get("first"));
    assertEquals(1L, reader.at.get("second"));
    assertEquals(5L, first.at.get("base"));
  }

  @Test
  void whatIsWrittenAfterAnEpochIsOfTheNextOne() throws Exception {
    topics.written.put("base", 5L);
    View view = new View("view", Set.of("base"), Set.of());
    get(view.batchSoon());
    CompletableFuture<Long> next = view.batchSoon();
    topics.written.put("base", 7L);
    long epoch = get(next);
    assertEquals(7L, view.at.get("base"));
    assertEquals(Map.of(0, 7L), log.begun.get(epoch).get("base"));
    assertEquals(2L, log.ends.get("view").get(epoch));
  }

  @Test
  void aViewWithoutNewsDoesAnEpochWithoutABatch() throws Exception {
    topics.written.put("base", 1L);
    View quiet = new View("quiet", Set.of("other"), Set.of());
    View busy = new View("busy", Set.of("base"), Set.of());
    View reader = new View("reader", Set.of(), Set.of("quiet", "busy"));
    get(quiet.batchSoon());
    CompletableFuture<Long> waiting = quiet.batchSoon();
    Thread keepingUp = busy.keepUp();
    get(reader.batchSoon());
    stop(keepingUp);
    topics.written.put("base", 2L);
    long epoch = get(busy.batchSoon());
    assertEquals(epoch, get(reader.batchSoon()));
    assertEquals(1, quiet.batches);
    assertFalse(waiting.isDone());
    topics.written.put("other", 1L);
    get(waiting);
  }

  @Test
  void anOpenTransactionEndsTheCut() throws Exception {
    topics.written.put("base", 5L);
    topics.open.put("base", 3L);
    View view = new View("view", Set.of("base"), Set.of());
    get(view.batchSoon());
    assertEquals(3L, view.at.get("base"));
  }

  @Test
  void viewsThatAreBehindEndInTheSameEpochs() throws Exception {
    View slow = new View("slow", Set.of("base"), Set.of());
    View slower = new View("slower", Set.of("base"), Set.of());
    View quick = new View("quick", Set.of("base"), Set.of());
    get(slow.batchSoon());
    get(slower.batchSoon());
    for (long n = 1; n <= 20; n++) {
      topics.written.put("base", n);
      time.addAndGet(2_000); // Longer than any view is waited for.
      get(quick.batchSoon());
      if (n == 12) {
        get(slow.batchSoon());
      }
    }
    get(slow.batchSoon());
    long epoch = get(slower.batchSoon());
    assertTrue(log.ends.get("slow").containsKey(epoch), "an epoch that both have done");
    assertTrue(log.ends.get("quick").containsKey(epoch));
  }

  @Test
  void aViewDoesNoEpochThatItsInputHasLeftOut() throws Exception {
    View quick = new View("quick", Set.of("base"), Set.of());
    View slow = new View("slow", Set.of("base"), Set.of());
    View reader = new View("reader", Set.of(), Set.of("slow"));
    Thread keepingUp = slow.keepUp();
    get(reader.batchSoon());
    stop(keepingUp);
    for (long n = 1; n <= 5; n++) {
      topics.written.put("base", n);
      time.addAndGet(2_000);
      get(quick.batchSoon());
    }
    CompletableFuture<Long> waiting = reader.batchSoon();
    slow.silent = true;
    long epoch = get(slow.batchSoon());
    until(() -> log.ends.get("reader").containsKey(epoch));
    assertEquals(1, reader.batches);
    assertEquals(log.ends.get("slow").keySet(), log.ends.get("reader").keySet());
    slow.silent = false;
    topics.written.put("base", 6L);
    get(slow.batchSoon());
    get(waiting);
  }

  @Test
  void aReaderGoesOnWithTheEpochsThatItsInputsTookInOneStep() throws Exception {
    View slow = new View("slow", Set.of("base"), Set.of());
    View quick = new View("quick", Set.of("base"), Set.of());
    View reader = new View("reader", Set.of(), Set.of("slow", "quick"));
    Thread slowKeepingUp = slow.keepUp();
    Thread quickKeepingUp = quick.keepUp();
    get(reader.batchSoon());
    stop(slowKeepingUp);
    stop(quickKeepingUp);
    CompletableFuture<Long> read = reader.batchSoon();
    for (long n = 1; n <= 9; n++) {
      topics.written.put("base", n);
      time.addAndGet(2_000);
      get(quick.batchSoon());
    }
    assertFalse(read.isDone(), "the slow view has done none of them");
    long epoch = get(slow.batchSoon());
    assertEquals(epoch, get(read));
    assertEquals(2, reader.batches);
    assertEquals(log.ends.get("quick").get(epoch), reader.at.get("quick"));
    assertTrue(log.ends.get("quick").headMap(epoch).size() > 4);
    assertEquals(1, log.ends.get("reader").tailMap(epoch).size());
  }

  @Test
  void aViewDoesNoEpochOfATopicThatIsGone() throws Exception {
    View first = new View("first", Set.of("base"), Set.of());
    for (long n = 1; n <= 9; n++) {
      topics.written.put("base", n);
      get(first.batchSoon());
    }
    first.joined.close();
    topics.written.put("base", 2L); // It has been deleted and created again.
    View second = new View("second", Set.of("base"), Set.of());
    get(second.batchSoon());
    assertEquals(2L, second.at.get("base"));
  }

  @Test
  void aViewThatIsDueHasAnEpochWithoutRecords() throws Exception {
    AtomicLong due = new AtomicLong(NEVER);
    View view = new View("view", Set.of("base"), Set.of(), due::get);
    get(view.batchSoon());
    due.set(now() + 50);
    long before = System.nanoTime();
    get(view.batchSoon());
    assertTrue(System.nanoTime() - before < 5_000_000_000L);
    assertEquals(2, view.batches);
  }

  @Test
  void anEpochThatCannotBeWrittenIsBegunAgain() throws Exception {
    AtomicLong due = new AtomicLong(NEVER);
    View view = new View("view", Set.of("base"), Set.of(), due::get);
    get(view.batchSoon());
    log.broken = true;
    due.set(now() + 50);
    get(view.batchSoon());
    assertFalse(log.broken);
    assertEquals(2, view.batches);
  }

  @Test
  void whoHoldsAViewBackIsKnown() throws Exception {
    View first = new View("first", Set.of("base"), Set.of());
    View second = new View("second", Set.of(), Set.of("first"));
    View third = new View("third", Set.of(), Set.of("second"));
    CompletableFuture<Long> waiting = third.batchSoon();
    until(() -> epochs.held().get("third") != null);
    assertEquals("first", epochs.held().get("third").topic());
    assertNull(epochs.held().get("first"));
    first.keepUp();
    second.keepUp();
    get(waiting);
  }
}
