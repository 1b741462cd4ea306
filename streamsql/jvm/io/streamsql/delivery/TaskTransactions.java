package io.streamsql.delivery;

import io.streamsql.delivery.Delivery.Replay;
import io.streamsql.kafka.ByteArrays;
import java.nio.ByteBuffer;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.apache.kafka.clients.producer.Callback;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;

/**
 * The transactions in which one task writes its records, each with a token that states the task's
 * progress. A task of a micro-batch has one. In real-time mode, where a batch lasts a minute, a
 * transaction begins with its first record and ends an interval later.
 *
 * <p>The task's thread writes records; another thread ends transactions, so that a record does not
 * stay uncommitted until the next one arrives.
 */
public final class TaskTransactions {
  private static final ScheduledExecutorService CLOCK =
      Executors.newSingleThreadScheduledExecutor(work -> daemon(work, "transaction clock"));

  /** One thread per running commit: a slow commit delays no other task. */
  private static final ExecutorService COMMITTERS =
      Executors.newCachedThreadPool(work -> daemon(work, "transaction committer"));

  private final Delivery delivery;
  private final TaskIdentity identity;
  private final Function<ProducerRecord<byte[], byte[]>, Callback> callbacks;
  private final String id;
  private final Thread task = Thread.currentThread();

  /** Guards {@link #left}. Held briefly, unlike this object's monitor. */
  private final Object leaving = new Object();

  /** Whether the task's thread may run another task by now. */
  private boolean left;

  private final ProducerPair producers;
  private final ReplayGate gate;

  /** Of a replayed batch, the newest record of each topic and key; null: all records count. */
  private final Map<Object, ProducerRecord<byte[], byte[]>> newest;

  private boolean open;
  private long number;
  private boolean ended;
  private RuntimeException failure;

  private TaskTransactions(
      Delivery delivery,
      TaskIdentity identity,
      Function<ProducerRecord<byte[], byte[]>, Callback> callbacks,
      ProducerPair producers,
      ReplayGate gate,
      boolean collapses) {
    this.delivery = delivery;
    this.identity = identity;
    this.callbacks = callbacks;
    this.id = delivery.transactionalId(identity);
    this.producers = producers;
    this.gate = gate;
    this.newest = collapses ? new LinkedHashMap<>() : null;
  }

  /**
   * The transactions of a starting task.
   *
   * @param settings of the producer
   * @param callbacks makes the producer's callback for each record
   */
  public static TaskTransactions begin(
      Delivery delivery,
      TaskIdentity identity,
      Map<String, String> settings,
      Function<ProducerRecord<byte[], byte[]>, Callback> callbacks) {
    String id = delivery.transactionalId(identity);
    boolean live = delivery.intervalMillis() > 0;
    ProducerPair known =
        identity.again() ? null : TransactionalProducers.known(settings, id, identity.run(), live);
    if (known != null) {
      // The earlier attempt committed its batch: nothing is written again.
      return new TaskTransactions(delivery, identity, callbacks, known, ReplayGate.open(), false);
    }
    ProducerPair producers = TransactionalProducers.create(settings, id, identity.run(), live);
    Map<Long, CommitToken> tokens =
        CommitTokens.of(ByteArrays.connection(settings), delivery.tokensTopic())
            .of(identity.checkpoint());
    CommitToken own = tokens.get(identity.task());
    ReplayGate gate = ReplayGate.of(delivery.replay(), identity.batch(), own, tokens.values());
    boolean torn = own != null && own.batch() >= identity.batch() && !own.complete();
    boolean collapses = torn && delivery.replay() == Replay.KEY;
    return new TaskTransactions(delivery, identity, callbacks, producers, gate, collapses);
  }

  /**
   * Called when a run has stopped in order: all that it has written is committed, so the query's
   * next run need neither look for committed rows nor fence this run.
   */
  public static void stoppedInOrder(String run) {
    TransactionalProducers.pass(run);
  }

  /**
   * Writes a record, unless it has been committed before.
   *
   * @param partition with {@code offset}: the input record that caused it
   */
  public synchronized void write(
      ProducerRecord<byte[], byte[]> record, int partition, long offset) {
    failIfBroken();
    if (gate.isClosed() || (delivery.replay() != Replay.KEY && !gate.lets(partition, offset))) {
      return;
    }
    if (newest == null) {
      send(record);
    } else {
      newest.put(new Key(record.topic(), record.key()), record);
    }
  }

  /**
   * The gate has counted the record, but the transaction lacks it: no token may claim that it was
   * written. A task that is being stopped is interrupted while it waits here.
   */
  private void send(ProducerRecord<byte[], byte[]> record) {
    try {
      sendInTransaction(record);
    } catch (RuntimeException e) {
      failure = e;
      throw e;
    } catch (Error e) {
      failure = new IllegalStateException("a record was not sent: " + e, e);
      throw e;
    }
  }

  @SuppressWarnings("FutureReturnValueIgnored") // its callback and the commit report it
  private void sendInTransaction(ProducerRecord<byte[], byte[]> record) {
    if (!open) {
      producers.current().beginTransaction();
      open = true;
      number++;
      if (delivery.intervalMillis() > 0) {
        long own = number;
        CLOCK.schedule(
            () -> COMMITTERS.execute(() -> commitInTime(own)),
            delivery.intervalMillis(),
            TimeUnit.MILLISECONDS);
      }
    }
    producers.current().send(record, callbacks.apply(record));
  }

  private synchronized void commitInTime(long transaction) {
    if (!open || ended || number != transaction || failure != null) {
      return;
    }
    try {
      commit(false);
    } catch (RuntimeException e) {
      failure = e;
      synchronized (leaving) {
        if (!left) {
          task.interrupt(); // The next record may take long to arrive.
        }
      }
    }
  }

  @SuppressWarnings("FutureReturnValueIgnored") // the commit fails if it is not written
  private void commit(boolean complete) {
    CommitToken token = new CommitToken(identity.batch(), complete, gate.reached());
    byte[] key = CommitTokens.key(identity.checkpoint(), identity.task());
    Producer<byte[], byte[]> producer = producers.current();
    producer.send(new ProducerRecord<>(delivery.tokensTopic(), 0, key, token.toBytes()));
    producer.commitTransaction();
    open = false;
    producers.alternate();
  }

  /** Ends the task: all that it has written is committed when this returns. */
  public synchronized void finish() {
    failIfBroken();
    if (newest != null) {
      newest.values().forEach(this::send);
    }
    if (open) {
      commit(delivery.intervalMillis() == 0);
    }
    ended = true;
  }

  /** Aborts the open transaction after the task failed or was stopped. */
  public void abandon() {
    synchronized (leaving) {
      left = true;
    }
    // In another thread, since the task's may have been interrupted.
    COMMITTERS.execute(
        () -> {
          synchronized (this) {
            ended = true;
            if (open) {
              abort();
            }
          }
        });
  }

  private void abort() {
    try {
      producers.current().abortTransaction();
      open = false;
    } catch (KafkaException e) {
      // Its successor or the broker aborts it.
      TransactionalProducers.discard(id, producers);
    }
  }

  private void failIfBroken() {
    if (failure != null) {
      TransactionalProducers.discard(id, producers);
      throw failure;
    }
  }

  private static Thread daemon(Runnable work, String name) {
    Thread thread = new Thread(work, name);
    thread.setDaemon(true);
    return thread;
  }

  /** The key of a record in its topic. */
  private record Key(String topic, ByteBuffer key) {
    Key(String topic, byte[] key) {
      this(topic, key == null ? null : ByteBuffer.wrap(key));
    }
  }
}
