package io.streamsql.formats.protobuf;

import com.google.protobuf.AnyProto;
import com.google.protobuf.DescriptorProtos.DescriptorProto;
import com.google.protobuf.DescriptorProtos.FieldDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.DescriptorValidationException;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.DurationProto;
import com.google.protobuf.EmptyProto;
import com.google.protobuf.FieldMaskProto;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.StructProto;
import com.google.protobuf.TimestampProto;
import com.google.protobuf.WrappersProto;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Protobuf files from their descriptors in base64, linked with their imports. */
final class ProtobufFiles {
  static final String DECIMAL = "confluent.type.Decimal";
  static final String DATE = "google.type.Date";
  static final String TIME = "google.type.TimeOfDay";
  static final String TIMESTAMP = "google.protobuf.Timestamp";

  /** Files that every registry includes. */
  private static final Map<String, FileDescriptor> WELL_KNOWN = wellKnown();

  private ProtobufFiles() {}

  /** IllegalArgumentException if the descriptors are not valid. */
  static FileDescriptor link(String base64, Map<String, String> references) {
    return link(base64, "schema.proto", new HashMap<>(references), new HashMap<>(WELL_KNOWN));
  }

  /** Links a file after the references that it imports, which are removed from {@code left}. */
  private static FileDescriptor link(
      String base64, String name, Map<String, String> left, Map<String, FileDescriptor> known) {
    try {
      FileDescriptorProto file =
          FileDescriptorProto.parseFrom(Base64.getDecoder().decode(base64)).toBuilder()
              .setName(name)
              .build();
      List<FileDescriptor> dependencies = new ArrayList<>();
      for (String dependency : file.getDependencyList()) {
        String reference = left.remove(dependency);
        if (reference != null) {
          known.put(dependency, link(reference, dependency, left, known));
        }
        if (known.containsKey(dependency)) {
          dependencies.add(known.get(dependency));
        }
      }
      return FileDescriptor.buildFrom(file, dependencies.toArray(FileDescriptor[]::new), true);
    } catch (InvalidProtocolBufferException | DescriptorValidationException e) {
      throw new IllegalArgumentException("invalid Protobuf schema: " + e.getMessage(), e);
    }
  }

  /** The message of that name, with or without the package; the file's first if there is none. */
  static Descriptor message(FileDescriptor file, String fullName) {
    if (fullName == null) {
      return file.getMessageTypes().get(0);
    }
    String prefix = file.getPackage() + ".";
    String inFile = fullName.startsWith(prefix) ? fullName.substring(prefix.length()) : fullName;
    List<Descriptor> found = file.getMessageTypes();
    Descriptor message = null;
    for (String step : inFile.split("\\.", -1)) {
      message =
          found.stream()
              .filter(m -> m.getName().equals(step))
              .findFirst()
              .orElseThrow(() -> new IllegalArgumentException("no Protobuf message " + fullName));
      found = message.getNestedTypes();
    }
    return message;
  }

  private static Map<String, FileDescriptor> wellKnown() {
    Map<String, FileDescriptor> files = new HashMap<>();
    for (FileDescriptor file :
        List.of(
            AnyProto.getDescriptor(),
            DurationProto.getDescriptor(),
            EmptyProto.getDescriptor(),
            FieldMaskProto.getDescriptor(),
            StructProto.getDescriptor(),
            TimestampProto.getDescriptor(),
            WrappersProto.getDescriptor())) {
      files.put(file.getName(), file);
    }
    add(
        files,
        "google/type/date.proto",
        DATE,
        FieldDescriptorProto.Type.TYPE_INT32,
        "year",
        "month",
        "day");
    add(
        files,
        "google/type/timeofday.proto",
        TIME,
        FieldDescriptorProto.Type.TYPE_INT32,
        "hours",
        "minutes",
        "seconds",
        "nanos");
    add(
        files,
        "confluent/type/decimal.proto",
        DECIMAL,
        FieldDescriptorProto.Type.TYPE_BYTES,
        "value",
        "precision",
        "scale");
    return files;
  }

  /** A file with one message: a first field of the type, and integers. */
  private static void add(
      Map<String, FileDescriptor> files,
      String path,
      String name,
      FieldDescriptorProto.Type first,
      String... fields) {
    int dot = name.lastIndexOf('.');
    DescriptorProto.Builder message = DescriptorProto.newBuilder().setName(name.substring(dot + 1));
    for (int i = 0; i < fields.length; i++) {
      message.addField(
          FieldDescriptorProto.newBuilder()
              .setName(fields[i])
              .setNumber(i + 1)
              .setType(i == 0 ? first : FieldDescriptorProto.Type.TYPE_INT32)
              .setLabel(FieldDescriptorProto.Label.LABEL_OPTIONAL));
    }
    FileDescriptorProto file =
        FileDescriptorProto.newBuilder()
            .setName(path)
            .setPackage(name.substring(0, dot))
            .setSyntax("proto3")
            .addMessageType(message)
            .build();
    try {
      files.put(path, FileDescriptor.buildFrom(file, new FileDescriptor[0]));
    } catch (DescriptorValidationException e) {
      throw new IllegalStateException(e);
    }
  }
}
