package io.streamsql.sinks;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * The output of a batch: staged files and their final names.
 *
 * @param moves all of its files
 */
record Decision(List<Move> moves) {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int VERSION = 1;

  /** A file and its final name. */
  record Move(String from, String to) {}

  String json() throws JsonProcessingException {
    ObjectNode text = JSON.createObjectNode().put("version", VERSION);
    ArrayNode files = text.putArray("files");
    for (Move move : moves) {
      files.addObject().put("from", move.from()).put("to", move.to());
    }
    return JSON.writeValueAsString(text);
  }

  /** IOException for the text of a later version. */
  static Decision of(byte[] text) throws IOException {
    JsonNode found = JSON.readTree(text);
    if (found.path("version").asInt() != VERSION) {
      throw new IOException(
          "files were staged by a later version of streamsql: start that version");
    }
    List<Move> moves = new ArrayList<>();
    for (JsonNode file : found.path("files")) {
      moves.add(new Move(file.path("from").textValue(), file.path("to").textValue()));
    }
    return new Decision(moves);
  }
}
