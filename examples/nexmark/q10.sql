-- The bids by day and minute, as files in a folder for each minute.
CREATE STREAM q10 AS
  SELECT auction, bidder, price, date_time, extra,
    FORMAT_TIMESTAMP(date_time, 'yyyy-MM-dd') AS day, FORMAT_TIMESTAMP(date_time, 'HH:mm') AS minute
  FROM bid;
CREATE SINK q10_files FROM q10
  WITH (CONNECTION='FILE', PATH='/tmp/nexmark/q10', PARTITION_BY='day, minute',
    COMMIT_INTERVAL='10 SECONDS');
