package io.streamsql.iceberg;

import java.io.Closeable;
import java.util.Iterator;
import org.apache.spark.sql.catalyst.InternalRow;

/** Rows of files that are open until it is closed. */
public interface LakeRows extends Iterator<InternalRow>, Closeable {}
