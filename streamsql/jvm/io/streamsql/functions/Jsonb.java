package io.streamsql.functions;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import java.util.function.UnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * JSONB, a JSON text in PostgreSQL's form, and its functions, for {@code StandardFunctions}: keys
 * are in the order of their length and bytes, of equal ones the last counts, and numbers keep their
 * digits. What is no JSON, or no array or object where one is needed, is an error if the call is
 * {@code strict}, and otherwise has no value.
 */
public final class Jsonb {
  private static final ObjectMapper MAPPER =
      JsonMapper.builder()
          .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .disable(JsonNodeFeature.STRIP_TRAILING_BIGDECIMAL_ZEROES)
          .build();

  private static final Comparator<String> KEYS =
      Comparator.comparing((String key) -> bytes(key).length)
          .thenComparing(Jsonb::bytes, Arrays::compareUnsigned);

  /** A step of a path: `['name']` or `[0]`. */
  private static final Pattern STEP = Pattern.compile("\\['([^']*)'\\]|\\[(-?\\d+)\\]");

  private static final Memo<List<String[]>> PATHS = new Memo<>(Jsonb::steps);

  private Jsonb() {}

  /** The value of a JSON text. */
  public static UTF8String canonical(UTF8String text, boolean strict) {
    return changed(text, strict, node -> node);
  }

  /** The value at a path such as `$['a'][0]`. */
  public static UTF8String at(UTF8String json, UTF8String path, boolean strict) {
    return changed(json, strict, node -> found(node, path));
  }

  /** The value of a key of an object, or the element of an array at a place from 0 on. */
  public static UTF8String element(UTF8String json, UTF8String step, boolean strict) {
    return changed(json, strict, node -> child(node, step.toString()));
  }

  /** The text at a path: a string without its quotes, and null for JSON's null. */
  public static UTF8String textAt(UTF8String json, UTF8String path, boolean strict) {
    JsonNode node = node(json, strict);
    JsonNode found = node == null ? null : found(node, path);
    if (found == null || found.isNull()) {
      return null;
    }
    return UTF8String.fromString(found.isTextual() ? found.textValue() : written(found, ""));
  }

  /** `json @> part`. */
  public static Boolean contains(UTF8String json, UTF8String part, boolean strict) {
    JsonNode whole = node(json, strict);
    JsonNode inner = node(part, strict);
    if (whole == null || inner == null) {
      return null;
    }
    // An array contains a scalar, too.
    return contains(whole, inner) || inner.isValueNode() && whole.isArray() && has(whole, inner);
  }

  /** `json ? key`: as a key of an object, a text of an array, or the text itself. */
  public static Boolean exists(UTF8String json, UTF8String key, boolean strict) {
    JsonNode node = node(json, strict);
    if (node == null) {
      return null;
    }
    JsonNode text = JsonNodeFactory.instance.textNode(key.toString());
    return node.isObject() ? node.has(key.toString()) : node.equals(text) || has(node, text);
  }

  /** `left || right`. */
  public static UTF8String concat(UTF8String left, UTF8String right, boolean strict) {
    JsonNode b = node(right, strict);
    if (b == null) {
      return null;
    }
    return changed(
        left,
        strict,
        a -> {
          if (a instanceof ObjectNode object && b instanceof ObjectNode other) {
            return object.setAll(other);
          }
          ArrayNode all = JsonNodeFactory.instance.arrayNode();
          for (JsonNode side : List.of(a, b)) {
            all.addAll(side instanceof ArrayNode array ? list(array) : List.of(side));
          }
          return all;
        });
  }

  /** `json - key`, the key of an object or a text of an array. */
  public static UTF8String delete(UTF8String json, UTF8String key, boolean strict) {
    return changed(
        json,
        strict,
        node -> {
          if (node instanceof ObjectNode object) {
            return object.without(List.of(key.toString()));
          }
          ArrayNode kept = JsonNodeFactory.instance.arrayNode();
          kept.addAll(list(array(node, strict)));
          if (!node.isArray()) {
            return null;
          }
          kept.removeIf(item -> item.isTextual() && item.textValue().equals(key.toString()));
          return kept;
        });
  }

  /** `json #- path`, and with a value JSONB_SET, which may add what is not there. */
  public static UTF8String set(
      UTF8String json, ArrayData path, UTF8String value, boolean adds, boolean strict) {
    boolean deletes = value.numBytes() == 0;
    JsonNode by = deletes ? null : node(value, strict);
    return by == null && !deletes
        ? null
        : changed(
            json,
            strict,
            node -> {
              JsonNode above = above(node, path);
              int last = path.numElements() - 1;
              if (last >= 0 && above != null) {
                set(above, path.getUTF8String(last).toString(), by, adds);
              }
              return node;
            });
  }

  /** JSONB_INSERT: before or after an element of an array, or as a key that is not there. */
  public static UTF8String insert(
      UTF8String json, ArrayData path, UTF8String value, boolean isAfter, boolean strict) {
    JsonNode by = node(value, strict);
    return by == null
        ? null
        : changed(
            json,
            strict,
            node -> {
              int last = path.numElements() - 1;
              JsonNode above = above(node, path);
              String step = last < 0 ? "" : path.getUTF8String(last).toString();
              if (above instanceof ArrayNode array) {
                int at = index(array, step) + (isAfter ? 1 : 0);
                array.insert(Math.min(Math.max(at, 0), array.size()), by);
              } else if (above instanceof ObjectNode object && last >= 0) {
                fail(strict && object.has(step), "cannot replace existing key");
                object.putIfAbsent(step, by);
              }
              return node;
            });
  }

  /** JSONB_STRIP_NULLS(json). */
  public static UTF8String stripNulls(UTF8String json, boolean strict) {
    return changed(json, strict, Jsonb::withoutNulls);
  }

  /** JSONB_PRETTY(json). */
  public static UTF8String pretty(UTF8String json, boolean strict) {
    JsonNode node = node(json, strict);
    return node == null ? null : UTF8String.fromString(written(node, "\n"));
  }

  /** The elements of an array. */
  public static ArrayData elements(UTF8String json, boolean strict) {
    JsonNode node = node(json, strict);
    List<Object> items = new ArrayList<>();
    array(node, strict).forEach(item -> items.add(UTF8String.fromString(written(item, ""))));
    return node == null || !node.isArray() ? null : new GenericArrayData(items.toArray());
  }

  /** The keys and values of an object. */
  public static ArrayData entries(UTF8String json, boolean strict) {
    JsonNode node = node(json, strict);
    if (node == null || !node.isObject()) {
      fail(node != null && strict, "cannot call jsonb_each on a non-object");
      return null;
    }
    List<Object> rows = new ArrayList<>();
    for (String key : keys(node)) {
      UTF8String value = UTF8String.fromString(written(node.get(key), ""));
      rows.add(new GenericInternalRow(new Object[] {UTF8String.fromString(key), value}));
    }
    return new GenericArrayData(rows.toArray());
  }

  private static UTF8String changed(
      UTF8String json, boolean strict, UnaryOperator<JsonNode> change) {
    JsonNode node = node(json, strict);
    JsonNode made = node == null ? null : change.apply(node);
    return made == null ? null : UTF8String.fromString(written(made, ""));
  }

  private static JsonNode node(UTF8String text, boolean strict) {
    try {
      JsonNode node = MAPPER.readTree(text.toString());
      if (!node.isMissingNode()) {
        return node;
      }
    } catch (IOException e) {
      // Below.
    }
    fail(strict, "invalid input syntax for type json: \"" + text + "\"");
    return null;
  }

  private static void fail(boolean strict, String message) {
    if (strict) {
      throw new IllegalArgumentException(message);
    }
  }

  private static List<String[]> steps(String path) {
    Matcher step = STEP.matcher(path);
    return step.results().map(r -> new String[] {r.group(1), r.group(2)}).toList();
  }

  private static JsonNode found(JsonNode node, UTF8String path) {
    JsonNode at = node;
    for (String[] step : PATHS.get(path.toString())) {
      if (at != null) {
        at = step[0] != null ? at.get(step[0]) : at.get(index(at, step[1]));
      }
    }
    return at;
  }

  /** A place in an array, which counts from the end below zero. */
  private static int index(JsonNode array, String text) {
    if (!text.matches("-?\\d{1,9}")) {
      return -1;
    }
    int index = Integer.parseInt(text);
    return index < 0 ? array.size() + index : index;
  }

  private static Iterable<JsonNode> array(JsonNode node, boolean strict) {
    boolean is = node instanceof ArrayNode;
    fail(strict && !is, "cannot take elements of a JSON value that is no array");
    return is ? node : List.of();
  }

  private static List<JsonNode> list(Iterable<JsonNode> items) {
    List<JsonNode> all = new ArrayList<>();
    items.forEach(all::add);
    return all;
  }

  private static boolean contains(JsonNode whole, JsonNode part) {
    if (whole.isObject() && part.isObject()) {
      return part.properties().stream()
          .allMatch(e -> whole.has(e.getKey()) && contains(whole.get(e.getKey()), e.getValue()));
    }
    if (whole.isArray() && part.isArray()) {
      return list(part).stream().allMatch(item -> has(whole, item));
    }
    return whole.isNumber() && part.isNumber()
        ? whole.decimalValue().compareTo(part.decimalValue()) == 0
        : whole.isValueNode() && whole.equals(part);
  }

  private static boolean has(JsonNode array, JsonNode part) {
    return list(array).stream().anyMatch(item -> contains(item, part));
  }

  /** What holds the last step of a path; null if there is none. */
  private static JsonNode above(JsonNode node, ArrayData path) {
    JsonNode above = node;
    for (int i = 0; i < path.numElements() - 1 && above != null; i++) {
      above = child(above, path.getUTF8String(i).toString());
    }
    return above;
  }

  private static JsonNode child(JsonNode node, String step) {
    return node.isArray() ? node.get(index(node, step)) : node.get(step);
  }

  private static void set(JsonNode above, String step, JsonNode by, boolean adds) {
    if (above instanceof ObjectNode object && by == null) {
      object.remove(step);
    } else if (above instanceof ObjectNode object && (adds || object.has(step))) {
      object.set(step, by);
    } else if (above instanceof ArrayNode array) {
      int index = index(array, step);
      if (by == null) {
        array.remove(index);
      } else if (index >= 0 && index < array.size()) {
        array.set(index, by);
      } else if (adds) {
        array.insert(index < 0 ? 0 : array.size(), by);
      }
    }
  }

  private static JsonNode withoutNulls(JsonNode node) {
    if (node instanceof ObjectNode object) {
      object.properties().removeIf(field -> field.getValue().isNull());
    }
    node.forEach(Jsonb::withoutNulls);
    return node;
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static List<String> keys(JsonNode object) {
    return object.properties().stream().map(Map.Entry::getKey).sorted(KEYS).toList();
  }

  /** The text, each part of which begins with `line`; in one line if that is empty. */
  private static String written(JsonNode node, String line) {
    String inner = line.isEmpty() ? "" : line + "    ";
    String separator = line.isEmpty() ? ", " : "," + inner;
    if (node.isObject()) {
      StringJoiner parts = new StringJoiner(separator, "{" + inner, line + "}");
      keys(node).forEach(key -> parts.add(quoted(key) + ": " + written(node.get(key), inner)));
      return parts.toString();
    }
    if (node.isArray()) {
      StringJoiner parts = new StringJoiner(separator, "[" + inner, line + "]");
      node.forEach(item -> parts.add(written(item, inner)));
      return parts.toString();
    }
    return node.isNumber() ? node.decimalValue().toPlainString() : node.toString();
  }

  private static String quoted(String text) {
    return JsonNodeFactory.instance.textNode(text).toString();
  }
}
