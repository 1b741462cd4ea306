package io.streamsql.source;

import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The topics that one query reads, and whether there is anything to read.
 *
 * <p>A query goes on while any of its inputs moved in the last round (a batch, or a look for one).
 * Whether a round that read nothing has missed nothing is told by where the topics ended before it
 * and after it: only if these are the same is there nothing unread, and only then does the query
 * sleep. The offsets read say it less well: the end of a topic may be a transaction's marker, which
 * is never read. Since a whole round comes after the last record, what a batch owes to the one
 * before it (a watermark that moved) has been done.
 */
public final class QueryInputs {
  private static final Map<String, QueryInputs> QUERIES = new ConcurrentHashMap<>();

  private final String query;
  private final Ends ends;
  private final List<Input> inputs = new ArrayList<>();
  private volatile boolean asleep;

  QueryInputs(String query, Ends ends) {
    this.query = query;
    this.ends = ends;
  }

  /** Those of a query, made when its first input is. */
  static QueryInputs of(String query, Ends ends) {
    return QUERIES.computeIfAbsent(query, name -> new QueryInputs(name, ends));
  }

  /** Whether a query sleeps now, since its topics get no records. */
  public static boolean isAsleep(String query) {
    QueryInputs inputs = QUERIES.get(query);
    return inputs != null && inputs.asleep;
  }

  /** One input more, until it is closed. */
  synchronized Input reading(String topic) {
    Input input = new Input(topic);
    inputs.add(input);
    return input;
  }

  /** Returns at once if there may be something to read, else when there is. */
  private void await(Input beginning, String start) throws InterruptedException {
    Map<String, Map<Integer, Long>> known;
    synchronized (this) {
      if (!beginning.ended) {
        return; // It is asked again within one round.
      }
      known = isQuiet() ? ends.now(inputs.stream().map(input -> input.topic).toList()) : Map.of();
      if (!isSame(known)) {
        beginning.began(start, known.get(beginning.topic));
        return;
      }
    }
    asleep = true;
    try {
      ends.awaitOthers(known);
    } finally {
      asleep = false;
    }
    synchronized (this) {
      beginning.began(start, null);
    }
  }

  private boolean isQuiet() {
    return inputs.stream().allMatch(input -> input.ended && input.start.equals(input.end));
  }

  private boolean isSame(Map<String, Map<Integer, Long>> known) {
    return !known.isEmpty()
        && inputs.stream().allMatch(input -> known.get(input.topic).equals(input.ends));
  }

  private synchronized void remove(Input input) {
    inputs.remove(input);
    if (inputs.isEmpty()) {
      QUERIES.remove(query, this);
    }
  }

  /** One topic as the query reads it, in rounds that begin and end. */
  final class Input {
    private final String topic;
    private String start = "";
    private String end = "none yet";
    private boolean ended = true;

    /** Where the topic ended when the last round began; null if that was not looked up. */
    private Map<Integer, Long> ends;

    private Input(String topic) {
      this.topic = topic;
    }

    /** A round begins at these offsets; sleeps first if the query has nothing to read. */
    void begin(String offsets) {
      try {
        await(this, offsets);
      } catch (InterruptedException stopped) {
        throw new UncheckedIOException(new InterruptedIOException("stopped while it slept"));
      }
    }

    /** The round has ended at these offsets. */
    void end(String offsets) {
      synchronized (QueryInputs.this) {
        end = offsets;
        ended = true;
      }
    }

    /** The query reads it no longer. */
    void close() {
      remove(this);
    }

    private void began(String offsets, Map<Integer, Long> topicEnds) {
      start = offsets;
      ends = topicEnds;
      ended = false;
    }
  }
}
