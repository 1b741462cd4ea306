package io.streamsql.views;

import java.io.Serializable;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.apache.spark.sql.types.StructType;

/** How rows of a batch get from topics, fragments and operators to those that read them. */
interface Transport {
  /** The batch that is computed. Spark serializes what it is part of, to check it. */
  final class Batch implements Serializable {
    private static final long serialVersionUID = 1L;
    long number;

    /** When it was planned (ms since the epoch): the same if it is repeated. */
    long time;

    /** Of no batch: nothing has rows, and no store is opened. */
    static final long REHEARSAL = -1;

    Batch(long number, long time) {
      this.number = number;
      this.time = time;
    }

    boolean isRehearsal() {
      return number == REHEARSAL;
    }
  }

  Batch batch();

  /** The records of a topic. */
  RDD<InternalRow> records(String topic, StructType columns);

  /** Rows that are read more than once. */
  RDD<InternalRow> shared(RDD<InternalRow> rows, StructType columns);

  /** A plan that gives the rows of an exchange. */
  SparkPlan exchanged(ShuffleExchangeExec exchange);
}
