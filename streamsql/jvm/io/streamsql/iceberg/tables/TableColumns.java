package io.streamsql.iceberg.tables;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.streamsql.iceberg.IcebergTarget;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SchemaParser;
import org.apache.iceberg.Table;
import org.apache.iceberg.Transaction;
import org.apache.iceberg.UpdateSchema;
import org.apache.iceberg.types.Types.NestedField;

/**
 * Which columns of the table a sink writes. A property of the table keeps their field ids, so
 * columns may be renamed by the sink and by other engines: {@code {"version": 1, "columns":
 * {"NAME": {"id": 2, "name": "customer"}}, "former": [3]}}, where {@code NAME} is a column of the
 * source, {@code customer} the name that the sink gives it, and 3 a column that the source no
 * longer has. Without the property, columns are known by their names. A higher version is refused.
 */
final class TableColumns {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int VERSION = 1;

  /** A column as the property has it. */
  private record Known(int id, String name) {}

  private final IcebergTarget target;
  private final Schema wanted;
  private final Schema schema;
  private final String stored;
  private final Map<String, Known> known = new LinkedHashMap<>();
  private final Set<Integer> former = new TreeSet<>();

  /** The field of each column; null: the table has none. */
  private final List<NestedField> fields = new ArrayList<>();

  /** IllegalArgumentException says which columns the property or the table does not tell apart. */
  TableColumns(IcebergTarget target, Table table) {
    this.target = target;
    this.wanted = SchemaParser.fromJson(target.schema());
    this.schema = table.schema();
    this.stored = table.properties().get(property());
    if (stored != null) {
      read();
    }
    Map<Integer, String> taken = new HashMap<>();
    for (int i = 0; i < wanted.columns().size(); i++) {
      NestedField field = field(i);
      String other = field == null ? null : taken.put(field.fieldId(), target.columns().get(i));
      if (other != null) {
        throw new IllegalArgumentException(
            "%s and %s both are its column %s: COLUMNS can give one another name"
                .formatted(other, target.columns().get(i), field.name()));
      }
      fields.add(field);
    }
  }

  private String property() {
    return "streamsql.columns." + target.name();
  }

  private void read() {
    JsonNode found;
    try {
      found = JSON.readTree(stored);
    } catch (IOException e) {
      throw new UncheckedIOException("not columns of a sink: " + stored, e);
    }
    if (found.path("version").asInt() != VERSION) {
      throw new IllegalArgumentException(
          "its property " + property() + " was written by another version of streamsql: " + stored);
    }
    for (Map.Entry<String, JsonNode> column : found.path("columns").properties()) {
      JsonNode value = column.getValue();
      known.put(column.getKey(), new Known(value.path("id").asInt(), value.path("name").asText()));
    }
    found.path("former").forEach(id -> former.add(id.asInt()));
  }

  private NestedField field(int column) {
    Known found = known.get(target.columns().get(column));
    NestedField byId = found == null ? null : top(found.id);
    return byId != null ? byId : schema.asStruct().field(wanted.columns().get(column).name());
  }

  private NestedField top(int id) {
    return schema.asStruct().field(id);
  }

  // -- rows --------------------------------------------------------------------------------------

  /** The schema of the rows, with the names that the columns have in the table. */
  Schema rows() {
    return named(this::present);
  }

  /** The columns of the key. */
  List<String> keys() {
    return target.keys().stream().map(this::present).toList();
  }

  /** The present name of a column in the table. */
  String present(String name) {
    NestedField field = fields.get(wanted.columns().indexOf(wanted.asStruct().field(name)));
    return field == null ? name : field.name();
  }

  private interface Names {
    String of(String name);
  }

  private Schema named(Names names) {
    List<NestedField> made = new ArrayList<>();
    for (NestedField field : wanted.columns()) {
      made.add(NestedField.from(field).withName(names.of(field.name())).build());
    }
    return new Schema(made);
  }

  // -- changes -----------------------------------------------------------------------------------

  /**
   * Renames, drops, adds and widens columns.
   *
   * @param written whether the sink has written to the table before
   */
  void evolve(Table table, boolean written) {
    Set<Integer> dropped = dropped(written);
    Map<Integer, String> renamed = renamed(dropped);
    Set<Integer> gone = gone(written, dropped);
    checkAdded(gone);
    Transaction transaction = table.newTransaction();
    UpdateSchema update = transaction.updateSchema();
    dropped.forEach(id -> update.deleteColumn(top(id).name()));
    renamed.forEach((id, name) -> update.renameColumn(top(id).name(), name));
    update.commit();
    Schema rows = named(name -> renamed.containsValue(name) ? name : present(name));
    Schema before = transaction.table().schema();
    transaction.updateSchema().unionByNameWith(asRequired(rows, before)).commit();
    Schema after = transaction.table().schema();
    new RowReader(rows, after); // an exception, if it cannot hold them
    String text = text(rows, after, gone);
    if (!text.equals(stored)) {
      transaction.updateProperties().set(property(), text).commit();
    }
    transaction.commitTransaction();
  }

  /** A column of another writer is not dropped. */
  private Set<Integer> dropped(boolean written) {
    Set<Integer> own = own(written);
    Set<Integer> found = new TreeSet<>();
    for (String name : target.dropped()) {
      NestedField field = schema.asStruct().field(name);
      if (field == null || !own.contains(field.fieldId())) {
        continue;
      }
      if (fields.contains(field)) {
        throw new IllegalArgumentException("DROP_COLUMNS has " + name + ", which the sink writes");
      }
      found.add(field.fieldId());
    }
    return found;
  }

  /** The columns that the sink has written, or may have written. */
  private Set<Integer> own(boolean written) {
    Set<Integer> own = new HashSet<>(former);
    known.values().forEach(column -> own.add(column.id));
    if (stored == null && written) {
      schema.columns().forEach(field -> own.add(field.fieldId()));
    }
    return own;
  }

  /** The new names of fields; a name that another engine has given stays. */
  private Map<Integer, String> renamed(Set<Integer> dropped) {
    Map<Integer, String> renamed = new LinkedHashMap<>();
    for (int i = 0; i < fields.size(); i++) {
      NestedField field = fields.get(i);
      String name = wanted.columns().get(i).name();
      Known before = known.get(target.columns().get(i));
      boolean same = before == null || before.name.equals(name);
      if (field == null || same || field.name().equals(name)) {
        continue;
      }
      NestedField there = schema.asStruct().field(name);
      if (there != null && !dropped.contains(there.fieldId())) {
        throw new IllegalArgumentException(
            "%s cannot be renamed to %s: it has a column of that name"
                .formatted(field.name(), name));
      }
      renamed.put(field.fieldId(), name);
    }
    return renamed;
  }

  /** Columns that the sink no longer writes. */
  private Set<Integer> gone(boolean written, Set<Integer> dropped) {
    Set<Integer> gone = own(written);
    gone.removeIf(id -> top(id) == null || dropped.contains(id) || fields.contains(top(id)));
    return gone;
  }

  /** A column that is added may be one that was renamed in the source, which is not known. */
  private void checkAdded(Set<Integer> gone) {
    List<String> unclear = new ArrayList<>();
    for (int id : gone) {
      String name = top(id).name();
      if (!former.contains(id) && !target.kept().contains(name)) {
        unclear.add(name);
      }
    }
    int added = fields.indexOf(null);
    if (unclear.isEmpty() || added < 0) {
      return;
    }
    throw new IllegalArgumentException(
        ("the sink no longer writes %1$s, and adds %2$s. If %2$s is %1$s under another name,"
                + " COLUMNS='*, %2$s AS %1$s' continues the column; else DROP_COLUMNS='%1$s' drops"
                + " it, and KEEP_COLUMNS='%1$s' keeps it")
            .formatted(String.join(", ", unclear), target.columns().get(added)));
  }

  /** What the table requires stays required: a row without it is refused. */
  private static Schema asRequired(Schema rows, Schema there) {
    List<NestedField> made = new ArrayList<>();
    for (NestedField field : rows.columns()) {
      NestedField found = there.asStruct().field(field.name());
      made.add(found != null && found.isRequired() ? field.asRequired() : field);
    }
    return new Schema(made);
  }

  private String text(Schema rows, Schema after, Set<Integer> gone) {
    ObjectNode columns = JSON.createObjectNode();
    for (int i = 0; i < rows.columns().size(); i++) {
      int id = after.asStruct().field(rows.columns().get(i).name()).fieldId();
      String name = wanted.columns().get(i).name();
      columns.putObject(target.columns().get(i)).put("id", id).put("name", name);
    }
    ObjectNode made = JSON.createObjectNode().put("version", VERSION);
    made.set("columns", columns);
    gone.forEach(made.putArray("former")::add);
    return made.toString();
  }
}
