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
 * What a batch has written: files that are staged, and what they are to be called.
 *
 * @param moves all of its files
 */
record Decision(List<Move> moves) {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int VERSION = 1;

  /** A file, and what it is to be called. */
  record Move(String from, String to) {}

  String json() throws JsonProcessingException {
    ObjectNode text = JSON.createObjectNode().put("version", VERSION);
    ArrayNode files = text.putArray("files");
    for (Move move : moves) {
      files.addObject().put("from", move.from()).put("to", move.to());
    }
    return JSON.writeValueAsString(text);
  }

  /** IOException for a text of a later version: what it means is not known here. */
  static Decision of(byte[] text) throws IOException {
    JsonNode found = JSON.readTree(text);
    if (found.path("version").asInt() != VERSION) {
      throw new IOException("files were staged by a later version of streamsql: start that one");
    }
    List<Move> moves = new ArrayList<>();
    for (JsonNode file : found.path("files")) {
      moves.add(new Move(file.path("from").textValue(), file.path("to").textValue()));
    }
    return new Decision(moves);
  }
}
