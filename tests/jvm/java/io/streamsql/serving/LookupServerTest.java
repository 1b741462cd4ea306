package io.streamsql.serving;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(30)
class LookupServerTest {
  private static final long NUMBER = 7;

  @TempDir private Path folder;
  private Path socket;
  private TableStore store;
  private LookupServer server;
  private final Map<Long, PreparedQuery> known = new ConcurrentHashMap<>();

  @BeforeEach
  void listen() throws Exception {
    // The path of a socket is short.
    socket = Files.createTempDirectory("lookups").resolve("socket");
    store = new TableStore(folder, -1, 0);
    KeyLookupsTest.put(store, KeyLookupsTest.bytes("a"), "1");
    KeyLookupsTest.put(store, KeyLookupsTest.bytes("b"), "2");
    server = LookupServer.listen(socket.toString(), known);
    known.put(NUMBER, KeyLookupsTest.lookups(store, true, 0));
  }

  @AfterEach
  void close() throws IOException {
    server.close();
    store.close();
    Files.deleteIfExists(socket);
    Files.delete(socket.getParent());
  }

  private SocketChannel connect() throws IOException {
    SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX);
    channel.connect(UnixDomainSocketAddress.of(socket));
    return channel;
  }

  private static void ask(SocketChannel channel, long of, String... keys) throws IOException {
    byte[] packed = KeyLookupsTest.asked(0, 0, keys);
    ByteBuffer out = ByteBuffer.allocate(12 + packed.length);
    out.putInt(8 + packed.length).putLong(of).put(packed).flip();
    while (out.hasRemaining()) {
      channel.write(out);
    }
  }

  private static String answer(DataInputStream in) throws IOException {
    int length = in.readInt();
    byte status = in.readByte();
    byte[] content = in.readNBytes(length - 1);
    return status == 0
        ? KeyLookupsTest.results(content).toString()
        : new String(content, StandardCharsets.UTF_8);
  }

  @Test
  void questionsAreAnsweredInTheirOrder() throws Exception {
    try (SocketChannel channel = connect();
        DataInputStream in = new DataInputStream(Channels.newInputStream(channel))) {
      for (int i = 0; i < 100; i++) {
        ask(channel, NUMBER, "a", "b");
        ask(channel, NUMBER, "b");
        ask(channel, NUMBER, "none");
      }
      for (int i = 0; i < 100; i++) {
        assertEquals("[1, 2]", answer(in));
        assertEquals("[2]", answer(in));
        assertEquals("[]", answer(in));
      }
    }
  }

  @Test
  void connectionsDoNotWaitForEachOther() throws Exception {
    try (SocketChannel idle = connect();
        SocketChannel channel = connect();
        DataInputStream in = new DataInputStream(Channels.newInputStream(channel))) {
      idle.write(ByteBuffer.allocate(2));
      ask(channel, NUMBER, "a");
      assertEquals("[1]", answer(in));
    }
  }

  @Test
  void anErrorIsAnAnswerAndTheConnectionContinues() throws Exception {
    long incomplete = NUMBER + 1;
    known.put(incomplete, KeyLookupsTest.lookups(store, false, 0));
    try (SocketChannel channel = connect();
        DataInputStream in = new DataInputStream(Channels.newInputStream(channel))) {
      ask(channel, incomplete, "a");
      assertEquals("the table is still being read", answer(in));
      known.remove(incomplete);
      ask(channel, incomplete, "a");
      assertEquals("unknown lookup", answer(in));
      ask(channel, NUMBER, "a");
      assertEquals("[1]", answer(in));
    }
  }

  @Test
  void whatIsNoQuestionEndsTheConnection() throws Exception {
    for (int length : List.of(-1, 7, Integer.MAX_VALUE)) {
      try (SocketChannel channel = connect();
          DataInputStream in = new DataInputStream(Channels.newInputStream(channel))) {
        channel.write(ByteBuffer.allocate(4).putInt(length).flip());
        assertThrows(EOFException.class, () -> answer(in));
      }
    }
  }

  /** Lengths that do not fit: of the keys, and of the bounds before them. */
  @Test
  void keysThatAreCutAreAnError() throws Exception {
    try (SocketChannel channel = connect();
        DataInputStream in = new DataInputStream(Channels.newInputStream(channel))) {
      channel.write(ByteBuffer.allocate(12).putInt(8).putLong(NUMBER).flip());
      assertEquals("java.nio.BufferUnderflowException", answer(in));
      ByteBuffer cut = ByteBuffer.allocate(32).putInt(28).putLong(NUMBER).putLong(0).putLong(0);
      channel.write(cut.putInt(5).flip());
      assertEquals("java.nio.BufferUnderflowException", answer(in));
      ask(channel, NUMBER, "a");
      assertEquals("[1]", answer(in));
    }
  }
}
