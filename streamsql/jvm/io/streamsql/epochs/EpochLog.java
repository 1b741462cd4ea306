package io.streamsql.epochs;

import java.util.Map;

/** Where epochs outlive the process, and where readers of views find them. */
public interface EpochLog {
  /** The number of the newest epoch; 0: there has been none. */
  long newest();

  /** Writes that an epoch begins. Returns when it is durable. */
  void begins(long epoch, long time, Map<String, Map<Integer, Long>> cut)
      throws InterruptedException;

  /** Writes that the topic of a view has a whole epoch, which began then, up to these ends. */
  void ends(String topic, long epoch, long time, Map<Integer, Long> ends);
}
