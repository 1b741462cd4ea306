package io.streamsql.serving;

import io.streamsql.queries.Sessions;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import scala.Option;

/** Spark's ANSI mode: an expression without a value, such as 1/0, is an error, not a null. */
public final class AnsiSession {
  private static final String ANSI = "spark.sql.ansi.enabled";

  private static final Map<String, String> OF_STORES =
      Map.of(
          ANSI,
          "true",
          // Most of these queries run once: compiling one takes longer than interpreting it. So
          // this session serves for interpreted programs, too.
          "spark.sql.codegen.wholeStage",
          "false",
          // The size of a relation if it is unknown: products of the default overflow.
          "spark.sql.defaultSizeInBytes",
          "1");

  private AnsiSession() {}

  /** A copy of a session in this mode, for queries over stores or for those that take jobs. */
  public static SparkSession of(SparkSession session, boolean ofStores) {
    return ofStores
        ? CompiledPlan.session(session, OF_STORES)
        : Sessions.copy(session, Map.of(ANSI, "true"));
  }

  /** The rows of another session, whose own expressions keep their mode. */
  public static Dataset<?> moved(Dataset<?> rows, SparkSession session) {
    var own = (org.apache.spark.sql.classic.Dataset<?>) rows;
    return org.apache.spark.sql.classic.Dataset.ofRows(session, own.queryExecution().analyzed());
  }

  /** Makes a session the active one of this thread; returns the one before. Null is none. */
  public static SparkSession activate(SparkSession session) {
    Option<SparkSession> before = SparkSession.getActiveSession();
    if (session == null) {
      SparkSession.clearActiveSession();
    } else {
      SparkSession.setActiveSession(session);
    }
    return before.isEmpty() ? null : before.get();
  }
}
