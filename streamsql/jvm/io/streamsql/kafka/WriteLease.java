package io.streamsql.kafka;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.errors.InterruptException;

/**
 * How long this JVM may write the results of a service's queries. The leader of the service extends
 * the lease while Kafka confirms its leadership; a successor leads only after the lease has
 * expired.
 *
 * <p>Expiry closes the producers under the lease, which drops the records in their buffers. A JVM
 * that is suspended may still send what its producers had taken before.
 */
public final class WriteLease {
  /** Names the lease in the settings of a producer; a producer without it needs none. */
  static final String SETTING = "streamsql.lease";

  private static final Map<String, WriteLease> LEASES = new ConcurrentHashMap<>();
  private static final ScheduledExecutorService CLOCK =
      Executors.newSingleThreadScheduledExecutor(
          work -> {
            Thread thread = new Thread(work, "write lease");
            thread.setDaemon(true);
            return thread;
          });

  private final String service;
  private volatile long end = System.nanoTime();

  private WriteLease(String service) {
    this.service = service;
  }

  /** The lease that a producer of these settings writes under; null: it needs none. */
  public static WriteLease of(Map<String, String> producerSettings) {
    String service = producerSettings.get(SETTING);
    return service == null ? null : LEASES.computeIfAbsent(service, WriteLease::new);
  }

  /**
   * Extends the lease of a service, or ends it.
   *
   * @param end a time of {@link System#nanoTime}
   */
  public static void extend(String service, long end) {
    LEASES.computeIfAbsent(service, WriteLease::new).extend(end);
  }

  @SuppressWarnings("FutureReturnValueIgnored") // closing producers throws nothing
  private synchronized void extend(long until) {
    end = until;
    notifyAll();
    CLOCK.schedule(this::closeIfExpired, until - System.nanoTime(), TimeUnit.NANOSECONDS);
  }

  private void closeIfExpired() {
    if (hasExpired()) {
      SharedProducers.discardAll(settings -> service.equals(settings.get(SETTING)));
    }
  }

  private boolean hasExpired() {
    return System.nanoTime() - end >= 0;
  }

  /** Waits while the lease has expired; InterruptException if the task is stopped meanwhile. */
  public void await() {
    if (hasExpired()) {
      awaitExtension();
    }
  }

  private synchronized void awaitExtension() {
    while (hasExpired()) {
      try {
        wait();
      } catch (InterruptedException e) {
        throw new InterruptException(e);
      }
    }
  }
}
