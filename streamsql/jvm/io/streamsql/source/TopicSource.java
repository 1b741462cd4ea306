package io.streamsql.source;

import com.fasterxml.jackson.databind.JsonNode;
import io.streamsql.monitoring.ProcessingLog;
import io.streamsql.runs.QueryRun;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.kafka010.KafkaMicroBatchStream;
import org.apache.spark.sql.kafka010.KafkaOffsetReaderAdmin;
import org.apache.spark.sql.kafka010.KafkaSourceProvider;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * A source of Structured Streaming, by its class name: Spark's Kafka source with its options, read
 * through an {@link IdleStream}. The option {@value #QUERY} names the query that reads.
 */
public final class TopicSource implements TableProvider {
  /**
   * The reading query: one that reads several topics sleeps until one of them gets a record.
   * Without the option it does not sleep.
   */
  public static final String QUERY = "streamsql.query";

  /**
   * Whether the query, which reads one topic, may sleep before its first batch: it has no results
   * that depend on time alone.
   */
  public static final String AT_ONCE = "streamsql.sleeps.at.once";

  /** The topic for reports of lost records; without the option, a loss stops the query. */
  public static final String LOSS_LOG = "streamsql.loss.log";

  /** Whether rows of other topics are joined with what is read: see {@link TablesFirst}. */
  public static final String TABLE = "streamsql.table";

  /** Whether the query pauses between micro-batches: see {@link BatchPace}. */
  public static final String RESTS = "streamsql.rests";

  /** Whether the query may have results that depend on time alone: see {@link OwedBatch}. */
  public static final String TIME_DECIDES = "streamsql.time.decides";

  /** The epochs of a query: see {@link ViewEpochs} and {@link PushEpochs}. */
  public static final String EPOCHS = "streamsql.epochs";

  private static final String PRODUCER = "streamsql.epochs.producer.";

  private final TableProvider kafka = new KafkaSourceProvider();

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    return kafka.inferSchema(options);
  }

  @Override
  public Table getTable(
      StructType schema, Transform[] partitioning, Map<String, String> properties) {
    return new Topics((SupportsRead) kafka.getTable(schema, partitioning, properties));
  }

  private record Topics(SupportsRead kafka) implements SupportsRead {
    @Override
    public String name() {
      return kafka.name();
    }

    @Override
    @SuppressWarnings("deprecation") // Spark asks a table without columns for its schema.
    public StructType schema() {
      return kafka.schema();
    }

    @Override
    public Set<TableCapability> capabilities() {
      return kafka.capabilities();
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
      ScanBuilder builder = kafka.newScanBuilder(options);
      return () -> new TopicScan(builder.build(), options);
    }
  }

  private record TopicScan(Scan kafka, CaseInsensitiveStringMap options) implements Scan {
    @Override
    public StructType readSchema() {
      return kafka.readSchema();
    }

    @Override
    public String description() {
      return kafka.description();
    }

    @Override
    public CustomMetric[] supportedCustomMetrics() {
      return kafka.supportedCustomMetrics();
    }

    @Override
    public MicroBatchStream toMicroBatchStream(String checkpoint) {
      MicroBatchStream stream = kafka.toMicroBatchStream(checkpoint);
      if (!options.containsKey(QUERY)) {
        return stream;
      }
      Map<String, Object> settings = TopicEnds.settings(options);
      if (((KafkaMicroBatchStream) stream).kafkaOffsetReader()
          instanceof KafkaOffsetReaderAdmin reader) {
        // Otherwise each source has a client, with its thread and its connections. After a failure
        // Spark's reader gets one of its own.
        reader._admin_$eq(TopicEnds.of(settings).shared());
      }
      String query = options.get(QUERY);
      String topic = options.get("subscribe");
      QueryInputs.Input input =
          QueryInputs.of(
                  QueryRun.open(SparkSession.active().sparkContext(), query),
                  TopicEnds.of(settings),
                  options.containsKey(EPOCHS) ? clock -> epochs(clock, settings) : null)
              .reading(
                  topic,
                  options.getBoolean(AT_ONCE, false),
                  options.getBoolean(TABLE, false),
                  options.getBoolean(TIME_DECIDES, false));
      return new IdleStream(
          stream,
          input,
          loss(checkpoint, topic, settings),
          topic,
          settings,
          query,
          options.getBoolean(RESTS, false));
    }

    private InputEpochs epochs(Clock clock, Map<String, Object> settings) {
      JsonNode query = ReadUntil.parsed(options.get(EPOCHS));
      Map<String, String> producer = TopicEnds.settings(options, PRODUCER);
      return query.has("push")
          ? new PushEpochs(query, producer)
          : new ViewEpochs(options.get(QUERY), query, producer, TopicEnds.of(settings), clock);
    }

    private DataLoss loss(String checkpoint, String topic, Map<String, Object> settings) {
      Configuration files = SparkSession.active().sessionState().newHadoopConf();
      return new DataLoss(
          topic,
          TopicEnds.of(settings),
          TopicIdentity.in(checkpoint, files, topic),
          options.containsKey(LOSS_LOG) ? log(settings) : null,
          TopicEnds.committedOnly(settings));
    }

    private ProcessingLog log(Map<String, Object> settings) {
      Map<String, String> ofProducer = new HashMap<>();
      settings.forEach(
          (name, value) -> {
            boolean onlyOfConsumers =
                ConsumerConfig.configNames().contains(name)
                    && !ProducerConfig.configNames().contains(name);
            if (!onlyOfConsumers) {
              ofProducer.put(name, value.toString());
            }
          });
      ofProducer.put(ProducerConfig.ACKS_CONFIG, "all");
      return new ProcessingLog(options.get(QUERY), options.get(LOSS_LOG), ofProducer, false);
    }
  }
}
