package io.streamsql.iceberg;

import java.io.Serializable;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;

/**
 * The table of a sink, as the driver uses it. {@link LakeLoader} has the implementation, whose
 * classes are not on the class path.
 */
public interface Lake extends AutoCloseable {

  /** Makes lakes, and does the part of a task. */
  interface Provider {
    /** The catalog of the target. */
    Lake open(IcebergTarget target, Configuration conf) throws Exception;

    /**
     * Writes the rows of a task to files, which no snapshot has yet. The rows of one record follow
     * each other.
     *
     * @return parts to be committed one after the other
     */
    List<Part> write(
        IcebergTarget target, Start start, Iterator<InternalRow> rows, Refusals refusals);

    /**
     * What tasks read: the columns of the rows for which the conditions may hold.
     *
     * @throws Exception if the catalog is not available
     */
    LakePlan plan(
        LakeTable table,
        LakeVersion version,
        StructType columns,
        List<Filter> filters,
        Configuration conf)
        throws Exception;

    /** The rows of one of a plan's tasks. */
    LakeRows read(String table, String task, StructType columns);
  }

  /** Takes the rows that the table cannot hold. */
  interface Refusals {
    void refuse(int partition, long offset, String why);
  }

  /**
   * What a batch begins with.
   *
   * @param table Iceberg's table, serialized
   * @param empty whether it has no snapshot, so no row can be replaced
   * @param topicId Kafka's id of the topic; empty: unknown
   * @param next for each partition, the offset behind the last record that the table has
   */
  record Start(String table, boolean empty, String topicId, Map<Integer, Long> next)
      implements Serializable {
    public Start {
      next = new TreeMap<>(next);
    }

    public boolean isWritten(int partition, long offset) {
      return offset < next.getOrDefault(partition, 0L);
    }

    /** Without the table, which knows how to log in to its catalog. */
    @Override
    public String toString() {
      return "Start[topicId=" + topicId + ", next=" + next + "]";
    }
  }

  /**
   * Files for one snapshot.
   *
   * @param files Iceberg's result of a writer, serialized
   * @param next for each partition that the task has read, the offset behind its last record
   */
  record Part(String files, Map<Integer, Long> next) implements Serializable {}

  /**
   * Creates the table, or changes its columns as the target has them.
   *
   * @return why the table cannot hold the sink's rows; null if it can
   */
  String prepare();

  Start start(String topicId);

  /**
   * Adds the parts of all tasks and the offsets that they reach, both or none, and maintains the
   * table. Repeated after a failure, it finds out whether the one before has succeeded.
   */
  void commit(Start start, List<List<Part>> tasks);

  @Override
  void close();
}
