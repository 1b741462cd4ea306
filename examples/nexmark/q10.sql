-- The bids by day and minute. Nexmark writes them into partitioned files; here they are a stream,
-- whose files are Kafka Connect's to write.
CREATE STREAM q10 AS
  SELECT auction, bidder, price, date_time, extra,
    FORMAT_TIMESTAMP(date_time, 'yyyy-MM-dd') AS day, FORMAT_TIMESTAMP(date_time, 'HH:mm') AS minute
  FROM bid;
