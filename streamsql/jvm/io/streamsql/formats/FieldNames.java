package io.streamsql.formats;

import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructType;

/** Maps a schema's fields to columns: by exact name, else by a name that differs only in case. */
public final class FieldNames {
  private FieldNames() {}

  /** The field's position in the struct, -1 if it has no such field. */
  public static int position(StructType struct, String name) {
    return positions(struct, List.of(name))[0];
  }

  /** The position of each name; each position is used once, exact names take precedence. */
  public static int[] positions(StructType struct, List<String> names) {
    int[] found = new int[names.size()];
    Arrays.fill(found, -1);
    boolean[] taken = new boolean[struct.length()];
    for (int pass = 0; pass < 2; pass++) {
      for (int n = 0; n < found.length; n++) {
        for (int i = 0; i < taken.length && found[n] < 0; i++) {
          String column = struct.fields()[i].name();
          boolean same =
              pass == 0 ? column.equals(names.get(n)) : column.equalsIgnoreCase(names.get(n));
          if (same && !taken[i]) {
            found[n] = i;
            taken[i] = true;
          }
        }
      }
    }
    return found;
  }

  /** The metadata that {@link SqlTime} reads. */
  public static Metadata time(String declared) {
    return declared.isEmpty()
        ? Metadata.empty()
        : new MetadataBuilder().putString("sql", declared).build();
  }
}
