package io.streamsql.formats;

/** The unit of a number that represents a time of day or a point in time. */
public enum Precision {
  MILLISECONDS(1),
  MICROSECONDS(1000),
  NANOSECONDS(1_000_000);

  private final long perMillisecond;

  Precision(long perMillisecond) {
    this.perMillisecond = perMillisecond;
  }

  /** By the type name in Kafka Connect's schemas; null for other types. */
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

  /** The number in milliseconds, the unit of SQL's times. */
  public long milliseconds(long number) {
    return Math.floorDiv(number, perMillisecond);
  }
}
