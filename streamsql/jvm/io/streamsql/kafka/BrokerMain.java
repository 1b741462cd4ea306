package io.streamsql.kafka;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Comparator;
import java.util.Properties;
import java.util.stream.Stream;
import org.slf4j.LoggerFactory;

/**
 * The process of the embedded broker: formats new storage, runs Kafka, and shuts down when standard
 * input ends, which happens when the engine at its other end exits or crashes.
 *
 * <p>Arguments: the broker's properties file, the cluster id for new storage, and `attached` or
 * `detached` (which ignores standard input). Kafka is called by reflection, because its jars are
 * not on the class path of the build.
 */
public final class BrokerMain {
  private BrokerMain() {}

  public static void main(String[] args) throws Exception {
    Path config = Path.of(args[0]);
    if (args[2].equals("attached")) {
      ParentWatch.start();
    }
    Properties properties = new Properties();
    // By streams, as Kafka does: non-ASCII letters are escaped in the file.
    try (InputStream stream = Files.newInputStream(config)) {
      properties.load(stream);
    }
    Path storage = Path.of(properties.getProperty("log.dirs"));
    boolean restarted = Files.exists(storage);
    if (!restarted) {
      format(config, properties, storage, args[1]);
    }
    try {
      EmbeddedServer.run(properties, restarted);
    } catch (ReflectiveOperationException failed) {
      LoggerFactory.getLogger(BrokerMain.class).error("Kafka has not started", failed);
      System.exit(1);
    }
    System.exit(0);
  }

  /** Formats next to the storage and renames: a kill in between leaves no partial format. */
  private static void format(Path config, Properties properties, Path storage, String clusterId)
      throws Exception {
    Path fresh = storage.resolveSibling(storage.getFileName() + ".new");
    if (Files.exists(fresh)) {
      deleteTree(fresh);
    }
    Properties beside = new Properties();
    beside.putAll(properties);
    beside.setProperty("log.dirs", fresh.toString());
    Path freshConfig = config.resolveSibling(config.getFileName() + ".new");
    try (OutputStream stream = Files.newOutputStream(freshConfig)) {
      beside.store(stream, null);
    }
    ByteArrayOutputStream output = new ByteArrayOutputStream();
    Method execute =
        Class.forName("kafka.tools.StorageTool")
            .getMethod("execute", String[].class, PrintStream.class);
    int code;
    try (PrintStream stream = new PrintStream(output, true, StandardCharsets.UTF_8)) {
      code =
          (int)
              execute.invoke(
                  null,
                  new String[] {"format", "-t", clusterId, "-c", freshConfig.toString()},
                  stream);
    }
    if (code != 0) {
      System.err.println(output.toString(StandardCharsets.UTF_8));
      Runtime.getRuntime().halt(code);
    }
    Files.delete(freshConfig);
    Files.move(fresh, storage, StandardCopyOption.ATOMIC_MOVE);
  }

  private static void deleteTree(Path root) throws IOException {
    try (Stream<Path> paths = Files.walk(root)) {
      paths.sorted(Comparator.reverseOrder()).forEach(BrokerMain::delete);
    }
  }

  private static void delete(Path path) {
    try {
      Files.delete(path);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
