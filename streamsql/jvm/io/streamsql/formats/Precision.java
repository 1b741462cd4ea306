package io.streamsql.formats;

/** What a number that stands for a time of day or a point in time counts. */
public enum Precision {
  MILLISECONDS(1),
  MICROSECONDS(1000),
  NANOSECONDS(1_000_000);

  private final long perMillisecond;

  Precision(long perMillisecond) {
    this.perMillisecond = perMillisecond;
  }

  /** By the name that Kafka Connect's schemas give the type; null: it says nothing of that. */
  public static Precision named(String type) {
    return switch (type == null ? "" : type) {
      case "io.debezium.time.Timestamp",
          "io.debezium.time.Time",
          "org.apache.kafka.connect.data.Timestamp",
          "org.apache.kafka.connect.data.Time" ->
          MILLISECONDS;
      case "io.debezium.time.MicroTimestamp", "io.debezium.time.MicroTime" -> MICROSECONDS;
      case "io.debezium.time.NanoTimestamp", "io.debezium.time.NanoTime" -> NANOSECONDS;
      default -> null;
    };
  }

  /** The number as milliseconds: what SQL's times hold. */
  public long milliseconds(long number) {
    return Math.floorDiv(number, perMillisecond);
  }
}
