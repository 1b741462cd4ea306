package io.streamsql.expressions;

import io.streamsql.monitoring.ProcessingLog;
import java.io.Serializable;
import org.apache.spark.unsafe.types.UTF8String;

/** The null result of an expression that failed; it reports the reason to the processing log. */
public final class FailureReporter implements Serializable {
  private static final long serialVersionUID = 1L;
  private final ProcessingLog log;
  private final String step;

  FailureReporter(ProcessingLog log, String step) {
    this.log = log;
    this.step = step;
  }

  /** Always null, of any type. */
  public Object report(UTF8String error) {
    log.recordProcessingError(step, error == null ? null : error.toString());
    return null;
  }

  @Override
  public String toString() {
    return "failure";
  }
}
