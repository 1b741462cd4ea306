package io.streamsql.serving;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.Channels;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Serves prepared queries over a local socket, for callers that cannot wait for each call: requests
 * may be sent before earlier ones of the connection are answered, in order.
 *
 * <p>A request is its length (int), the number of a query (long) and what {@link PreparedQuery#get}
 * reads; its response the length (int), 0 (byte) and the results, 1 and an error text, or 2 where
 * the query has to be executed in the usual way. Responses to requests that arrived together are
 * sent together: with many callers, sending and waking receivers is most of a lookup's cost.
 */
public final class LookupServer {
  private static final int LARGEST = 16 << 20;
  private static final long RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
  private static final int BUFFERED = 64 << 10;

  private final ServerSocketChannel server;
  private final Map<Long, PreparedQuery> known;

  private LookupServer(ServerSocketChannel server, Map<Long, PreparedQuery> known) {
    this.server = server;
    this.known = known;
  }

  /**
   * Listens at the path of a Unix domain socket, which must not exist.
   *
   * @param known the queries by their numbers
   */
  public static LookupServer listen(String path, Map<Long, PreparedQuery> known)
      throws IOException {
    ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
    server.bind(UnixDomainSocketAddress.of(path));
    LookupServer listening = new LookupServer(server, known);
    daemon("lookups", listening::accept);
    return listening;
  }

  private static void daemon(String name, Runnable work) {
    Thread thread = new Thread(work, name);
    thread.setDaemon(true);
    thread.start();
  }

  private void accept() {
    while (server.isOpen()) {
      try {
        SocketChannel connection = server.accept();
        daemon("lookup connection", () -> serve(connection));
      } catch (IOException closed) {
        // It was closed, or there are too many open files for now.
        LockSupport.parkNanos(RETRY_NANOS);
      }
    }
  }

  private void serve(SocketChannel connection) {
    try (connection;
        DataInputStream in =
            new DataInputStream(
                new BufferedInputStream(Channels.newInputStream(connection), BUFFERED));
        DataOutputStream out =
            new DataOutputStream(
                new BufferedOutputStream(Channels.newOutputStream(connection), BUFFERED))) {
      while (true) {
        int length = in.readInt();
        if (length < 8 || length > LARGEST) {
          return;
        }
        long number = in.readLong();
        answer(out, number, in.readNBytes(length - 8));
        if (in.available() == 0) {
          out.flush();
        }
      }
    } catch (EOFException ended) {
      // the client is gone
    } catch (IOException broken) {
      // the client is gone, and sees the connection end
    }
  }

  private void answer(DataOutputStream out, long number, byte[] keys) throws IOException {
    int status = 0;
    byte[] content;
    try {
      PreparedQuery query = known.get(number);
      if (query == null) {
        throw new IllegalStateException("unknown lookup");
      }
      content = query.get(keys);
    } catch (PreparedQuery.NotNow e) {
      status = 2;
      content = new byte[0];
    } catch (Exception e) {
      status = 1;
      String text = e.getMessage() == null ? e.toString() : e.getMessage();
      content = text.getBytes(StandardCharsets.UTF_8);
    }
    out.writeInt(1 + content.length);
    out.writeByte(status);
    out.write(content);
  }

  /** Closes the socket. */
  public void close() throws IOException {
    server.close();
  }
}
