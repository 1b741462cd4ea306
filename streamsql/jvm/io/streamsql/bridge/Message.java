package io.streamsql.bridge;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import io.streamsql.epochs.Epochs;
import io.streamsql.errors.CodedException;
import io.streamsql.errors.ErrorCode;
import io.streamsql.monitoring.ReadOffsets;
import io.streamsql.shuffle.InProcessShuffle;
import io.streamsql.source.QueryInputs;
import io.streamsql.source.TopicTails;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.sql.streaming.SourceProgress;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.sql.streaming.StreamingQueryProgress;

/**
 * What the bridge tells Python, as JSON. {@code executor/spark/messages.py} reads the same types; a
 * change of one is a change of {@link #VERSION} and of {@code tests/cases/bridge/messages.json}.
 */
public sealed interface Message {
  int VERSION = 3;
  ObjectMapper JSON =
      new ObjectMapper().setPropertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE);

  default String json() {
    try {
      return JSON.writeValueAsString(this);
    } catch (JsonProcessingException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** An error of the engine. */
  record CodedError(ErrorCode code, String message, Map<String, String> parameters)
      implements Message {
    /** The error of the engine that caused another one; null: none did. */
    static CodedError of(Throwable error) {
      for (Throwable cause = error; cause != null; cause = cause.getCause()) {
        if (cause instanceof CodedException coded) {
          return new CodedError(coded.code(), coded.getMessage(), coded.parameters());
        }
      }
      return null;
    }
  }

  /**
   * All running queries at one moment.
   *
   * @param asleep the queries that wait for records
   * @param workingMillis how long the tasks of a query have had rows of its other tasks without a
   *     break
   * @param read by query, topic and partition the offset after the last record read
   * @param done by query the offsets, as Spark has them, at which the last batch ended, for each
   *     source
   * @param gaps by topic and partition the offsets at the end of the log without a record between
   * @param held by the query of a view what holds it back
   */
  record Status(
      List<String> running,
      List<String> asleep,
      Map<String, Long> workingMillis,
      Map<String, Map<String, Map<Integer, AtomicLong>>> read,
      Map<String, List<JsonNode>> done,
      Map<String, Map<Integer, long[]>> gaps,
      Map<String, Epochs.Held> held)
      implements Message {
    static Status of(StreamingQuery[] active) {
      List<String> asleep = QueryInputs.asleep();
      // Before the rest: what has been read by then is in progress by now.
      Map<String, Map<String, Map<Integer, AtomicLong>>> read = ReadOffsets.all();
      List<String> running = new ArrayList<>();
      Map<String, Long> working = new HashMap<>();
      Map<String, List<JsonNode>> done = new HashMap<>();
      for (StreamingQuery query : active) {
        if (query.name() == null) {
          continue; // none of the engine's
        }
        running.add(query.name());
        working.put(query.name(), InProcessShuffle.workingFor(query.runId()).toMillis());
        done.put(query.name(), ends(query.lastProgress()));
      }
      return new Status(
          running, asleep, working, read, done, TopicTails.gaps(), QueryInputs.held());
    }

    private static List<JsonNode> ends(StreamingQueryProgress progress) {
      List<JsonNode> found = new ArrayList<>();
      if (progress != null) {
        for (SourceProgress source : progress.sources()) {
          if (source.endOffset() != null) {
            found.add(parsed(source.endOffset()));
          }
        }
      }
      return found;
    }

    private static JsonNode parsed(String json) {
      try {
        return JSON.readTree(json);
      } catch (JsonProcessingException e) {
        throw new UncheckedIOException(e);
      }
    }
  }
}
