package io.streamsql.delivery;

import java.time.Duration;
import org.apache.kafka.clients.producer.Producer;

/**
 * The two transactional producers of a task, which take turns.
 *
 * <p>A commit returns once the broker has decided it. The markers in the partitions follow, and
 * until they are there it makes the first record of the same producer's next transaction wait, by
 * tens of milliseconds. The other's need not.
 */
final class ProducerPair {
  private final Producer<byte[], byte[]> first;
  private final Producer<byte[], byte[]> second;
  private boolean odd;

  /**
   * @param second the same as the first, where transactions are so far apart that one is enough
   */
  ProducerPair(Producer<byte[], byte[]> first, Producer<byte[], byte[]> second) {
    this.first = first;
    this.second = second;
  }

  /** The one whose turn it is. */
  synchronized Producer<byte[], byte[]> current() {
    return odd ? second : first;
  }

  /** The current one's transaction has ended. */
  synchronized void alternate() {
    odd = !odd;
  }

  /** Without waiting for what is not sent. */
  void close() {
    first.close(Duration.ZERO);
    second.close(Duration.ZERO);
  }
}
