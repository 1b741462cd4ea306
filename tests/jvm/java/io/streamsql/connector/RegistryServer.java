package io.streamsql.connector;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/** A registry's HTTP interface as far as codecs ask it: schemas by their ids. */
final class RegistryServer implements AutoCloseable {
  /** Codecs keep what a URL has answered: another server of the same port has another URL. */
  private static final AtomicInteger SERVERS = new AtomicInteger();

  private final String root = "/" + SERVERS.incrementAndGet();
  private final Map<String, String> answers = new ConcurrentHashMap<>();
  private final AtomicInteger asked = new AtomicInteger();
  private final HttpServer server;

  RegistryServer() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        root,
        exchange -> {
          asked.incrementAndGet();
          String answer = answers.get(exchange.getRequestURI().toString());
          byte[] body = (answer == null ? "{}" : answer).getBytes(StandardCharsets.UTF_8);
          exchange.sendResponseHeaders(answer == null ? 404 : 200, body.length);
          try (OutputStream out = exchange.getResponseBody()) {
            out.write(body);
          }
        });
    server.start();
  }

  /** Answers the path and query behind {@code /schemas/ids/} with JSON. */
  void answer(String id, String json) {
    answers.put(root + "/schemas/ids/" + id, json);
  }

  /** Answers another path. */
  void answerPath(String path, String json) {
    answers.put(root + path, json);
  }

  int asked() {
    return asked.get();
  }

  String url() {
    return "http://127.0.0.1:" + server.getAddress().getPort() + root;
  }

  @Override
  public void close() {
    server.stop(0);
  }
}
