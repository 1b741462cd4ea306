package io.streamsql.serving;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.streamsql.epochs.EpochMarks;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class CommonEpochTest {
  @TempDir private Path folder;
  private final List<TableStore> stores = new ArrayList<>();
  private final CommonEpoch choice = new CommonEpoch();
  private volatile long begun;

  @AfterEach
  void close() {
    stores.forEach(TableStore::close);
  }

  /** A view that has done these epochs, which began at ten times their numbers. */
  private TableStore view(long... epochs) throws Exception {
    TableStore store = new TableStore(folder.resolve("" + stores.size()), -1, 600_000);
    stores.add(store);
    for (long epoch : epochs) {
      ends(store, epoch);
    }
    choice.add(store, () -> begun);
    return store;
  }

  private void ends(TableStore store, long epoch) {
    begun = Math.max(begun, epoch);
    store.at(new EpochMarks.Mark(epoch, 10 * epoch, Map.of()));
  }

  private static void soon(Runnable work) {
    Thread thread = new Thread(work);
    thread.setDaemon(true);
    thread.start();
  }

  @Test
  void ofViewsTheNewestThatAllHave() throws Exception {
    view(1, 2, 4, 6);
    view(2, 3, 4, 5);
    view(1, 2, 4, 5, 6);
    assertEquals(4, choice.newest(0));
    assertTrue(choice.has(2));
    assertFalse(choice.has(1));
    assertFalse(choice.has(5));
    assertEquals(
        "{\"first\":[2,20],\"last\":[4,40],\"before\":[2,20],\"after\":[4,40]}", choice.around(3));
  }

  @Test
  void aViewAloneIsReadBetweenTwoEpochsAsItIs() throws Exception {
    TableStore view = view(3);
    assertEquals(3, choice.newest(choice.current()));
    view.at(null);
    assertEquals(CommonEpoch.NONE, choice.newest(choice.current()));
  }

  @Test
  void aNewViewIsAwaited() throws Exception {
    TableStore first = view();
    assertEquals(CommonEpoch.NONE, choice.newest(0), "alone");
    view(1, 2);
    assertEquals(CommonEpoch.NONE, choice.newest());
    assertFalse(choice.has(2));
    soon(() -> ends(first, 2));
    assertEquals(2, choice.newest(0));
    assertEquals(2, choice.newest());
  }

  @Test
  void whatASessionHasWrittenIsNotBeforeTheNewestOfAny() throws Exception {
    TableStore slow = view(1, 2);
    view(1, 2, 3);
    assertEquals(2, choice.newest(0));
    soon(() -> ends(slow, 3));
    assertEquals(3, choice.newest(choice.current()));
  }

  @Test
  void asOfATimeTheNewestThatHadBegun() throws Exception {
    view(1, 2, 4, 6);
    view(1, 3, 4, 6);
    assertEquals(4, choice.asOf(40));
    assertEquals(4, choice.asOf(59));
    assertEquals(1, choice.asOf(39));
    assertEquals(6, choice.asOf(1_000));
    assertEquals(CommonEpoch.NONE, choice.asOf(9));
  }

  @Test
  void asOfATimeItWaitsForTheEpochsThatHaveBegunBefore() throws Exception {
    TableStore slow = view(1);
    view(1, 2);
    soon(() -> ends(slow, 2));
    assertEquals(2, choice.asOf(25));
    begun = 3;
    assertEquals(CommonEpoch.LATE, choice.asOf(35));
  }

  @Test
  void theRowsOfAnEpochAreThoseUntilTheNext() throws Exception {
    TableStore store = new TableStore(folder.resolve("short"), -1, 200);
    stores.add(store);
    choice.add(store, () -> begun);
    ends(store, 1);
    Thread.sleep(300);
    ends(store, 2);
    assertEquals(1, choice.asOf(15), "it was the newest one until now");
    Thread.sleep(300);
    ends(store, 3);
    assertEquals(CommonEpoch.NONE, choice.asOf(15));
    assertEquals(2, choice.asOf(25));
  }
}
