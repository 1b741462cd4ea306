package io.streamsql.delivery;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.streamsql.delivery.CommitToken.Reached;
import io.streamsql.delivery.Delivery.Replay;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Which rows of a batch that is run again are written. */
class ReplayGateTest {
  private static CommitToken token(long batch, boolean complete, Map<Integer, Reached> reached) {
    return new CommitToken(batch, complete, reached);
  }

  private static ReplayGate gate(Replay replay, long batch, CommitToken own, CommitToken... all) {
    return ReplayGate.of(replay, batch, own, List.of(all));
  }

  @Test
  void withoutATokenAllRowsPass() {
    for (Replay replay : Replay.values()) {
      ReplayGate gate = gate(replay, 3, null);
      assertFalse(gate.isClosed());
      assertTrue(gate.lets(0, 0));
    }
  }

  @Test
  void rowsUpToTheLastCommittedOneAreKnown() {
    CommitToken own = token(3, false, Map.of(1, new Reached(7, 2)));
    ReplayGate gate = gate(Replay.CAUSE, 3, own, own);
    assertFalse(gate.lets(1, 6));
    assertFalse(gate.lets(1, 7), "its first row");
    assertFalse(gate.lets(1, 7), "its second row");
    assertTrue(gate.lets(1, 7), "its third row was not committed");
    assertTrue(gate.lets(1, 8));
    assertTrue(gate.lets(2, 0), "of a partition of which nothing was committed");
  }

  @Test
  void whatWasCommittedOfAnEarlierBatchIsNotRunAgain() {
    CommitToken own = token(2, true, Map.of(1, new Reached(7, 1)));
    ReplayGate gate = gate(Replay.CAUSE, 3, own, own);
    assertFalse(gate.isClosed());
    assertTrue(gate.lets(1, 7));
  }

  @Test
  void aMicroBatchIsCommittedAsAWhole() {
    CommitToken own = token(3, true, Map.of());
    assertTrue(gate(Replay.KEY, 3, own, own).isClosed());
    assertTrue(gate(Replay.CAUSE, 3, own, own).isClosed());
    assertFalse(gate(Replay.KEY, 4, own, own).isClosed());
  }

  /** A task of a source has another number after a restart. */
  @Test
  void aSourcesRowsAreKnownWhicheverTaskWroteThem() {
    CommitToken first = token(3, true, Map.of(0, new Reached(9, 1)));
    CommitToken second = token(3, false, Map.of(1, new Reached(4, 1), 0, new Reached(5, 1)));
    ReplayGate gate = gate(Replay.SOURCE, 3, first, first, second);
    assertFalse(gate.isClosed());
    assertFalse(gate.lets(0, 9));
    assertFalse(gate.lets(1, 4));
    assertTrue(gate.lets(0, 10));
    assertTrue(gate.lets(1, 5));
  }

  @Test
  void aTokenIsReadAsItWasWritten() {
    CommitToken token = token(12, true, Map.of(0, new Reached(5, 1), 1 << 20, new Reached(6, 3)));
    assertEquals(token, CommitToken.of(token.toBytes()));
  }

  /** However often a task is interrupted between two rows, each row is written once, in order. */
  @Test
  void interruptedAnywhereEachRowIsWrittenOnce() {
    Random dice = new Random(1);
    for (int round = 0; round < 200; round++) {
      List<Integer> rowsOf = dice.ints(20, 0, 4).boxed().toList();
      List<String> written = new ArrayList<>();
      CommitToken committed = null;
      boolean done = false;
      while (!done) {
        ReplayGate gate = gate(Replay.CAUSE, 0, committed);
        List<String> open = new ArrayList<>();
        done = true;
        for (int offset = 0; done && offset < rowsOf.size(); offset++) {
          for (int row = 0; done && row < rowsOf.get(offset); row++) {
            if (gate.lets(0, offset)) {
              open.add(offset + "/" + row);
            }
            if (dice.nextInt(5) == 0) {
              committed = CommitToken.of(token(0, false, gate.reached()).toBytes());
              written.addAll(open);
              open.clear();
            }
            done = dice.nextInt(10) > 0;
          }
        }
        if (done) {
          written.addAll(open);
        }
      }
      List<String> wanted = new ArrayList<>();
      for (int offset = 0; offset < rowsOf.size(); offset++) {
        for (int row = 0; row < rowsOf.get(offset); row++) {
          wanted.add(offset + "/" + row);
        }
      }
      assertEquals(wanted, written);
    }
  }
}
