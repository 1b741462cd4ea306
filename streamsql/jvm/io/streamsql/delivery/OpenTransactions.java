package io.streamsql.delivery;

import io.streamsql.kafka.ByteArrays;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
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
   * @param timeoutMs of each of the two requests: what has been begun by then is ended by the broker,
   *     and a task that writes under the same id waits for that
   * @return how many there were
   */
  public static int abort(Map<String, String> settings, List<String> checkpoints, int timeoutMs)
      throws InterruptedException, ExecutionException {
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
      if (!ids.isEmpty()) {
        // Who begins under an id ends what was open.
        FenceProducersOptions inTime = new FenceProducersOptions().timeoutMs(timeoutMs);
        admin.fenceProducers(ids, inTime).all().get();
      }
      return ids.size();
    }
  }
}
