package io.streamsql.state;

import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.nio.ByteOrder;
import java.util.List;
import org.apache.spark.SparkEnv;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.SortExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.UnsafeExternalRowSorter;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.util.collection.unsafe.sort.PrefixComparators;
import org.apache.spark.util.collection.unsafe.sort.RecordComparator;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction1;

/**
 * Sorts rows by a packed key in Spark's order, byte by byte, but without copies.
 *
 * <p>Spark compares by a prefix of a key's first eight bytes. Those of a packed key are its null
 * bits, nearly always zero, so that nearly each comparison would compare copies of whole keys. Here
 * the prefix includes the bytes behind them.
 */
public final class KeySort extends DerivedNode {
  private static final long serialVersionUID = 1L;
  private final SparkPlan child;
  private final int key;

  /**
   * Spark copies its trees by this constructor.
   *
   * @param key the index of the key's column
   */
  public KeySort(SparkPlan child, int key) {
    super(child, key);
    this.child = child;
    this.key = key;
  }

  /** Replaces a task's sort by one column of bytes; other sorts are left as they are. */
  static SparkPlan inPlaceOf(SortExec sort) {
    Expression by = sort.sortOrder().head().child();
    boolean ofOne = sort.sortOrder().size() == 1 && !sort.global();
    if (!ofOne || !(by.dataType() instanceof BinaryType)) {
      return sort;
    }
    List<Attribute> columns = CollectionConverters.asJava(sort.output());
    for (int i = 0; i < columns.size(); i++) {
      if (columns.get(i).semanticEquals(by)) {
        return new KeySort(sort.child(), i);
      }
    }
    return sort;
  }

  @Override
  public RDD<InternalRow> doExecute() {
    return child
        .execute()
        .mapPartitions(
            new Sorting(child.schema(), key), true, ClassTag$.MODULE$.apply(InternalRow.class));
  }

  @Override
  SparkPlan over(SparkPlan other) {
    return new KeySort(other, key);
  }

  /** The rows of a task. */
  private static final class Sorting
      extends AbstractFunction1<Iterator<InternalRow>, Iterator<InternalRow>>
      implements Serializable {
    private static final long serialVersionUID = 1L;
    private final StructType type;
    private final long key;

    Sorting(StructType type, int key) {
      this.type = type;
      this.key = UnsafeRow.calculateBitSetWidthInBytes(type.size()) + 8L * key;
    }

    @Override
    @SuppressWarnings("unchecked") // They come from a shuffle.
    public Iterator<InternalRow> apply(Iterator<InternalRow> rows) {
      try {
        return UnsafeExternalRowSorter.createWithRecordComparator(
                type,
                () -> new ByBytes(key),
                PrefixComparators.LONG,
                new Begin(key),
                SparkEnv.get().memoryManager().pageSizeBytes(),
                false)
            .sort((Iterator<UnsafeRow>) (Iterator<?>) rows);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  /** Eight bytes as an unsigned big-endian number. */
  private static long word(Object base, long place) {
    long word = Platform.getLong(base, place);
    return ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN ? Long.reverseBytes(word) : word;
  }

  /** Up to that many bytes, as if zeros followed. */
  private static long word(Object base, long place, int length) {
    if (length >= Long.BYTES) {
      return word(base, place);
    }
    long word = 0;
    for (int i = 0; i < length; i++) {
      word |= (Platform.getByte(base, place + i) & 0xFFL) << (Long.SIZE - Byte.SIZE * (i + 1));
    }
    return word;
  }

  /** The prefix: if no column is null, seven bytes of the first column. */
  private static final class Begin extends UnsafeExternalRowSorter.PrefixComputer {
    private static final long NULLS = 1L << 56;
    private final long key;
    private final Prefix begin = new Prefix();

    /**
     * @param key the row's word with the offset and the length of the key
     */
    Begin(long key) {
      this.key = key;
    }

    @Override
    public Prefix computePrefix(InternalRow row) {
      UnsafeRow found = (UnsafeRow) row;
      Object base = found.getBaseObject();
      long place = Platform.getLong(base, found.getBaseOffset() + key);
      long start = found.getBaseOffset() + (place >>> 32);
      long nulls = word(base, start, (int) place);
      begin.value =
          nulls == 0
              ? word(base, start + Long.BYTES, (int) place - Long.BYTES) >>> Byte.SIZE
              : NULLS | (nulls >>> Byte.SIZE);
      return begin;
    }
  }

  /** Compares all bytes, unsigned; a prefix comes before a longer key. */
  private static final class ByBytes extends RecordComparator {
    private final long key;

    ByBytes(long key) {
      this.key = key;
    }

    @Override
    public int compare(
        Object left, long leftRow, int leftLength, Object right, long rightRow, int rightLength) {
      long leftPlace = Platform.getLong(left, leftRow + key);
      long rightPlace = Platform.getLong(right, rightRow + key);
      long leftKey = leftRow + (leftPlace >>> 32);
      long rightKey = rightRow + (rightPlace >>> 32);
      int length = Math.min((int) leftPlace, (int) rightPlace);
      int done = 0;
      for (; done + Long.BYTES <= length; done += Long.BYTES) {
        long one = word(left, leftKey + done);
        long other = word(right, rightKey + done);
        if (one != other) {
          return Long.compareUnsigned(one, other);
        }
      }
      for (; done < length; done++) {
        byte one = Platform.getByte(left, leftKey + done);
        byte other = Platform.getByte(right, rightKey + done);
        if (one != other) {
          return Byte.compareUnsigned(one, other);
        }
      }
      return Integer.compare((int) leftPlace, (int) rightPlace);
    }
  }
}
