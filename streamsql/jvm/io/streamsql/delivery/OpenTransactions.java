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
 * What queries have left open whose run is over. The broker would end it after a while; until then
 * nobody who reads committed data sees what was written after it.
 */
public final class OpenTransactions {
  private OpenTransactions() {}

  /**
   * Aborts the open transactions of some checkpoints' queries, none of which runs in this JVM, and
   * keeps whoever began them from writing any more.
   *
   * @param settings how to reach the cluster
   * @param timeoutMs of all of it: what has been begun by then is ended by the broker, and a task
   *     that writes under the same id waits for that
   * @return how many there were
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
        // Who begins under an id ends what was open. One after the other: a tenth of a second each,
        // where several at a time took seconds.
        long left = end - System.nanoTime();
        int leftMs = (int) Math.max(1, TimeUnit.NANOSECONDS.toMillis(left));
        FenceProducersOptions inTime = new FenceProducersOptions().timeoutMs(leftMs);
        admin.fenceProducers(List.of(id), inTime).all().get();
      }
      return ids.size();
    }
  }
}
