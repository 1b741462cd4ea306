package io.streamsql.databases;

import java.io.IOException;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Properties;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * References to secrets, in the syntax of Kafka's config providers: {@code ${env:NAME}} is an
 * environment variable, {@code ${file:/path:key}} a value of a properties file, read at each use.
 */
public final class References {
  private static final Pattern REFERENCE =
      Pattern.compile("\\$\\{(?:env:([^:{}]+)|file:([^{}]+):([^:{}]+))\\}");

  private References() {}

  /**
   * The text with its references resolved.
   *
   * @throws IOException that names the missing reference, and no value
   */
  public static String resolved(String text, Map<String, String> environment) throws IOException {
    Matcher matcher = REFERENCE.matcher(text);
    StringBuilder resolved = new StringBuilder();
    while (matcher.find()) {
      String value =
          matcher.group(1) != null
              ? variable(matcher.group(1), environment)
              : entry(matcher.group(2), matcher.group(3));
      matcher.appendReplacement(resolved, Matcher.quoteReplacement(value));
    }
    return matcher.appendTail(resolved).toString();
  }

  private static String variable(String name, Map<String, String> environment) throws IOException {
    String value = environment.get(name);
    if (value == null) {
      throw new IOException("the environment has no variable " + name);
    }
    return value;
  }

  private static String entry(String path, String key) throws IOException {
    Properties entries = new Properties();
    try (Reader reader = Files.newBufferedReader(Path.of(path), StandardCharsets.UTF_8)) {
      entries.load(reader);
    } catch (IOException | IllegalArgumentException e) {
      throw new IOException("the file " + path + " cannot be read", e);
    }
    String value = entries.getProperty(key);
    if (value == null) {
      throw new IOException("the file " + path + " has no entry " + key);
    }
    return value;
  }
}
