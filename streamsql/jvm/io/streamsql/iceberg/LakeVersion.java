package io.streamsql.iceberg;

import java.io.Serializable;

/**
 * The snapshot of a table that is read.
 *
 * @param name the number of a snapshot, or the name of a branch or a tag; empty: the present one
 * @param millis the time as of which the table is read; negative: none is given
 */
public record LakeVersion(String name, long millis) implements Serializable {
  public static final LakeVersion PRESENT = new LakeVersion("", -1);
}
