package io.streamsql.serving;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Takes lookups of keys over a socket of this machine, for callers that cannot wait for each call:
 * questions may be sent before earlier ones of the connection are answered, in their order.
 *
 * <p>A question is its length (int), a number that {@link #register} gave (long) and keys as {@link
 * KeyLookups#get} reads them; its answer the length (int), 0 (byte) and the results, or 1 and the
 * text of what went wrong.
 */
public final class LookupServer {
  private static final int LARGEST = 16 << 20;
  private static final Map<Long, KeyLookups> KNOWN = new ConcurrentHashMap<>();
  private static final AtomicLong NUMBERS = new AtomicLong();

  private final ServerSocketChannel server;

  private LookupServer(ServerSocketChannel server) {
    this.server = server;
  }

  /** Listens at the path of a Unix domain socket, which must not exist. */
  public static LookupServer listen(String path) throws IOException {
    ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
    server.bind(UnixDomainSocketAddress.of(path));
    LookupServer listening = new LookupServer(server);
    daemon("lookups", listening::accept);
    return listening;
  }

  /** The number by which lookups are asked for here. */
  public static long register(KeyLookups lookups) {
    long number = NUMBERS.incrementAndGet();
    KNOWN.put(number, lookups);
    return number;
  }

  /** Forgets a number. */
  public static void release(long number) {
    KNOWN.remove(number);
  }

  private static void daemon(String name, Runnable work) {
    Thread thread = new Thread(work, name);
    thread.setDaemon(true);
    thread.start();
  }

  private void accept() {
    try {
      while (true) {
        SocketChannel connection = server.accept();
        daemon("lookup connection", () -> serve(connection));
      }
    } catch (IOException closed) {
      // it was closed
    }
  }

  private static void serve(SocketChannel connection) {
    try (connection;
        DataInputStream in =
            new DataInputStream(new BufferedInputStream(Channels.newInputStream(connection)))) {
      while (true) {
        int length = in.readInt();
        if (length < 8 || length > LARGEST) {
          return;
        }
        long number = in.readLong();
        send(connection, answer(number, in.readNBytes(length - 8)));
      }
    } catch (EOFException ended) {
      // the other side is gone
    } catch (IOException broken) {
      // the same; whoever has asked sees the connection end
    }
  }

  private static ByteBuffer answer(long number, byte[] keys) {
    try {
      KeyLookups lookups = KNOWN.get(number);
      if (lookups == null) {
        throw new IllegalStateException("the lookup is not known any more");
      }
      return frame((byte) 0, lookups.get(keys));
    } catch (Exception e) {
      String text = e.getMessage() == null ? e.toString() : e.getMessage();
      return frame((byte) 1, text.getBytes(StandardCharsets.UTF_8));
    }
  }

  private static ByteBuffer frame(byte status, byte[] content) {
    ByteBuffer out = ByteBuffer.allocate(5 + content.length);
    return out.putInt(1 + content.length).put(status).put(content).flip();
  }

  private static void send(SocketChannel connection, ByteBuffer out) throws IOException {
    while (out.hasRemaining()) {
      connection.write(out);
    }
  }

  /** Takes no more connections. */
  public void close() throws IOException {
    server.close();
  }
}
