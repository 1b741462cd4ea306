package io.streamsql.formats;

import java.io.IOException;
import java.io.Serializable;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The login to a schema registry. Properties, all optional:
 *
 * <ul>
 *   <li>{@code registry.basic.auth.user.info}: name:password
 *   <li>{@code registry.ssl.ca.location}, {@code registry.ssl.certificate.location}, {@code
 *       registry.ssl.key.location}, {@code registry.ssl.key.password}: see {@link PemFiles}
 *   <li>{@code registry.bearer.auth.credentials.source}: see {@link BearerToken}
 *   <li>{@code registry.bearer.auth.logical.cluster}, {@code
 *       registry.bearer.auth.identity.pool.id}: sent with a bearer token
 * </ul>
 */
final class RegistryLogin implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final String PREFIX = "registry.";

  /** Created on the first request to a registry, once per JVM. */
  private record Opened(HttpClient http, BearerToken token) {}

  private static final Map<Map<String, String>, Opened> OPENED = new ConcurrentHashMap<>();

  private final Map<String, String> settings;

  private RegistryLogin(Map<String, String> settings) {
    this.settings = settings;
  }

  static RegistryLogin of(Map<String, String> properties) {
    Map<String, String> settings = new HashMap<>();
    properties.forEach(
        (name, value) -> {
          if (name.startsWith(PREFIX)) {
            settings.put(name.substring(PREFIX.length()), value);
          }
        });
    return new RegistryLogin(Map.copyOf(settings));
  }

  HttpClient http() {
    return opened().http();
  }

  /** Adds the credentials to the request; throws IOException if no token is available now. */
  void sign(HttpRequest.Builder request) throws IOException, InterruptedException {
    String user = settings.get("basic.auth.user.info");
    BearerToken token = opened().token();
    if (user != null) {
      request.setHeader("Authorization", basic(user));
    } else if (token != null) {
      request.setHeader("Authorization", "Bearer " + token.get());
      setHeader(request, "target-sr-cluster", "bearer.auth.logical.cluster");
      setHeader(request, "Confluent-Identity-Pool-Id", "bearer.auth.identity.pool.id");
    }
  }

  static String basic(String user) {
    byte[] bytes = user.getBytes(StandardCharsets.UTF_8);
    return "Basic " + Base64.getEncoder().encodeToString(bytes);
  }

  private void setHeader(HttpRequest.Builder request, String header, String name) {
    String value = settings.get(name);
    if (value != null) {
      request.setHeader(header, value);
    }
  }

  private Opened opened() {
    return OPENED.computeIfAbsent(
        settings,
        found -> {
          HttpClient.Builder http =
              HttpClient.newBuilder()
                  .version(HttpClient.Version.HTTP_1_1)
                  .connectTimeout(SchemaRegistry.TIMEOUT);
          PemFiles.context(found).ifPresent(http::sslContext);
          return new Opened(http.build(), BearerToken.of(found));
        });
  }
}
