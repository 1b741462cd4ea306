package io.streamsql.operators;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.spark.sql.Encoder;
import org.apache.spark.sql.streaming.ListState;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.QueryInfo;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.ValueState;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/** The state of one key of a {@link BoundedOperator}: on the heap, until {@link #clear}. */
final class MemoryState implements StatefulProcessorHandle {
  private static final long serialVersionUID = 1L;

  private final transient Map<String, Clearable> states = new HashMap<>();
  private final transient TreeSet<Long> timers = new TreeSet<>();

  private interface Clearable {
    void clear();
  }

  /** Starts the next key, without state. */
  void clear() {
    states.values().forEach(Clearable::clear);
    timers.clear();
  }

  /** Removes and returns the earliest timer if it is due at that time; null: none is. */
  Long nextTimer(long time) {
    return timers.isEmpty() || timers.first() > time ? null : timers.pollFirst();
  }

  @Override
  @SuppressWarnings("unchecked")
  public <T> ValueState<T> getValueState(String name, Encoder<T> encoder, TTLConfig ttl) {
    return (ValueState<T>) states.computeIfAbsent(name, n -> new Value<T>());
  }

  @Override
  public <T> ValueState<T> getValueState(String name, TTLConfig ttl, Encoder<T> encoder) {
    return getValueState(name, encoder, ttl);
  }

  @Override
  @SuppressWarnings("unchecked")
  public <K, V> MapState<K, V> getMapState(
      String name, Encoder<K> keys, Encoder<V> values, TTLConfig ttl) {
    return (MapState<K, V>) states.computeIfAbsent(name, n -> new Values<K, V>());
  }

  @Override
  public <K, V> MapState<K, V> getMapState(
      String name, TTLConfig ttl, Encoder<K> keys, Encoder<V> values) {
    return getMapState(name, keys, values, ttl);
  }

  @Override
  public <T> ListState<T> getListState(String name, Encoder<T> encoder, TTLConfig ttl) {
    throw new UnsupportedOperationException("no operator keeps lists");
  }

  @Override
  public <T> ListState<T> getListState(String name, TTLConfig ttl, Encoder<T> encoder) {
    return getListState(name, encoder, ttl);
  }

  @Override
  public QueryInfo getQueryInfo() {
    throw new UnsupportedOperationException("there is no streaming query");
  }

  @Override
  public void registerTimer(long time) {
    timers.add(time);
  }

  @Override
  public void deleteTimer(long time) {
    timers.remove(time);
  }

  @Override
  public Iterator<Object> listTimers() {
    return CollectionConverters.asScala(new ArrayList<Object>(timers).iterator());
  }

  @Override
  public void deleteIfExists(String name) {
    states.remove(name);
  }

  private static final class Value<T> implements ValueState<T>, Clearable {
    private static final long serialVersionUID = 1L;
    private transient T value;

    @Override
    public boolean exists() {
      return value != null;
    }

    @Override
    public T get() {
      return copy(value);
    }

    @Override
    public void update(T newValue) {
      value = newValue;
    }

    @Override
    public void clear() {
      value = null;
    }
  }

  private static final class Values<K, V> implements MapState<K, V>, Clearable {
    private static final long serialVersionUID = 1L;
    private final transient TreeMap<K, V> entries = new TreeMap<>(new KeyOrder<>());

    @Override
    public boolean exists() {
      return !entries.isEmpty();
    }

    @Override
    public V getValue(K key) {
      return copy(entries.get(key));
    }

    @Override
    public boolean containsKey(K key) {
      return entries.containsKey(key);
    }

    @Override
    public void updateValue(K key, V value) {
      entries.put(key, value);
    }

    @Override
    public Iterator<Tuple2<K, V>> iterator() {
      List<Tuple2<K, V>> found = new ArrayList<>();
      entries.forEach((key, value) -> found.add(new Tuple2<>(key, copy(value))));
      return CollectionConverters.asScala(found.iterator());
    }

    @Override
    public Iterator<K> keys() {
      return CollectionConverters.asScala(new ArrayList<>(entries.keySet()).iterator());
    }

    @Override
    public Iterator<V> values() {
      return CollectionConverters.asScala(new ArrayList<>(entries.values()).iterator());
    }

    @Override
    public void removeKey(K key) {
      entries.remove(key);
    }

    @Override
    public void clear() {
      entries.clear();
    }
  }

  /** Compares bytes by value, which Java compares by identity. */
  private static final class KeyOrder<K> implements Comparator<K> {
    @Override
    @SuppressWarnings("unchecked")
    public int compare(K one, K other) {
      if (one instanceof byte[] bytes) {
        return Arrays.compareUnsigned(bytes, (byte[]) other);
      }
      return ((Comparable<K>) one).compareTo(other);
    }
  }

  /** A copy, as from a store: changing a read value does not change the state. */
  @SuppressWarnings("unchecked")
  private static <T> T copy(T value) {
    return value instanceof byte[] bytes ? (T) bytes.clone() : value;
  }
}
