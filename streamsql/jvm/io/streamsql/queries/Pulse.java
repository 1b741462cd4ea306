package io.streamsql.queries;

import io.streamsql.monitoring.ReadOffsets;
import io.streamsql.shuffle.InProcessShuffle;
import io.streamsql.source.QueryInputs;
import io.streamsql.source.TopicTails;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.streaming.SourceProgress;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.sql.streaming.StreamingQueryProgress;

/** What is to be known of all queries every second, in one answer. */
public final class Pulse {
  private Pulse() {}

  /**
   * Lines of words between tabs: {@code running} and {@code asleep} with a query; {@code working}
   * with a query and for how many ms its tasks have had rows of other tasks without a break; {@code
   * read} with a query, a topic, a partition and the offset after the last record read; {@code
   * done} with a query and the offsets, as Spark's JSON, at which its last finished batch ended;
   * {@code gap} with a topic, a partition, and between which offsets at its end there is no record.
   */
  public static String of(SparkSession session) {
    StringBuilder lines = new StringBuilder();
    QueryInputs.asleep().forEach(query -> lines.append("asleep\t").append(query).append('\n'));
    ReadOffsets.addTo(lines);
    // After that: what has been read by then is at work by now.
    for (StreamingQuery query : session.streams().active()) {
      lines.append("running\t").append(query.name()).append('\n');
      long working = InProcessShuffle.workingFor(query.runId()).toMillis();
      if (working > 0) {
        lines.append("working\t" + query.name() + "\t" + working + "\n");
      }
      addDone(query, lines);
    }
    TopicTails.addGapsTo(lines);
    return lines.toString();
  }

  private static void addDone(StreamingQuery query, StringBuilder lines) {
    StreamingQueryProgress last = query.lastProgress();
    if (last != null) {
      for (SourceProgress source : last.sources()) {
        lines.append("done\t" + query.name() + "\t" + source.endOffset() + "\n");
      }
    }
  }
}
