package io.streamsql.sinks;

import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.spark.internal.io.FileNameSpec;
import org.apache.spark.internal.io.HadoopMapReduceCommitProtocol;

/**
 * The names of files in an undecided batch: {@code part-00003.parquet} and a suffix, so that
 * readers of any folder ignore them.
 */
public final class StagedNames extends HadoopMapReduceCommitProtocol {
  private static final long serialVersionUID = 1L;

  static final String PREFIX = "part-";

  /** The suffix of hidden files. */
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
