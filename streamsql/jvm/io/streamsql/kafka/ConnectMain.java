package io.streamsql.kafka;

import java.lang.reflect.InvocationTargetException;
import org.slf4j.LoggerFactory;

/**
 * The process of the embedded Kafka Connect worker: runs Connect in distributed mode, and shuts
 * down when standard input ends.
 *
 * <p>Argument: the worker's properties file. Connect is called by reflection, because its jars are
 * not on the class path of the build.
 */
public final class ConnectMain {
  private static final String CONNECT = "org.apache.kafka.connect.cli.ConnectDistributed";

  private ConnectMain() {}

  public static void main(String[] args) throws ReflectiveOperationException {
    ParentWatch.start();
    try {
      // Returns once the worker has stopped, which it also does after a fatal error.
      Class.forName(CONNECT).getMethod("main", String[].class).invoke(null, (Object) args);
    } catch (InvocationTargetException failed) {
      LoggerFactory.getLogger(ConnectMain.class).error("Connect has not started", failed);
    }
    System.exit(1);
  }
}
