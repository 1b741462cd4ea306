package io.streamsql.state;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.stream.IntStream;
import org.apache.spark.HashPartitioner;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.streaming.state.ReadStateStore;
import org.apache.spark.sql.execution.streaming.state.StateStore;
import org.apache.spark.sql.execution.streaming.state.StateStoreIterator;
import org.apache.spark.sql.execution.streaming.state.StateStoreProvider;
import org.apache.spark.sql.execution.streaming.state.UnsafeRowPair;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.TaskCompletionListener;
import scala.Tuple2;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Migrates the groups of a GROUP BY into empty stores: each with the buffers of the new layout, in
 * the partition in which Spark looks for it.
 *
 * <p>A Spark job with a task for each partition. Groups move between tasks only if the number of
 * partitions changes.
 */
public final class GroupRewrite implements Serializable {
  private static final long serialVersionUID = 1L;
  private final GroupStores from;
  private final GroupStores to;
  private final int[] places;

  private GroupRewrite(GroupStores from, GroupStores to) {
    this.from = from;
    this.to = to;
    this.places = to.layout().placesIn(from.layout());
  }

  /**
   * Writes the groups of the one checkpoint as the next version of the other.
   *
   * @return the ids of what was committed, by partitions
   */
  public static List<String> run(SparkSession spark, GroupStores from, GroupStores to) {
    return new GroupRewrite(from, to).run(JavaSparkContext.fromSparkContext(spark.sparkContext()));
  }

  private List<String> run(JavaSparkContext spark) {
    int before = from.partitions();
    List<Integer> numbers = IntStream.range(0, before).boxed().toList();
    JavaRDD<Integer> partitions = spark.parallelize(numbers, before);
    if (before == to.partitions()) {
      return partitions.map(partition -> written(partition, read(partition))).collect();
    }
    return partitions
        .flatMapToPair(this::placed)
        .partitionBy(new HashPartitioner(to.partitions()))
        .mapPartitions(this::writtenOfTask)
        .collect();
  }

  /** A partition's groups with the numbers of their new partitions. */
  private Iterator<Tuple2<Integer, byte[][]>> placed(int partition) {
    UnsafeProjection number = partitionNumber(to.layout().key(), to.partitions());
    Iterator<UnsafeRowPair> groups = read(partition);
    return new Iterator<>() {
      @Override
      public boolean hasNext() {
        return groups.hasNext();
      }

      @Override
      public Tuple2<Integer, byte[][]> next() {
        UnsafeRowPair group = groups.next();
        byte[][] bytes = {group.key().getBytes(), group.value().getBytes()};
        return new Tuple2<>(number.apply(group.key()).getInt(0), bytes);
      }
    };
  }

  private Iterator<String> writtenOfTask(Iterator<Tuple2<Integer, byte[][]>> groups) {
    UnsafeRowPair pair = new UnsafeRowPair(null, null);
    UnsafeRow key = new UnsafeRow(to.layout().key().length());
    UnsafeRow value = new UnsafeRow(to.layout().value().length());
    Iterator<UnsafeRowPair> rows =
        new Iterator<>() {
          @Override
          public boolean hasNext() {
            return groups.hasNext();
          }

          @Override
          public UnsafeRowPair next() {
            byte[][] bytes = groups.next()._2();
            key.pointTo(bytes[0], bytes[0].length);
            value.pointTo(bytes[1], bytes[1].length);
            return pair.withRows(key, value);
          }
        };
    return List.of(written(TaskContext.getPartitionId(), rows)).iterator();
  }

  /** A partition's groups with their new values; the same pair is reused. */
  private Iterator<UnsafeRowPair> read(int partition) {
    StateStoreProvider provider = from.open(partition);
    ReadStateStore store = provider.getReadStore(from.version(), from.id(partition));
    StateStoreIterator<UnsafeRowPair> groups = store.iterator(StateStore.DEFAULT_COL_FAMILY_NAME());
    TaskContext.get()
        .addTaskCompletionListener(
            (TaskCompletionListener)
                task -> {
                  groups.close();
                  store.abort();
                  provider.close();
                });
    return new Groups(groups, from, partition, selection(from.layout().value(), places));
  }

  /** Checks each row that is read against the layout. */
  private static final class Groups implements Iterator<UnsafeRowPair> {
    private final StateStoreIterator<UnsafeRowPair> found;
    private final UnsafeProjection selection;
    private final UnsafeRowPair pair = new UnsafeRowPair(null, null);
    private final GroupStores stores;
    private final int partition;
    private boolean checked;

    Groups(
        StateStoreIterator<UnsafeRowPair> found,
        GroupStores stores,
        int partition,
        UnsafeProjection selection) {
      this.found = found;
      this.stores = stores;
      this.partition = partition;
      this.selection = selection;
    }

    @Override
    public boolean hasNext() {
      return found.hasNext();
    }

    @Override
    public UnsafeRowPair next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      UnsafeRowPair group = found.next();
      if (!checked) {
        stores.check(group, partition);
        checked = true;
      }
      return pair.withRows(group.key(), selection.apply(group.value()));
    }
  }

  /** The id of what was committed. */
  private String written(int partition, Iterator<UnsafeRowPair> groups) {
    StateStoreProvider provider = to.open(partition);
    try {
      // All of it is one snapshot: a changelog would be as long, and would be read again.
      StateStore store = provider.getStore(to.version(), to.id(partition), true, false);
      try {
        while (groups.hasNext()) {
          UnsafeRowPair group = groups.next();
          store.put(group.key(), group.value(), StateStore.DEFAULT_COL_FAMILY_NAME());
        }
        store.commit();
        return store.getStateStoreCheckpointInfo().stateStoreCkptId().get();
      } finally {
        if (!store.hasCommitted()) {
          store.abort();
        }
      }
    } finally {
      provider.close();
    }
  }

  private static UnsafeProjection selection(StructType row, int[] places) {
    List<Expression> chosen = new ArrayList<>();
    for (int place : places) {
      chosen.add(reference(row, place));
    }
    return projection(chosen);
  }

  private static UnsafeProjection partitionNumber(StructType key, int partitions) {
    if (key.length() == 0) {
      return projection(List.of(Literal.create(0, DataTypes.IntegerType))); // all rows are a group
    }
    List<Expression> all = new ArrayList<>();
    for (int place : IntStream.range(0, key.length()).toArray()) {
      all.add(reference(key, place));
    }
    // As Spark assigns a row to a task.
    HashPartitioning hash =
        new HashPartitioning(CollectionConverters.asScala(all).toSeq(), partitions);
    return projection(List.of(hash.partitionIdExpression()));
  }

  private static Expression reference(StructType row, int place) {
    StructField field = row.fields()[place];
    return new BoundReference(place, field.dataType(), field.nullable());
  }

  private static UnsafeProjection projection(List<Expression> expressions) {
    return UnsafeProjection.create(CollectionConverters.asScala(expressions).toSeq());
  }
}
