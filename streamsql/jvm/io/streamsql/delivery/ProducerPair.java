package io.streamsql.delivery;

import java.time.Duration;
import org.apache.kafka.clients.producer.Producer;

/**
 * The two transactional producers of a task, used in turn.
 *
 * <p>A commit returns once the broker has decided it. Until its markers are in the partitions, the
 * first record of the same producer's next transaction waits, for tens of milliseconds. The other
 * producer does not wait.
 */
final class ProducerPair {
  private final Producer<byte[], byte[]> first;
  private final Producer<byte[], byte[]> second;
  private boolean odd;

  /**
   * @param second equal to {@code first} where transactions are so far apart that one is enough
   */
  ProducerPair(Producer<byte[], byte[]> first, Producer<byte[], byte[]> second) {
    this.first = first;
    this.second = second;
  }

  /** The producer of the current transaction. */
  synchronized Producer<byte[], byte[]> current() {
    return odd ? second : first;
  }

  /** Switches producers after a transaction. */
  synchronized void alternate() {
    odd = !odd;
  }

  /** Closes both without waiting for unsent records. */
  void close() {
    first.close(Duration.ZERO);
    second.close(Duration.ZERO);
  }
}
