package io.streamsql.functions;

import java.net.URI;
import java.net.URISyntaxException;
import java.util.function.Function;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Decoded parts of URLs, for {@code Expressions.invoke}: null for a missing part and for an invalid
 * URL.
 */
public final class Urls {
  private Urls() {}

  public static boolean isUrl(UTF8String text) {
    return uri(text) != null;
  }

  public static UTF8String fragment(UTF8String text) {
    return part(text, URI::getFragment);
  }

  public static UTF8String host(UTF8String text) {
    return part(text, URI::getHost);
  }

  public static UTF8String path(UTF8String text) {
    return part(text, URI::getPath);
  }

  public static UTF8String protocol(UTF8String text) {
    return part(text, URI::getScheme);
  }

  public static UTF8String query(UTF8String text) {
    return part(text, URI::getQuery);
  }

  public static Integer port(UTF8String text) {
    URI uri = uri(text);
    return uri == null || uri.getPort() < 0 ? null : uri.getPort();
  }

  /** The value of the first parameter of that name, empty if it has none. */
  public static UTF8String parameter(UTF8String text, UTF8String name) {
    URI uri = uri(text);
    if (uri == null || uri.getQuery() == null) {
      return null;
    }
    String wanted = name.toString();
    for (String parameter : uri.getQuery().split("&", -1)) {
      int equals = parameter.indexOf('=');
      if (parameter.substring(0, equals < 0 ? parameter.length() : equals).equals(wanted)) {
        return UTF8String.fromString(equals < 0 ? "" : parameter.substring(equals + 1));
      }
    }
    return null;
  }

  private static UTF8String part(UTF8String text, Function<URI, String> getter) {
    URI uri = uri(text);
    return uri == null ? null : UTF8String.fromString(getter.apply(uri));
  }

  private static URI uri(UTF8String text) {
    try {
      return new URI(text.toString());
    } catch (URISyntaxException e) {
      return null;
    }
  }
}
