package io.streamsql.functions;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Functions on JSON texts, for {@code Expressions.invoke}. Numbers keep their digits. An invalid
 * text gives null.
 */
public final class JsonTexts {
  private static final ObjectMapper MAPPER =
      JsonMapper.builder()
          .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
          .disable(JsonNodeFeature.STRIP_TRAILING_BIGDECIMAL_ZEROES)
          .build();

  /** A step of a path after `$`: `.name`, `[0]`, `["name"]` or `['name']`. */
  private static final Pattern STEP =
      Pattern.compile("\\.([^.\\[\\]'\"]+)|\\[([-\\w]+)\\]|\\[(?:\"([^\"]*)\"|'([^']*)')\\]");

  private static final Memo<List<String>> PATHS = new Memo<>(JsonTexts::steps);

  private JsonTexts() {}

  /** The value at a path, a string without its quotes; null if there is none. */
  public static UTF8String extract(UTF8String text, UTF8String path) {
    try (JsonParser parser = MAPPER.createParser(text.toString())) {
      List<String> steps = PATHS.get(path.toString());
      return parser.nextToken() == null ? null : UTF8String.fromString(find(parser, steps, 0));
    } catch (IOException | IllegalArgumentException e) {
      return null;
    }
  }

  /** Whether the text is JSON and the path is valid, which {@link #extract} requires. */
  public static boolean canExtract(UTF8String text, UTF8String path) {
    try {
      PATHS.get(path.toString());
      return node(text) != null;
    } catch (IllegalArgumentException e) {
      return false;
    }
  }

  /** The elements of an array as JSON; null for other values. */
  public static ArrayData items(UTF8String text) {
    JsonNode node = node(text);
    if (node == null || !node.isArray()) {
      return null;
    }
    List<UTF8String> items = new ArrayList<>();
    node.forEach(item -> items.add(UTF8String.fromString(item.toString())));
    return new GenericArrayData(items.toArray());
  }

  /** The fields of an object, strings without quotes; null for other values. */
  public static MapData records(UTF8String text) {
    JsonNode node = node(text);
    if (node == null || !node.isObject()) {
      return null;
    }
    Map<UTF8String, UTF8String> records = new LinkedHashMap<>();
    node.properties()
        .forEach(
            field ->
                records.put(
                    UTF8String.fromString(field.getKey()),
                    UTF8String.fromString(characters(field.getValue()))));
    return new ArrayBasedMapData(
        new GenericArrayData(records.keySet().toArray()),
        new GenericArrayData(records.values().toArray()));
  }

  /** Merged objects; otherwise concatenated arrays, in which other values are an element each. */
  public static UTF8String concat(ArrayData texts) {
    List<JsonNode> nodes = new ArrayList<>();
    for (int i = 0; i < texts.numElements(); i++) {
      JsonNode node = texts.isNullAt(i) ? null : node(texts.getUTF8String(i));
      if (node == null) {
        return null;
      }
      nodes.add(node);
    }
    return UTF8String.fromString(concatenated(nodes).toString());
  }

  private static JsonNode concatenated(List<JsonNode> nodes) {
    if (nodes.stream().allMatch(JsonNode::isObject)) {
      ObjectNode merged = MAPPER.createObjectNode();
      nodes.forEach(node -> merged.setAll((ObjectNode) node));
      return merged;
    }
    ArrayNode joined = MAPPER.createArrayNode();
    for (JsonNode node : nodes) {
      if (node.isArray()) {
        joined.addAll((ArrayNode) node);
      } else {
        joined.add(node);
      }
    }
    return joined;
  }

  private static JsonNode node(UTF8String text) {
    try {
      JsonNode node = MAPPER.readTree(text.toString());
      return node.isMissingNode() ? null : node;
    } catch (JsonProcessingException e) {
      return null;
    }
  }

  private static String characters(JsonNode node) {
    return node.isTextual() ? node.textValue() : node.toString();
  }

  /** The text of a value from its first token to its last; a found value is read to its end. */
  private static String find(JsonParser parser, List<String> steps, int at) throws IOException {
    if (at == steps.size()) {
      return characters(MAPPER.readTree(parser));
    }
    JsonToken token = parser.currentToken();
    if (token == JsonToken.START_OBJECT) {
      return findField(parser, steps, at);
    }
    return token == JsonToken.START_ARRAY ? findElement(parser, steps, at) : null;
  }

  private static String findField(JsonParser parser, List<String> steps, int at)
      throws IOException {
    String found = null;
    while (parser.nextToken() != JsonToken.END_OBJECT) {
      boolean wanted = parser.currentName().equals(steps.get(at));
      parser.nextToken();
      if (wanted) {
        found = find(parser, steps, at + 1);
      } else {
        parser.skipChildren();
      }
    }
    return found;
  }

  private static String findElement(JsonParser parser, List<String> steps, int at)
      throws IOException {
    String found = null;
    for (int i = 0; parser.nextToken() != JsonToken.END_ARRAY; i++) {
      if (steps.get(at).equals(Integer.toString(i))) {
        found = find(parser, steps, at + 1);
      } else {
        parser.skipChildren();
      }
    }
    return found;
  }

  private static List<String> steps(String path) {
    if (!path.startsWith("$")) {
      throw new IllegalArgumentException("invalid JSON path: " + path);
    }
    List<String> steps = new ArrayList<>();
    Matcher step = STEP.matcher(path);
    for (int at = 1; at < path.length(); at = step.end()) {
      if (!step.region(at, path.length()).lookingAt()) {
        throw new IllegalArgumentException("invalid JSON path: " + path);
      }
      for (int group = 1; group <= step.groupCount(); group++) {
        if (step.group(group) != null) {
          steps.add(step.group(group));
        }
      }
    }
    return steps;
  }
}
