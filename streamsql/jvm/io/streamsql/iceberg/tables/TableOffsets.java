package io.streamsql.iceberg.tables;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.streamsql.iceberg.IcebergTarget;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.TreeMap;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.util.SnapshotUtil;

/**
 * How far a sink has written: in the summary of each of its snapshots, for readers, and in a
 * property of the table, for the case that another writer has removed those snapshots. One commit
 * changes both. In JSON, {@code {"topic": "orders", "id": "..", "offsets": {"0": 17}}}, where 17 is
 * the offset behind the last record that is in the table, or was refused.
 */
final class TableOffsets {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final String name;
  private final String topic;
  private final String topicId;

  /**
   * @param topicId Kafka's, since offsets of a deleted topic mean nothing in the next one
   */
  TableOffsets(IcebergTarget target, String topicId) {
    this.name = "streamsql.offsets." + target.name();
    this.topic = target.topic();
    this.topicId = topicId;
  }

  /** The key of the summary, and of the table's property. */
  String name() {
    return name;
  }

  /** Whether the sink has written to the table, of whichever topic. */
  boolean exist(Table table) {
    String found = table.properties().get(name);
    return inAncestry(SnapshotUtil.currentAncestors(table), found) != null;
  }

  /** What is stored; empty: nothing is written yet. */
  Map<Integer, Long> stored(Table table) {
    return parsed(inAncestry(SnapshotUtil.currentAncestors(table), table.properties().get(name)));
  }

  /** Of the newest snapshot that has offsets; else of the property. */
  Map<Integer, Long> stored(Iterable<Snapshot> ancestors, Table table) {
    return parsed(inAncestry(ancestors, table.properties().get(name)));
  }

  private String inAncestry(Iterable<Snapshot> ancestors, String otherwise) {
    for (Snapshot snapshot : ancestors) {
      String found = snapshot.summary().get(name);
      if (found != null) {
        return found;
      }
    }
    return otherwise;
  }

  private Map<Integer, Long> parsed(String text) {
    Map<Integer, Long> next = new TreeMap<>();
    if (text == null) {
      return next;
    }
    try {
      JsonNode found = JSON.readTree(text);
      boolean same =
          found.path("topic").asText().equals(topic) && found.path("id").asText().equals(topicId);
      if (same) {
        found
            .path("offsets")
            .properties()
            .forEach(e -> next.put(Integer.valueOf(e.getKey()), e.getValue().asLong()));
      }
      return next;
    } catch (IOException e) {
      throw new UncheckedIOException("not offsets of a sink: " + text, e);
    }
  }

  String text(Map<Integer, Long> next) {
    ObjectNode offsets = JSON.createObjectNode();
    next.forEach((partition, offset) -> offsets.put(partition.toString(), offset));
    return JSON.createObjectNode()
        .put("topic", topic)
        .put("id", topicId)
        .<ObjectNode>set("offsets", offsets)
        .toString();
  }
}
