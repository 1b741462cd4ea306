package io.streamsql.state;

import java.util.Iterator;
import java.util.LinkedHashMap;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.streaming.operators.stateful.StreamingAggregationStateManager;
import org.apache.spark.sql.execution.streaming.state.StateStore;

/**
 * The groups that a task has changed in its batch, as buffers with objects: a write-back cache of
 * its state store. The least recently used ones are stored when the cache is too large.
 */
final class GroupCache {
  private final StreamingAggregationStateManager manager;
  private final GroupBuffers states;
  private final GroupBuffers results;
  private final StateStore store;
  private final long most;
  private final LinkedHashMap<UnsafeRow, Group> groups = new LinkedHashMap<>(16, 0.75f, true);
  private long bytes;
  private long stored;

  /**
   * @param states makes rows of the store
   * @param results makes rows of results, of the same buffers
   * @param most the maximum size in bytes while there are several groups, as serialized in the
   *     store; objects may take some times that
   */
  GroupCache(
      StreamingAggregationStateManager manager,
      StateStore store,
      GroupBuffers states,
      GroupBuffers results,
      long most) {
    this.manager = manager;
    this.store = store;
    this.states = states;
    this.results = results;
    this.most = most;
  }

  /** Merges a row of key and buffers into its group; returns the group's results. */
  UnsafeRow update(InternalRow row) {
    UnsafeRow key = states.key(row);
    Group group = groups.get(key);
    if (group == null) {
      makeRoom();
      group = load(key.copy());
    }
    states.merge(group.buffer, row);
    int size = ((UnsafeRow) row).getSizeInBytes();
    group.bytes += size;
    bytes += size;
    return results.output(group.key, group.buffer);
  }

  private Group load(UnsafeRow key) {
    Group group = new Group(key, states.create());
    UnsafeRow found = manager.get(store, key);
    if (found != null) {
      states.merge(group.buffer, found);
      group.bytes = found.getSizeInBytes();
      bytes += group.bytes;
    }
    groups.put(key, group);
    return group;
  }

  private void makeRoom() {
    Iterator<Group> oldest = groups.values().iterator();
    while (bytes > most && oldest.hasNext()) {
      store(oldest.next());
      oldest.remove();
    }
  }

  /** Writes all groups to the store and clears the cache. */
  void store() {
    groups.values().forEach(this::store);
    groups.clear();
  }

  private void store(Group group) {
    manager.put(store, states.output(group.key, group.buffer));
    bytes -= group.bytes;
    stored++;
  }

  /** The number of writes to the store. */
  long stored() {
    return stored;
  }

  /** A group and its approximate size. */
  private static final class Group {
    private final UnsafeRow key;
    private final InternalRow buffer;
    private long bytes;

    Group(UnsafeRow key, InternalRow buffer) {
      this.key = key;
      this.buffer = buffer;
    }
  }
}
