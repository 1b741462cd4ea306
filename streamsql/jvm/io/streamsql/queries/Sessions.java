package io.streamsql.queries;

import java.util.Map;
import org.apache.spark.sql.classic.SparkSession;

/** Sessions in which parts of queries are planned in another way. */
public final class Sessions {
  private Sessions() {}

  /** A copy of a session with these settings. */
  public static SparkSession copy(SparkSession session, Map<String, String> settings) {
    SparkSession copy = session.cloneSession();
    settings.forEach((name, value) -> copy.conf().set(name, value));
    return copy;
  }
}
