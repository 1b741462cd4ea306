package io.streamsql.errors;

import java.util.Map;

/** An error of the engine: its code is data, its message is for the user. */
public final class CodedException extends RuntimeException {
  private static final long serialVersionUID = 1L;
  private final ErrorCode code;

  @SuppressWarnings("serial") // Map.of makes maps that are serializable
  private final Map<String, String> parameters;

  public CodedException(ErrorCode code, String message) {
    this(code, message, Map.of());
  }

  /**
   * @param parameters what the message is about, such as a topic
   */
  public CodedException(ErrorCode code, String message, Map<String, String> parameters) {
    super(message);
    this.code = code;
    this.parameters = parameters;
  }

  public ErrorCode code() {
    return code;
  }

  public Map<String, String> parameters() {
    return parameters;
  }
}
