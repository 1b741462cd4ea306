package io.streamsql.sinks;

import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.spark.internal.io.FileNameSpec;
import org.apache.spark.internal.io.HadoopMapReduceCommitProtocol;

/**
 * What Spark's writers call their files while a batch is not decided: {@code part-00003.parquet}
 * and a suffix, for no reader to take them for files of its format, whatever folders it looks into.
 */
public final class StagedNames extends HadoopMapReduceCommitProtocol {
  private static final long serialVersionUID = 1L;

  static final String PREFIX = "part-";

  /** Behind the names of files that nobody is to read yet. */
  public static final String SUFFIX = ".staged";

  /** Called by Spark, by reflection. */
  public StagedNames(String jobId, String path, boolean dynamicPartitionOverwrite) {
    super(jobId, path, dynamicPartitionOverwrite);
  }

  @Override
  public String getFilename(TaskAttemptContext context, FileNameSpec spec) {
    int task = context.getTaskAttemptID().getTaskID().getId();
    return String.format("%s%05d%s%s", PREFIX, task, spec.suffix(), SUFFIX);
  }
}
