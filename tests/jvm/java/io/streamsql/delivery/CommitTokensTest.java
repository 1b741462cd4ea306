package io.streamsql.delivery;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.streamsql.delivery.Delivery.Replay;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Whose tokens and transactions are whose, and what is made of those of a later version. */
class CommitTokensTest {
  private static final byte[] KNOWN = new CommitToken(7, true, Map.of()).toBytes();
  private static final byte[] LATER =
      "{\"version\":2,\"batch\":7,\"spans\":[]}".getBytes(StandardCharsets.UTF_8);

  @Test
  void tokensGoByTheNumbersOfTheirTasks() {
    assertEquals(7, CommitTokens.parsed(Map.of("0", KNOWN, "11", KNOWN)).get(11L).batch());
  }

  @Test
  void tokensOfALaterVersionAreRefused() {
    Exception refused =
        assertThrows(
            IllegalStateException.class, () -> CommitTokens.parsed(Map.of("0", KNOWN, "1", LATER)));
    assertTrue(refused.getMessage().contains("version 2"), refused.getMessage());
    assertTrue(refused.getMessage().contains("Nothing has been changed"), refused.getMessage());
  }

  @Test
  void aTransactionalIdTellsItsCheckpoint() {
    Delivery delivery = new Delivery("CSAS_X_1.y", "tokens", 100, Replay.SOURCE);
    TaskIdentity task = new TaskIdentity("6f1c-22", "run", 3, 0, false);
    String id = delivery.transactionalId(task);
    assertEquals("6f1c-22", Delivery.checkpointOf(id));
    assertEquals("6f1c-22", Delivery.checkpointOf(Delivery.secondId(id)));
    for (String other : new String[] {"", "streamsql-service", "streamsql.x", "app.6f1c-22.3"}) {
      assertEquals("", Delivery.checkpointOf(other), other);
    }
  }
}
