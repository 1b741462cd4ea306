package io.streamsql.formats;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.io.Serializable;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Schemas by id from a registry's HTTP interface, each requested once per JVM.
 *
 * <p>An unknown id makes a record unreadable. A registry that does not answer fails the query,
 * which then restarts from its checkpoint.
 */
public final class SchemaRegistry implements Serializable {
  private static final long serialVersionUID = 1L;
  static final Duration TIMEOUT = Duration.ofSeconds(10);
  private static final int ATTEMPTS = 5;
  private static final long UNKNOWN_FOR_NANOS = Duration.ofSeconds(5).toNanos();

  /** A schema's text, or for Protobuf its descriptor in base64, and those of its references. */
  public record Schema(String type, String text, Map<String, String> references) {}

  private static final Map<String, Schema> KNOWN = new ConcurrentHashMap<>();
  private static final Map<String, Long> UNKNOWN = new ConcurrentHashMap<>();

  private final String url;
  private final RegistryLogin login;

  private SchemaRegistry(String url, RegistryLogin login) {
    this.url = url.endsWith("/") ? url.substring(0, url.length() - 1) : url;
    this.login = login;
  }

  /** Configured by {@code registry.url} and the properties of {@link RegistryLogin}. */
  public static SchemaRegistry of(Map<String, String> properties) {
    String url = properties.get("registry.url");
    return url == null ? null : new SchemaRegistry(url, RegistryLogin.of(properties));
  }

  /** The references of the writer's schema: {@code schema.references}, an object of texts. */
  public static Map<String, String> references(Map<String, String> properties) {
    Map<String, String> references = new LinkedHashMap<>();
    try {
      JsonNode found = Json.TREES.readTree(properties.getOrDefault("schema.references", "{}"));
      found.properties().forEach(e -> references.put(e.getKey(), e.getValue().asText()));
      return references;
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException("schema.references is not JSON", e);
    }
  }

  /** The schema of the id; {@code serialized} requests a Protobuf schema's descriptor. */
  public Schema byId(int id, boolean serialized) throws RecordException {
    String path = "/schemas/ids/" + id + (serialized ? "?format=serialized" : "");
    String name = url + path;
    Schema known = KNOWN.get(name);
    if (known != null) {
      return known;
    }
    Long since = UNKNOWN.get(name);
    if (since == null || System.nanoTime() - since > UNKNOWN_FOR_NANOS) {
      JsonNode found = get(path);
      if (found != null) {
        Map<String, String> references = new LinkedHashMap<>();
        collect(found, serialized, references);
        Schema schema = schema(found, references);
        KNOWN.put(name, schema);
        return schema;
      }
      UNKNOWN.put(name, System.nanoTime());
    }
    throw new RecordException("the schema registry has no schema with the id " + id);
  }

  private static Schema schema(JsonNode found, Map<String, String> references) {
    return new Schema(
        found.path("schemaType").asText("AVRO"), found.path("schema").asText(), references);
  }

  /** The texts of a schema's references, the innermost first. */
  private void collect(JsonNode schema, boolean serialized, Map<String, String> references) {
    for (JsonNode reference : schema.path("references")) {
      String name = reference.path("name").asText();
      if (references.containsKey(name)) {
        continue;
      }
      String subject =
          URLEncoder.encode(reference.path("subject").asText(), StandardCharsets.UTF_8);
      String path = "/subjects/" + subject + "/versions/" + reference.path("version").asInt();
      JsonNode found = get(path + (serialized ? "?format=serialized" : ""));
      if (found == null) {
        throw new IllegalStateException("the schema registry lacks the reference " + name);
      }
      collect(found, serialized, references);
      references.put(name, found.path("schema").asText());
    }
  }

  /** The answer, null for 404. */
  private JsonNode get(String path) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(url + path))
            .timeout(TIMEOUT)
            .header("Accept", "application/vnd.schemaregistry.v1+json, application/json");
    IOException last = null;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
      try {
        if (attempt > 0) {
          Thread.sleep(200L << attempt);
        }
        login.sign(request);
        HttpRequest signed = request.build();
        return answer(login.http().send(signed, HttpResponse.BodyHandlers.ofString()));
      } catch (IOException e) {
        last = e;
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new IllegalStateException("interrupted while asking the schema registry", e);
      }
    }
    throw new IllegalStateException("no answer from the schema registry at " + url, last);
  }

  private JsonNode answer(HttpResponse<String> response) throws IOException {
    if (response.statusCode() == 404) {
      return null;
    } else if (response.statusCode() >= 500) {
      throw new IOException("status " + response.statusCode());
    } else if (response.statusCode() != 200) {
      throw new IllegalStateException(
          "the schema registry at "
              + url
              + " answered "
              + response.statusCode()
              + ": "
              + response.body());
    }
    try {
      return Json.TREES.readTree(response.body());
    } catch (JsonProcessingException e) {
      throw new IllegalStateException(
          "the schema registry at " + url + " did not answer in JSON", e);
    }
  }
}
