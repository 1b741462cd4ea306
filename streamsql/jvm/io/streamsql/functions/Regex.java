package io.streamsql.functions;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Functions with regular expressions, for {@code Expressions.invoke}. An invalid pattern, or one
 * that lacks the group that is referred to, gives null.
 */
public final class Regex {
  private static final Memo<Pattern> PATTERNS = new Memo<>(Pattern::compile);

  private Regex() {}

  public static boolean isPattern(UTF8String pattern) {
    return matcher(pattern, UTF8String.EMPTY_UTF8) != null;
  }

  public static UTF8String replace(UTF8String text, UTF8String pattern, UTF8String replacement) {
    Matcher matcher = matcher(pattern, text);
    try {
      return matcher == null ? null : text(matcher.replaceAll(replacement.toString()));
    } catch (IllegalArgumentException | IndexOutOfBoundsException e) {
      return null;
    }
  }

  /** All parts between matches, empty ones too. */
  public static ArrayData split(UTF8String text, UTF8String pattern) {
    Matcher matcher = matcher(pattern, text);
    return matcher == null ? null : array(List.of(matcher.pattern().split(text.toString(), -1)));
  }

  /** A group of the first match; null without a match. */
  public static UTF8String extract(UTF8String pattern, UTF8String text, int group) {
    Matcher matcher = matcher(pattern, text);
    if (matcher == null || !hasGroup(matcher, group) || !matcher.find()) {
      return null;
    }
    return text(matcher.group(group));
  }

  /** A group of every match. */
  public static ArrayData extractAll(UTF8String pattern, UTF8String text, int group) {
    Matcher matcher = matcher(pattern, text);
    if (matcher == null || !hasGroup(matcher, group)) {
      return null;
    }
    List<String> found = new ArrayList<>();
    while (matcher.find()) {
      found.add(matcher.group(group));
    }
    return array(found);
  }

  private static boolean hasGroup(Matcher matcher, int group) {
    return 0 <= group && group <= matcher.groupCount();
  }

  private static Matcher matcher(UTF8String pattern, UTF8String text) {
    try {
      return PATTERNS.get(pattern.toString()).matcher(text.toString());
    } catch (PatternSyntaxException e) {
      return null;
    }
  }

  private static UTF8String text(String text) {
    return UTF8String.fromString(text);
  }

  private static ArrayData array(List<String> texts) {
    return new GenericArrayData(texts.stream().map(Regex::text).toArray());
  }
}
