package io.streamsql.functions;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * PostgreSQL's functions of regular expressions, for {@code StandardFunctions}: places count from
 * 1, and the flags are i, g, n and those that change nothing here. An invalid pattern is an error
 * if the call is {@code strict}, and otherwise has no value.
 */
public final class Matches {
  private static final Memo<Pattern> PATTERNS = new Memo<>(Matches::compiled);

  private static final Pattern REFERENCE = Pattern.compile("\\\\[&\\\\0-9]");
  private static final Pattern ESCAPE = Pattern.compile("\\\\.", Pattern.DOTALL);
  private static final Map<String, String> ESCAPES =
      Map.of("\\y", "\\b", "\\Y", "\\B", "\\m", "\\b(?=\\w)", "\\M", "\\b(?<=\\w)", "\\Z", "\\z");

  private Matches() {}

  /** The groups of the first match, or of all with the flag g; the match where it has none. */
  public static ArrayData groups(
      UTF8String text, UTF8String pattern, UTF8String flags, boolean strict) {
    Matcher matcher = matcher(text, pattern, flags, strict);
    if (matcher == null) {
      return null;
    }
    List<Object> rows = new ArrayList<>();
    while (matcher.find() && (rows.isEmpty() || has(flags, 'g'))) {
      int first = matcher.groupCount() == 0 ? 0 : 1;
      Object[] groups = new Object[Math.max(1, matcher.groupCount())];
      for (int i = 0; i < groups.length; i++) {
        groups[i] = UTF8String.fromString(matcher.group(first + i));
      }
      rows.add(new GenericArrayData(groups));
    }
    return new GenericArrayData(rows.toArray());
  }

  /** How many matches there are from a place on. */
  public static Integer count(
      UTF8String text, UTF8String pattern, int start, UTF8String flags, boolean strict) {
    Matcher matcher = matcher(text, pattern, flags, strict);
    int count = 0;
    boolean finds = matcher != null && find(matcher, offset(text, start));
    for (; finds; finds = matcher.find()) {
      count++;
    }
    return matcher == null ? null : (Integer) count;
  }

  /** Where the n-th match or a group of it begins, or where what follows does; 0 without one. */
  public static Integer place(
      UTF8String text,
      UTF8String pattern,
      int start,
      int n,
      int end,
      UTF8String flags,
      int group,
      boolean strict) {
    Matcher matcher = matcher(text, pattern, flags, strict);
    if (matcher == null) {
      return null;
    }
    MatchResult found = nth(matcher, offset(text, start), n, group);
    int at = found == null ? -1 : end > 0 ? found.end(group) : found.start(group);
    return at < 0 ? 0 : text.toString().codePointCount(0, at) + 1;
  }

  /** The n-th match, or a group of it. */
  public static UTF8String part(
      UTF8String text,
      UTF8String pattern,
      int start,
      int n,
      UTF8String flags,
      int group,
      boolean strict) {
    Matcher matcher = matcher(text, pattern, flags, strict);
    MatchResult found = matcher == null ? null : nth(matcher, offset(text, start), n, group);
    return found == null ? null : UTF8String.fromString(found.group(group));
  }

  /** The text with its n-th match from a place on replaced, or all of them if that is 0. */
  public static UTF8String replace(
      UTF8String text,
      UTF8String pattern,
      UTF8String replacement,
      int start,
      int n,
      UTF8String flags,
      boolean strict) {
    Matcher matcher = matcher(text, pattern, flags, strict);
    if (matcher == null) {
      return null;
    }
    int wanted = has(flags, 'g') ? 0 : n;
    String by = replacement.toString();
    StringBuilder made = new StringBuilder();
    boolean finds = find(matcher, offset(text, start));
    for (int i = 1; finds && (wanted == 0 || i <= wanted); i++) {
      if (wanted == 0 || i == wanted) {
        matcher.appendReplacement(made, "");
        append(made, by, matcher);
      }
      finds = matcher.find();
    }
    return UTF8String.fromString(matcher.appendTail(made).toString());
  }

  /** The replacement, in which `\1` is a group and `\&` the match. */
  private static void append(StringBuilder made, String by, MatchResult match) {
    Matcher part = REFERENCE.matcher(by);
    int from = 0;
    while (part.find()) {
      made.append(by, from, part.start());
      from = part.end();
      char named = by.charAt(part.start() + 1);
      int group = named == '&' ? 0 : Character.digit(named, 10);
      if (named == '\\') {
        made.append(named);
      } else if (group <= match.groupCount() && match.group(group) != null) {
        made.append(match.group(group));
      }
    }
    made.append(by, from, by.length());
  }

  private static MatchResult nth(Matcher matcher, int offset, int n, int group) {
    boolean finds = group <= matcher.groupCount() && find(matcher, offset);
    for (int i = 1; finds && i < n; i++) {
      finds = matcher.find();
    }
    return finds ? matcher : null;
  }

  private static boolean find(Matcher matcher, int offset) {
    return offset >= 0 && matcher.find(offset);
  }

  /** Of the character at a place; -1 behind the end. */
  private static int offset(UTF8String text, int place) {
    String whole = text.toString();
    int characters = whole.codePointCount(0, whole.length());
    return place - 1 > characters ? -1 : whole.offsetByCodePoints(0, Math.max(place - 1, 0));
  }

  private static boolean has(UTF8String flags, char flag) {
    return flags.toString().indexOf(flag) >= 0;
  }

  private static Matcher matcher(
      UTF8String text, UTF8String pattern, UTF8String flags, boolean strict) {
    String mode = (has(flags, 'i') ? "i" : "") + (has(flags, 'n') ? "m" : "s");
    try {
      return PATTERNS.get("(?" + mode + ")" + pattern).matcher(text.toString());
    } catch (PatternSyntaxException e) {
      if (strict) {
        String message = "invalid regular expression: " + e.getDescription();
        throw new IllegalArgumentException(message, e);
      }
      return null;
    }
  }

  /** PostgreSQL's escapes of the ends of words are other ones in Java. */
  private static Pattern compiled(String pattern) {
    String meant =
        ESCAPE
            .matcher(pattern)
            .replaceAll(
                escape ->
                    Matcher.quoteReplacement(ESCAPES.getOrDefault(escape.group(), escape.group())));
    return Pattern.compile(meant);
  }
}
