package io.streamsql.kafka;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.TransactionDescription;
import org.apache.kafka.clients.admin.TransactionListing;

/**
 * Lists the transactions of a cluster, or aborts those of some transactional ids.
 *
 * <p>Arguments: {@code list}, or {@code abort} and the ids. The settings of the client come as a
 * JSON object by standard input, since other users see arguments. A listing is JSON, a line for
 * each id: {@code id}, {@code state}, {@code started_ms} (since the epoch; -1: none is open) and
 * the number of {@code partitions} that it has written to.
 */
public final class TransactionsMain {
  private static final ObjectMapper JSON = new ObjectMapper();

  private TransactionsMain() {}

  public static void main(String[] arguments) throws Exception {
    Map<String, Object> settings = JSON.readValue(System.in, new TypeReference<>() {});
    try (Admin admin = Admin.create(settings)) {
      if (arguments[0].equals("list")) {
        list(admin);
      } else {
        List<String> ids = Arrays.asList(arguments).subList(1, arguments.length);
        // Initializing a producer aborts the open transaction of its id.
        admin.fenceProducers(ids).all().get();
      }
    } catch (ExecutionException failed) {
      System.err.println(failed.getCause().getMessage());
      System.exit(1);
    }
  }

  private static void list(Admin admin) throws InterruptedException, ExecutionException {
    List<String> ids = new ArrayList<>();
    for (TransactionListing listing : admin.listTransactions().all().get()) {
      ids.add(listing.transactionalId());
    }
    Map<String, TransactionDescription> found =
        new TreeMap<>(admin.describeTransactions(ids).all().get());
    for (Map.Entry<String, TransactionDescription> entry : found.entrySet()) {
      TransactionDescription transaction = entry.getValue();
      ObjectNode line =
          JSON.createObjectNode()
              .put("id", entry.getKey())
              .put("state", transaction.state().toString())
              .put("started_ms", transaction.transactionStartTimeMs().orElse(-1))
              .put("partitions", transaction.topicPartitions().size());
      System.out.println(line);
    }
  }
}
