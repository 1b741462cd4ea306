package io.streamsql.bridge;

import io.streamsql.databases.Database;
import io.streamsql.databases.Rows;
import io.streamsql.delivery.Corrections;
import io.streamsql.delivery.HeldTable;
import io.streamsql.delivery.NewestRecords;
import io.streamsql.delivery.OpenTransactions;
import io.streamsql.delivery.TaskTransactions;
import io.streamsql.epochs.FollowedEpochs;
import io.streamsql.files.StoreFiles;
import io.streamsql.kafka.ByteArrays;
import io.streamsql.kafka.TopicRecords;
import io.streamsql.kafka.WriteLease;
import io.streamsql.monitoring.FatalErrors;
import io.streamsql.monitoring.QueryMetrics;
import io.streamsql.monitoring.QueryProgress;
import io.streamsql.queries.Rehearsal;
import io.streamsql.queries.WarmUp;
import io.streamsql.runs.QueryRun;
import io.streamsql.serving.AnsiSession;
import io.streamsql.serving.CommonEpoch;
import io.streamsql.serving.CompiledPlan;
import io.streamsql.serving.LookupServer;
import io.streamsql.serving.PreparedQuery;
import io.streamsql.serving.RowMemory;
import io.streamsql.serving.ScanThreads;
import io.streamsql.serving.ServedTable;
import io.streamsql.serving.TablesQuery;
import io.streamsql.source.QueryInputs;
import io.streamsql.source.ReadUntil;
import io.streamsql.source.TimeSteps;
import io.streamsql.state.GroupLayout;
import io.streamsql.state.GroupRewrite;
import io.streamsql.state.GroupStores;
import java.io.IOException;
import java.sql.SQLException;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.UnaryOperator;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.rocksdb.RocksDBException;

/**
 * All that Python calls, other than to build frames: one object for each engine. Its methods decide
 * nothing. {@code executor/spark/bridge.py} is the other end.
 */
public final class Bridge {
  private final SparkSession session;
  private final Map<Long, PreparedQuery> prepared = new ConcurrentHashMap<>();
  private final AtomicLong numbers = new AtomicLong();

  private Bridge(SparkSession session) {
    this.session = session;
  }

  /**
   * Opens the bridge of an engine.
   *
   * @param version Python's {@link Message#VERSION}
   */
  public static Bridge open(SparkSession session, int version) {
    if (version != Message.VERSION) {
      throw new IllegalStateException(
          "the JVM part speaks version " + Message.VERSION + " of the bridge, Python " + version);
    }
    FatalErrors.watch();
    QueryProgress.follow(session);
    return new Bridge(session);
  }

  // -- queries -------------------------------------------------------------------------------

  /** {@link Message.Status} of this moment. */
  public String status() {
    return Message.Status.of(session.streams().active()).json();
  }

  /** The counters of all queries: JSON of an object by query. */
  public String counters() {
    return QueryMetrics.all();
  }

  /** Forgets the counters of a query: it has ended for good, or begins without state. */
  public void forget(String query) {
    QueryMetrics.forget(query);
  }

  /** {@link Message.CodedError} that caused an exception; null: the engine's code did not. */
  public String codedError(Throwable error) {
    Message.CodedError found = Message.CodedError.of(error);
    return found == null ? null : found.json();
  }

  /** The same of the exception that a query ended with. */
  public String endedBy(StreamingQuery query) {
    return query.exception().isEmpty() ? null : codedError(query.exception().get());
  }

  /** Makes a query commit what it has read and stop reading; whether it did within this time. */
  public boolean finish(StreamingQuery query, long millis) throws InterruptedException {
    boolean finished = QueryInputs.finish(query, millis);
    if (finished) {
      TaskTransactions.stoppedInOrder(query.runId().toString());
    }
    return finished;
  }

  /** A run of a query has ended. */
  public void stopped(String query) {
    QueryRun.closeAll(query);
    ReadUntil.dropSteps(query);
  }

  /** Limits the micro-batches of a query to offsets in Spark's JSON; null: no limit. */
  public void readUntil(String query, String offsets) {
    if (offsets == null) {
      ReadUntil.clear(query);
    } else {
      ReadUntil.set(query, offsets);
    }
  }

  /** Makes the next run of a query end its batches at event times: see {@link TimeSteps}. */
  public void readInSteps(
      String query,
      Map<String, Object> settings,
      Map<String, UnaryOperator<Iterator<InternalRow>>> clocks,
      String starts,
      String ends,
      long most) {
    ReadUntil.inSteps(query, TimeSteps.of(settings, clocks, starts, ends, most));
  }

  /** Compiles in the background what plans a query's batches. */
  @SuppressWarnings("FutureReturnValueIgnored") // what fails is logged there
  public void rehearse(StreamingQuery query) {
    Rehearsal.begin(query);
  }

  public WarmUp warmUp() {
    return new WarmUp(session);
  }

  // -- writing to Kafka ----------------------------------------------------------------------

  /** The clock of {@link #extendLease}. */
  public long nanoTime() {
    return System.nanoTime();
  }

  /** Lets the queries of a service write until then. */
  public void extendLease(String service, long end) {
    WriteLease.extend(service, end);
  }

  public int abortTransactions(Map<String, String> settings, List<String> checkpoints, int millis)
      throws InterruptedException, ExecutionException {
    return OpenTransactions.abort(settings, checkpoints, millis);
  }

  public KafkaProducer<byte[], byte[]> producer(Map<String, Object> settings) {
    return ByteArrays.producer(settings);
  }

  public ProducerRecord<byte[], byte[]> record(
      String topic,
      Integer partition,
      Number timestamp,
      byte[] key,
      byte[] value,
      List<List<Object>> headers) {
    RecordHeaders found = new RecordHeaders();
    headers.forEach(pair -> found.add((String) pair.get(0), (byte[]) pair.get(1)));
    Long time = timestamp == null ? null : timestamp.longValue();
    return new ProducerRecord<>(topic, partition, time, key, value, found);
  }

  public void writeRecords(Map<String, String> settings, byte[] packed)
      throws IOException, InterruptedException, ExecutionException {
    TopicRecords.write(settings, packed);
  }

  public byte[] readRecords(Map<String, String> settings, String topic) throws IOException {
    return TopicRecords.read(settings, topic);
  }

  // -- rebuilds ------------------------------------------------------------------------------

  public Dataset<Row> newestRecords(
      Map<String, String> settings,
      String topic,
      Map<Integer, Number> begins,
      Map<Integer, Number> ends) {
    return NewestRecords.read(session, settings, topic, begins, ends);
  }

  public HeldTable heldTable(
      Dataset<Row> rows,
      List<Map<String, String>> settings,
      List<String> topics,
      List<Map<Integer, Number>> ends) {
    return new HeldTable(rows, settings, topics, ends);
  }

  public void writeCorrections(
      Dataset<Row> rows, Map<String, String> settings, String topic, String writer) {
    Corrections.write(rows, settings, topic, writer);
  }

  public GroupLayout groupLayout(StreamingQuery query) {
    return GroupLayout.of(query);
  }

  public GroupStores groupStores(
      String checkpoint, String metadata, long version, List<String> ids, GroupLayout layout) {
    return new GroupStores(session, checkpoint, metadata, version, ids, layout);
  }

  public List<String> rewriteGroups(GroupStores from, GroupStores to) {
    return GroupRewrite.run(session, from, to);
  }

  // -- served tables -------------------------------------------------------------------------

  /** Where topics of views end an epoch, as JSON: see {@link FollowedEpochs#newestEnds}. */
  public String epochEnds(String log, Map<String, String> settings, List<String> topics)
      throws IOException, InterruptedException {
    return FollowedEpochs.newestEnds(log, settings, topics);
  }

  /** The epoch as of which a query reads its views. */
  public CommonEpoch commonEpoch() {
    return new CommonEpoch();
  }

  /** Opens or creates the store of a topic: see {@link ServedTable#open}. */
  public ServedTable openTable(
      String folder,
      String topic,
      Map<String, String> settings,
      long retention,
      String epochs,
      long history)
      throws IOException, RocksDBException {
    return ServedTable.open(folder, topic, settings, retention, epochs, history);
  }

  /** The system's ids of the threads that scan tables. */
  public List<Integer> scanThreads() {
    return ScanThreads.ids();
  }

  /** Answers prepared queries over a Unix domain socket at the path, which must not exist. */
  public LookupServer listen(String path) throws IOException {
    return LookupServer.listen(path, prepared);
  }

  /** The number of a query in requests to {@link #listen}. */
  public long register(PreparedQuery query) {
    long number = numbers.incrementAndGet();
    prepared.put(number, query);
    return number;
  }

  public void release(long number) {
    prepared.remove(number);
  }

  /** A copy of the engine's session in ANSI mode. */
  public SparkSession ansiSession(boolean ofStores) {
    return AnsiSession.of(session, ofStores);
  }

  public Dataset<Row> oneRow(SparkSession of) {
    return CompiledPlan.oneRow(of);
  }

  /** The rows of another session, whose own expressions keep their mode. */
  public Dataset<?> moved(Dataset<?> rows, SparkSession other) {
    return AnsiSession.moved(rows, other);
  }

  /** Makes a session the active one of this thread; returns the one before. Null is none. */
  public SparkSession activate(SparkSession next) {
    return AnsiSession.activate(next);
  }

  public TablesQuery tablesQuery(CompiledPlan plan, long mostRows) {
    return new TablesQuery(plan, mostRows);
  }

  /** Limits the memory of rows that table queries keep. */
  public void limitRows(long bytes) {
    RowMemory.limit(bytes);
  }

  // -- object stores -------------------------------------------------------------------------

  /** The rows of a statement that a database runs: see {@link Rows}. */
  public List<List<String>> databaseRows(
      String url,
      String user,
      String password,
      List<String> jars,
      String sql,
      List<String> parameters)
      throws IOException, SQLException {
    return Rows.of(new Database(url, user, password, jars), sql, parameters);
  }

  public StoreFiles storeFiles() {
    return new StoreFiles(session);
  }
}
