import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.RestOptions;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;

/**
 * A Flink cluster in one process that runs scripts, one after the other.
 *
 * <p>Arguments: the parallelism, then settings, NAME=VALUE. Each line of the input is the path of a
 * script of statements, each ended by a line ";", the last one an INSERT. What it says begins with
 * "@": READY when the cluster is up; of each script SUBMITTING before its INSERT, then FINISHED, or
 * FAILED with the reason.
 */
public final class NexmarkFlink {
  private static final String END = "\n;\n";

  public static void main(String[] arguments) throws Exception {
    int parallelism = Integer.parseInt(arguments[0]);
    Configuration settings = new Configuration();
    for (int i = 1; i < arguments.length; i++) {
      int end = arguments[i].indexOf('=');
      settings.setString(arguments[i].substring(0, end), arguments[i].substring(end + 1));
    }
    settings.set(RestOptions.BIND_PORT, "0");
    MiniCluster cluster =
        new MiniCluster(
            new MiniClusterConfiguration.Builder()
                .setConfiguration(settings)
                .setNumTaskManagers(1)
                .setNumSlotsPerTaskManager(parallelism)
                .build());
    cluster.start();
    URI address = cluster.getRestAddress().get();
    say("READY");
    BufferedReader lines =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      StreamExecutionEnvironment environment =
          StreamExecutionEnvironment.createRemoteEnvironment(
              address.getHost(), address.getPort(), settings);
      environment.setParallelism(parallelism);
      try {
        run(StreamTableEnvironment.create(environment), Path.of(line));
        say("FINISHED");
      } catch (Exception error) {
        error.printStackTrace();
        say("FAILED " + innermost(error));
      }
    }
    cluster.close();
  }

  private static void run(StreamTableEnvironment tables, Path script) throws Exception {
    List<String> statements = new ArrayList<>(List.of(Files.readString(script).split(END)));
    String insert = statements.remove(statements.size() - 1);
    for (String statement : statements) {
      tables.executeSql(statement);
    }
    say("SUBMITTING");
    JobClient job = tables.executeSql(insert).getJobClient().get();
    job.getJobExecutionResult().get();
  }

  private static String innermost(Throwable error) {
    Throwable cause = error;
    while (cause.getCause() != null) {
      cause = cause.getCause();
    }
    return String.valueOf(cause).replaceAll("\\s+", " ");
  }

  private static void say(String what) {
    System.out.println("@" + what);
    System.out.flush();
  }

  private NexmarkFlink() {}
}
