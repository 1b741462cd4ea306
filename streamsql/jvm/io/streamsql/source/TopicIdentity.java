package io.streamsql.source;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.streamsql.errors.CodedException;
import io.streamsql.errors.ErrorCode;
import io.streamsql.formats.Json;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Objects;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager;

/**
 * The identity of the topic that a checkpoint's offsets refer to: they mean nothing in a later
 * topic of the same name.
 *
 * <p>It is kept in a file beside the source's first offsets. If a query continues in the new topic,
 * the file also holds the offsets at which its first batch there began: if that batch is repeated,
 * these still belong to the old topic. All others belong to the new one.
 */
public final class TopicIdentity {
  private static final String FILE = "topic.json";

  /** Spark's folder for a query's first source. */
  private static final String ONLY_SOURCE = "sources/0";

  private final CheckpointFileManager files;
  private final Path path;
  private final String topic;
  private String id;
  private String before;

  private TopicIdentity(CheckpointFileManager files, Path path, String topic) {
    this.files = files;
    this.path = path;
    this.topic = topic;
  }

  /** The content of a source's folder in a checkpoint. */
  static TopicIdentity in(String folder, Configuration settings, String topic) {
    Path path = new Path(folder, FILE);
    CheckpointFileManager files = CheckpointFileManager.create(path.getParent(), settings);
    TopicIdentity found = new TopicIdentity(files, path, topic);
    try (InputStream file = files.open(path)) {
      JsonNode content = Json.TREES.readTree(file);
      String name = content.path("topic").textValue();
      if (!topic.equals(name)) {
        // Spark identifies sources by their numbers only.
        throw new CodedException(
            ErrorCode.CHECKPOINT_MISMATCH,
            "the offsets in "
                + path.getParent()
                + " are of topic "
                + name
                + ", not of "
                + topic
                + ": the query reads its topics in another order than the version that wrote its"
                + " checkpoint; use that version, or drop the query and create it again");
      }
      found.id = content.path("id").textValue();
      found.before = content.path("before").textValue();
    } catch (FileNotFoundException none) {
      return found;
    } catch (IOException e) {
      throw new UncheckedIOException("cannot read " + path, e);
    }
    return found;
  }

  /** The id of the topic that the batch in progress reads, for a query with one; empty: unknown. */
  public static String known(String checkpoint, Configuration settings, String topic) {
    String id = in(checkpoint + Path.SEPARATOR + ONLY_SOURCE, settings, topic).id;
    return id == null ? "" : id;
  }

  String id() {
    return id;
  }

  /** Whether it is unknown: the checkpoint is new, or an earlier version wrote it. */
  boolean isUnknown() {
    return id == null;
  }

  /** Whether these start offsets of a batch do not belong to the topic that has this id. */
  boolean isOther(String current, String offsets) {
    return id != null && (!id.equals(current) || offsets.equals(before));
  }

  /** From now on offsets belong to the topic of this id, except for these. */
  void goesOn(String current, String offsetsBefore) {
    if (current.equals(id) && Objects.equals(before, offsetsBefore)) {
      return;
    }
    id = current;
    before = offsetsBefore;
    ObjectNode content = Json.TREES.createObjectNode().put("topic", topic).put("id", id);
    if (before != null) {
      content.put("before", before);
    }
    try {
      files.mkdirs(path.getParent());
      CheckpointFileManager.CancellableFSDataOutputStream file = files.createAtomic(path, true);
      try {
        file.write(Json.TREES.writeValueAsBytes(content));
        file.close();
      } catch (IOException | RuntimeException e) {
        file.cancel();
        throw e;
      }
    } catch (IOException e) {
      throw new UncheckedIOException("cannot write " + path, e);
    }
  }

  /** The batch that began with the old topic's offsets is done. */
  void committed() {
    if (before != null) {
      goesOn(id, null);
    }
  }
}
