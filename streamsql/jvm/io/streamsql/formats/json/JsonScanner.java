package io.streamsql.formats.json;

import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Reads the most common records, flat objects of plain values, straight from their bytes, several
 * times as fast as a general parser. Everything else (escapes, letters beyond ASCII, coercions,
 * nested values, errors) is left to {@link JsonReader}, whose result it never contradicts.
 */
final class JsonScanner implements Serializable {
  private static final long serialVersionUID = 1L;

  /** What the numbers of a column become; the other kinds are named after their literals. */
  private enum Kind {
    INT,
    BIGINT,
    DOUBLE,
    TIMESTAMP,
    BOOLEAN,
    STRING
  }

  private static final int UNREAD = -2;
  private static final int MOST_COLUMNS = 64; // a bit each
  private static final int MOST_BYTES = 100_000; // far below the parser's limits
  private static final int MOST_DIGITS = 18; // of a long, whatever they are
  private static final int LONGEST_FRACTION = 32; // with sign, point and exponent
  private static final long MOST_MILLIS = Long.MAX_VALUE / 1000;
  private static final byte[] TRUE = ascii("true");
  private static final byte[] FALSE = ascii("false");
  private static final byte[] NULL = ascii("null");

  /** A field of a record: the bytes of its name, and its column; -1: none. */
  private static final class Field implements Serializable {
    private static final long serialVersionUID = 1L;
    final byte[] name;
    final int column;

    Field(byte[] name, int column) {
      this.name = name;
      this.column = column;
    }
  }

  private final byte[][] names;
  private final Kind[] kinds;

  /**
   * The fields of the previous record, in order: most records have the same fields in the same
   * order. Threads may share it, since each entry is valid by itself.
   */
  private final Field[] before = new Field[MOST_COLUMNS];

  /** The columns by their names' hash: one more than its position; 0 ends a search. */
  private final int[] table;

  private JsonScanner(byte[][] names, Kind[] kinds) {
    this.names = names;
    this.kinds = kinds;
    this.table = new int[Integer.highestOneBit(4 * names.length) * 2];
    for (int i = 0; i < names.length; i++) {
      int place = hash(names[i], 0, names[i].length);
      while (table[place & table.length - 1] != 0) {
        place++;
      }
      table[place & table.length - 1] = i + 1;
    }
  }

  /** A scanner of these columns; null if it does not read one of their types. */
  static JsonScanner of(StructType columns) {
    int count = columns.length();
    if (count == 0 || count > MOST_COLUMNS) {
      return null;
    }
    byte[][] names = new byte[count][];
    Kind[] kinds = new Kind[count];
    for (int i = 0; i < count; i++) {
      names[i] = columns.fields()[i].name().getBytes(StandardCharsets.UTF_8);
      kinds[i] = kind(columns.fields()[i].dataType());
      if (kinds[i] == null) {
        return null;
      }
    }
    return new JsonScanner(names, kinds);
  }

  private static Kind kind(DataType type) {
    if (type instanceof LongType) {
      return Kind.BIGINT;
    } else if (type instanceof IntegerType || type instanceof DateType) {
      return Kind.INT;
    } else if (type instanceof DoubleType) {
      return Kind.DOUBLE;
    } else if (type instanceof TimestampType) {
      return Kind.TIMESTAMP;
    } else if (type instanceof BooleanType) {
      return Kind.BOOLEAN;
    }
    return type instanceof StringType ? Kind.STRING : null;
  }

  /**
   * Fills {@code fields[at]} and the following from the object in the bytes from {@code start} on.
   *
   * @return false if the parser has to read it: the fields are then null again
   */
  boolean read(byte[] bytes, int start, Object[] fields, int at) {
    if (bytes.length <= MOST_BYTES && new Scan(bytes, start).object(fields, at)) {
      return true;
    }
    Arrays.fill(fields, at, at + names.length, null);
    return false;
  }

  /** The column of a name: exact, else equal in upper case; -1: none. */
  private int column(byte[] bytes, int from, int to, int hash) {
    int found = -1;
    for (int place = hash; table[place & table.length - 1] != 0; place++) {
      int column = table[place & table.length - 1] - 1;
      byte[] name = names[column];
      if (Arrays.equals(name, 0, name.length, bytes, from, to)) {
        return column;
      }
      if (isUpperCase(name, bytes, from, to)) {
        found = column;
      }
    }
    return found;
  }

  private static boolean isUpperCase(byte[] name, byte[] bytes, int from, int to) {
    if (name.length != to - from) {
      return false;
    }
    for (int i = 0; i < name.length; i++) {
      if (name[i] != upper(bytes[from + i])) {
        return false;
      }
    }
    return true;
  }

  private static int hash(byte[] name, int from, int to) {
    int hash = 0;
    for (int i = from; i < to; i++) {
      hash = 31 * hash + upper(name[i]);
    }
    return hash;
  }

  private static byte upper(byte letter) {
    return letter >= 'a' && letter <= 'z' ? (byte) (letter - 32) : letter;
  }

  private static byte[] ascii(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }

  /** One record's bytes and the read position. */
  private final class Scan {
    private final byte[] bytes;
    private int at;

    Scan(byte[] bytes, int start) {
      this.bytes = bytes;
      this.at = start;
    }

    /** The next byte that is not a space; at the end 0, which never occurs in JSON. */
    private byte next() {
      while (at < bytes.length) {
        byte b = bytes[at];
        if (b != ' ' && b != '\n' && b != '\t' && b != '\r') {
          return b;
        }
        at++;
      }
      return 0;
    }

    private boolean skip(char expected) {
      if (next() != expected) {
        return false;
      }
      at++;
      return true;
    }

    boolean object(Object[] fields, int first) {
      if (!skip('{')) {
        return false;
      }
      if (!skip('}')) {
        long seen = 0;
        int number = 0;
        do {
          if (next() != '"') {
            return false;
          }
          int column = name(number++);
          if (column == UNREAD || !skip(':')) {
            return false;
          }
          long bit = column < 0 ? 0 : 1L << column;
          if ((seen & bit) != 0 || !value(column, fields, first)) {
            return false; // the parser decides which of two fields for one column counts
          }
          seen |= bit;
        } while (skip(','));
        if (!skip('}')) {
          return false;
        }
      }
      return next() == 0 && at == bytes.length;
    }

    /** The column of the name at this position, which is passed; UNREAD: the name is not plain. */
    private int name(int number) {
      int from = at + 1;
      Field known = number < before.length ? before[number] : null;
      if (known != null && isAt(known.name, from)) {
        at = from + known.name.length + 1;
        return known.column;
      }
      int to = endOfText();
      if (to < 0) {
        return UNREAD;
      }
      int column = column(bytes, from, to, hash(bytes, from, to));
      if (number < before.length) {
        before[number] = new Field(Arrays.copyOfRange(bytes, from, to), column);
      }
      return column;
    }

    private boolean isAt(byte[] name, int from) {
      int to = from + name.length;
      return to < bytes.length
          && bytes[to] == '"'
          && Arrays.equals(name, 0, name.length, bytes, from, to);
    }

    /** The end of the text at this position, which is passed; -1: it is not plain ASCII. */
    private int endOfText() {
      int end = PlainText.end(bytes, at + 1);
      at = end < 0 ? at : end + 1;
      return end;
    }

    private boolean value(int column, Object[] fields, int first) {
      Kind kind = column < 0 ? null : kinds[column];
      return switch (next()) {
        case '"' -> text(kind, fields, first + column);
        case 't' -> literal(TRUE) && truth(kind, true, fields, first + column);
        case 'f' -> literal(FALSE) && truth(kind, false, fields, first + column);
        case 'n' -> literal(NULL);
        case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9' ->
            number(kind, fields, first + column);
        default -> false;
      };
    }

    private boolean literal(byte[] word) {
      int end = at + word.length;
      if (end > bytes.length || !Arrays.equals(word, 0, word.length, bytes, at, end)) {
        return false;
      }
      at = end;
      return true;
    }

    private static boolean truth(Kind kind, boolean value, Object[] fields, int field) {
      if (kind == Kind.BOOLEAN) {
        fields[field] = value;
      }
      return kind == Kind.BOOLEAN || kind == null;
    }

    private boolean text(Kind kind, Object[] fields, int field) {
      int from = at + 1;
      int to = endOfText();
      if (to >= 0 && kind == Kind.STRING) {
        fields[field] = UTF8String.fromBytes(bytes, from, to - from);
        return true;
      }
      return to >= 0 && kind == null;
    }

    private boolean number(Kind kind, Object[] fields, int field) {
      int from = at;
      boolean negative = bytes[at] == '-';
      if (negative) {
        at++;
      }
      int digits = at;
      long value = 0;
      while (isDigit()) {
        value = 10 * value + bytes[at++] - '0'; // too many digits: an overflow would go unnoticed
      }
      int count = at - digits;
      if (count == 0 || count > MOST_DIGITS || (count > 1 && bytes[digits] == '0')) {
        return false;
      }
      if (at < bytes.length && (bytes[at] == '.' || bytes[at] == 'e' || bytes[at] == 'E')) {
        return fraction() && real(kind, from, fields, field);
      }
      return (value != 0 || !negative) && whole(kind, negative ? -value : value, fields, field);
    }

    private boolean isDigit() {
      return at < bytes.length && bytes[at] >= '0' && bytes[at] <= '9';
    }

    private static boolean whole(Kind kind, long value, Object[] fields, int field) {
      if (kind == null) {
        return true;
      }
      switch (kind) {
        case BIGINT -> fields[field] = value;
        case INT -> fields[field] = (int) value;
        case DOUBLE -> fields[field] = (double) value;
        case TIMESTAMP -> {
          if (value > MOST_MILLIS || value < -MOST_MILLIS) {
            return false;
          }
          fields[field] = value * 1000;
        }
        default -> {
          return false;
        }
      }
      return true;
    }

    /** Passes the digits and the exponent of a number; whether they are valid. */
    private boolean fraction() {
      if (bytes[at] == '.') {
        at++;
        if (!digits()) {
          return false;
        }
      }
      if (at < bytes.length && (bytes[at] == 'e' || bytes[at] == 'E')) {
        at++;
        if (at < bytes.length && (bytes[at] == '+' || bytes[at] == '-')) {
          at++;
        }
        return digits();
      }
      return true;
    }

    private boolean digits() {
      int from = at;
      while (isDigit()) {
        at++;
      }
      return at > from;
    }

    private boolean real(Kind kind, int from, Object[] fields, int field) {
      if (at - from > LONGEST_FRACTION || (kind != null && kind != Kind.DOUBLE)) {
        return false;
      }
      if (kind != null) {
        String text = new String(bytes, from, at - from, StandardCharsets.ISO_8859_1);
        fields[field] = Double.parseDouble(text);
      }
      return true;
    }
  }
}
