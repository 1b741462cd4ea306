package io.streamsql.formats;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/**
 * The bearer token of {@code bearer.auth.credentials.source}: STATIC_TOKEN is {@code
 * bearer.auth.token}; OAUTHBEARER is a token of the OAuth 2.0 endpoint {@code
 * bearer.auth.issuer.endpoint.url} for {@code bearer.auth.client.id}, {@code
 * bearer.auth.client.secret} and {@code bearer.auth.scope}, renewed when a fifth of its lifetime is
 * left.
 */
final class BearerToken {
  private static final double USED = 0.8;

  private final Map<String, String> settings;
  private String token;
  private long expires;

  private BearerToken(Map<String, String> settings) {
    this.settings = settings;
  }

  /** Null if no source is configured. */
  static BearerToken of(Map<String, String> settings) {
    String source = settings.get("bearer.auth.credentials.source");
    if (source == null) {
      return null;
    }
    BearerToken made = new BearerToken(settings);
    switch (source) {
      case "STATIC_TOKEN" -> {
        made.token = settings.get("bearer.auth.token");
        made.expires = Long.MAX_VALUE;
      }
      case "OAUTHBEARER" -> made.expires = Long.MIN_VALUE;
      default -> throw new IllegalArgumentException("unknown source of bearer tokens: " + source);
    }
    return made;
  }

  synchronized String get() throws IOException, InterruptedException {
    if (System.currentTimeMillis() >= expires) {
      JsonNode granted = ask();
      token = granted.path("access_token").asText();
      double lives = granted.path("expires_in").asDouble(0) * USED;
      expires = System.currentTimeMillis() + Math.round(lives * 1000);
    }
    return token;
  }

  private JsonNode ask() throws IOException, InterruptedException {
    String endpoint = settings.get("bearer.auth.issuer.endpoint.url");
    String client =
        settings.get("bearer.auth.client.id") + ":" + settings.get("bearer.auth.client.secret");
    String form = "grant_type=client_credentials";
    String scope = settings.get("bearer.auth.scope");
    if (scope != null) {
      form += "&scope=" + URLEncoder.encode(scope, StandardCharsets.UTF_8);
    }
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(endpoint))
            .timeout(SchemaRegistry.TIMEOUT)
            .header("Authorization", RegistryLogin.basic(client))
            .header("Content-Type", "application/x-www-form-urlencoded")
            .header("Accept", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(form))
            .build();
    HttpResponse<String> response = Http.CLIENT.send(request, HttpResponse.BodyHandlers.ofString());
    int status = response.statusCode();
    if (status >= 500) {
      throw new IOException("status " + status + " from the token endpoint at " + endpoint);
    }
    JsonNode granted = status == 200 ? Json.TREES.readTree(response.body()) : null;
    if (granted == null || !granted.path("access_token").isTextual()) {
      String message = "no token for the schema registry from " + endpoint + ": it answered ";
      throw new IllegalStateException(message + status);
    }
    return granted;
  }

  /** Created for the first token; uses the JDK's trust store. */
  private static final class Http {
    static final HttpClient CLIENT =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(SchemaRegistry.TIMEOUT)
            .build();
  }
}
