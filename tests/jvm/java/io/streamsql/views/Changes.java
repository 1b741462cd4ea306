package io.streamsql.views;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** An operator over batches of rows written as text, with its state in memory. */
final class Changes {
  private final ViewOperator operator;
  private final Store store = new Store();

  Changes(ViewOperator operator) {
    this.operator = operator;
  }

  /** A row of values: text stands for its bytes. */
  static Object[] row(Object... values) {
    return values;
  }

  /** The results of a batch, each as its columns in brackets, in alphabetical order. */
  List<String> of(Object[]... rows) {
    Iterator<InternalRow> sorted =
        Iterators.transform(
            Arrays.stream(rows).sorted(Comparator.comparing(row -> (String) row[0])).iterator(),
            row -> new GenericInternalRow(bytes(row)));
    boolean[] ended = {false};
    store.isNew = store.items.isEmpty();
    Iterator<InternalRow> found = new KeyedRows(operator, sorted, store, () -> ended[0] = true);
    List<String> texts = new ArrayList<>();
    while (found.hasNext()) {
      texts.add(text(found.next(), operator.results()));
    }
    if (!ended[0]) {
      throw new AssertionError("the state is not committed");
    }
    texts.sort(Comparator.naturalOrder());
    return texts;
  }

  /** How many items are kept. */
  int kept() {
    return store.items.values().stream().mapToInt(TreeMap::size).sum();
  }

  private static Object[] bytes(Object[] row) {
    return Arrays.stream(row)
        .map(value -> value instanceof String text ? utf8(text) : value)
        .toArray();
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static String text(InternalRow row, StructType columns) {
    List<String> cells = new ArrayList<>();
    for (int i = 0; i < columns.length(); i++) {
      DataType type = columns.apply(i).dataType();
      Object value = row.isNullAt(i) ? null : row.get(i, type);
      boolean isBytes = value != null && type.equals(DataTypes.BinaryType);
      cells.add(
          isBytes ? new String((byte[]) value, StandardCharsets.UTF_8) : String.valueOf(value));
    }
    return String.join(" ", cells);
  }

  /** State in memory, a key's items by their bytes. */
  private static final class Store implements ViewStore {
    private final Map<byte[], TreeMap<byte[], byte[]>> items =
        new TreeMap<>(Arrays::compareUnsigned);
    private boolean isNew;

    @Override
    public boolean isNew() {
      return isNew;
    }

    @Override
    public byte[] get(byte[] key, byte[] item) {
      return of(key).get(item);
    }

    @Override
    public void put(byte[] key, byte[] item, byte[] value) {
      items.computeIfAbsent(key, none -> new TreeMap<>(Arrays::compareUnsigned)).put(item, value);
    }

    @Override
    public void remove(byte[] key, byte[] item) {
      of(key).remove(item);
    }

    @Override
    public List<Item> items(byte[] key) {
      return of(key).entrySet().stream().map(e -> new Item(e.getKey(), e.getValue())).toList();
    }

    @Override
    public byte[] first(byte[] key) {
      return of(key).keySet().stream().findFirst().orElse(null);
    }

    @Override
    public boolean hasItems(byte[] key) {
      return !of(key).isEmpty();
    }

    private Map<byte[], byte[]> of(byte[] key) {
      return items.getOrDefault(key, new TreeMap<>(Arrays::compareUnsigned));
    }
  }
}
