package io.streamsql.source;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Proxy;
import java.util.Collection;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.TopicPartition;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeMode;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;
import org.junit.jupiter.api.Test;

/** When a stream answers what Spark asks it before a batch. */
class IdleStreamTest {
  private static final long BATCH_MILLIS = 250;

  private int asked;

  @Test
  void microBatchesRestInProportion() throws Exception {
    assertTrue(millisBeforeTheSecondBatch(stream()) >= 3 * BATCH_MILLIS);
  }

  @Test
  void noRestFollowsARealTimeBatch() throws Exception {
    IdleStream stream = stream();
    stream.prepareForRealTimeMode();
    assertTrue(millisBeforeTheSecondBatch(stream) < BATCH_MILLIS);
  }

  private long millisBeforeTheSecondBatch(IdleStream stream) throws Exception {
    Offset first = stream.latestOffset(at("0"), null);
    TimeUnit.MILLISECONDS.sleep(BATCH_MILLIS);
    long ended = System.nanoTime();
    stream.latestOffset(first, null);
    return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - ended);
  }

  private IdleStream stream() {
    QueryInputs.Input input =
        new QueryInputs(new UnaskedEnds(), null, new Clock(), null)
            .reading("t", false, false, false);
    DataLoss loss = new DataLoss("t", null, null, null, false);
    return new IdleStream(kafka(), input, loss, "t", Map.of(), "q", true);
  }

  /** A source whose every latest offset is another one. */
  private MicroBatchStream kafka() {
    return (MicroBatchStream)
        Proxy.newProxyInstance(
            IdleStreamTest.class.getClassLoader(),
            new Class<?>[] {
              MicroBatchStream.class, SupportsTriggerAvailableNow.class, SupportsRealTimeMode.class
            },
            (proxy, method, arguments) ->
                method.getName().equals("latestOffset") ? at(Integer.toString(++asked)) : null);
  }

  private static Offset at(String offset) {
    return new Offset() {
      @Override
      public String json() {
        return offset;
      }
    };
  }

  private static final class UnaskedEnds implements Ends {
    @Override
    public Map<String, Map<Integer, Long>> now(Collection<String> topics) {
      throw new AssertionError("a stream that moves need not ask where its topic ends");
    }

    @Override
    public CompletableFuture<Map<TopicPartition, Long>> readable(Set<TopicPartition> partitions) {
      throw new AssertionError("no table waits");
    }

    @Override
    public void awaitOthers(Map<String, Map<Integer, Long>> known, long millis) {
      throw new AssertionError("a stream that moves does not sleep");
    }
  }
}
