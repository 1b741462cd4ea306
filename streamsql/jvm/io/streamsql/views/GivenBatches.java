package io.streamsql.views;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import io.streamsql.formats.Json;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.unsafe.types.UTF8String;
import scala.jdk.javaapi.CollectionConverters;

/**
 * One run of a dataflow over batches that are given as text, without topics: for tests, which a
 * batch then costs some ten milliseconds.
 */
public final class GivenBatches {
  /** Columns of Spark's Kafka source. */
  private static final int COLUMNS = 8;

  private static final int TIMESTAMP = 5;

  private final SparkSession session;
  private final Dataflow dataflow;
  private final ViewStores stores;
  private final Map<String, Long> offsets = new HashMap<>();
  private LocalBatches local;

  /** A run that continues from the state in the checkpoint, if there is one. */
  public GivenBatches(SparkSession session, Dataflow dataflow, String checkpoint) {
    this.session = session;
    this.dataflow = dataflow;
    session.streams(); // which starts the coordinator of state stores
    stores = new ViewStores(checkpoint);
    stores.begin(session, UUID.randomUUID().toString());
  }

  /**
   * Runs a batch.
   *
   * @param records topic, key and value of each record, as JSON; a null value is a tombstone
   * @param time of the batch (ms since the epoch)
   * @param isSmall whether it is computed by one task, if the dataflow allows that
   * @return key and value of each result in the same form
   */
  public String run(long number, String records, long time, boolean isSmall) throws IOException {
    var batch = new Transport.Batch(number, time);
    Map<String, List<InternalRow>> rows = new HashMap<>();
    for (JsonNode record : Json.TREES.readTree(records)) {
      String topic = record.get(0).textValue();
      long offset = offsets.merge(topic, 1L, Long::sum) - 1;
      rows.computeIfAbsent(topic, t -> new ArrayList<>()).add(row(topic, record, offset));
    }
    Map<String, RDD<InternalRow>> topics = new HashMap<>();
    rows.forEach((topic, of) -> topics.put(topic, placed(of)));
    ArrayNode results = Json.TREES.createArrayNode();
    for (String[] result :
        isSmall && dataflow.isStatic() ? inOneTask(topics, batch) : inStages(topics, batch)) {
      results.addArray().add(result[0]).add(result[1]);
    }
    return results.toString();
  }

  private List<String[]> inOneTask(Map<String, RDD<InternalRow>> topics, Transport.Batch next) {
    if (local == null) {
      local = new LocalBatches(session.sparkContext(), dataflow, stores);
      local.rehearse();
    }
    List<String[]> results = new ArrayList<>();
    local.run(topics, next, (part, rows) -> rows.forEachRemaining(row -> results.add(result(row))));
    return results;
  }

  private List<String[]> inStages(Map<String, RDD<InternalRow>> topics, Transport.Batch next) {
    try (var batch = new ShuffledBatch(session.sparkContext(), topics, next)) {
      return dataflow.rows(batch, stores).toJavaRDD().map(GivenBatches::result).collect();
    }
  }

  private static String[] result(InternalRow row) {
    return new String[] {text(row, 1), text(row, 2)};
  }

  private RDD<InternalRow> placed(List<InternalRow> rows) {
    return session
        .sparkContext()
        .parallelize(CollectionConverters.asScala(rows).toSeq(), 1, OperatorRows.TYPE);
  }

  private static InternalRow row(String topic, JsonNode record, long offset) {
    Object[] values = new Object[COLUMNS];
    values[0] = bytes(record.get(1));
    values[1] = bytes(record.get(2));
    values[2] = UTF8String.fromString(topic);
    values[3] = 0;
    values[4] = offset;
    values[TIMESTAMP] = offset * 1000;
    values[6] = 0;
    return new GenericInternalRow(values);
  }

  private static byte[] bytes(JsonNode text) {
    return text.isNull() ? null : text.textValue().getBytes(StandardCharsets.UTF_8);
  }

  private static String text(InternalRow row, int column) {
    return row.isNullAt(column) ? null : new String(row.getBinary(column), StandardCharsets.UTF_8);
  }
}
