package io.streamsql.delivery;

import io.streamsql.kafka.ByteArrays;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.FenceProducersOptions;
import org.apache.kafka.clients.admin.ListTransactionsOptions;
import org.apache.kafka.clients.admin.TransactionListing;
import org.apache.kafka.clients.admin.TransactionState;

/**
 * Aborts the transactions that ended queries left open. The broker would abort them at their
 * timeout; until then {@code read_committed} consumers see nothing that was written after them.
 */
public final class OpenTransactions {
  private OpenTransactions() {}

  /**
   * Aborts the open transactions of some checkpoints' queries, none of which runs in this JVM, and
   * fences their writers.
   *
   * @param settings the cluster's connection
   * @param timeoutMs for all of them: the broker aborts the rest at its own timeout, and a task
   *     that writes under the same id waits for that
   * @return the number of aborted transactions
   */
  public static int abort(Map<String, String> settings, List<String> checkpoints, int timeoutMs)
      throws InterruptedException, ExecutionException {
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMs);
    Set<String> wanted = Set.copyOf(checkpoints);
    TransactionalProducers.discardAll(id -> wanted.contains(Delivery.checkpointOf(id)));
    try (Admin admin = Admin.create(ByteArrays.connection(settings))) {
      ListTransactionsOptions open =
          new ListTransactionsOptions()
              .filterStates(Set.of(TransactionState.ONGOING))
              .timeoutMs(timeoutMs);
      List<String> ids = new ArrayList<>();
      for (TransactionListing listing : admin.listTransactions(open).all().get()) {
        String id = listing.transactionalId();
        if (wanted.contains(Delivery.checkpointOf(id))) {
          ids.add(id);
        }
      }
      for (String id : ids) {
        // Initializing a producer aborts the open transaction of its id. Sequentially: 0.1 s each,
        // against seconds in parallel.
        long left = end - System.nanoTime();
        int leftMs = (int) Math.max(1, TimeUnit.NANOSECONDS.toMillis(left));
        FenceProducersOptions inTime = new FenceProducersOptions().timeoutMs(leftMs);
        admin.fenceProducers(List.of(id), inTime).all().get();
      }
      return ids.size();
    }
  }
}
