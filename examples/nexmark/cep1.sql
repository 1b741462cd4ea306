-- The longest periods in which the mean of the prices that a bidder bids for an auction stays low.
CREATE STREAM cep1 WITH (KEY_FORMAT = 'JSON') AS
  SELECT * FROM bid MATCH_RECOGNIZE (
    PARTITION BY auction, bidder ORDER BY date_time
    MEASURES
      FIRST(low.date_time) AS started, LAST(low.date_time) AS ended, AVG(low.price) AS avg_price
    AFTER MATCH SKIP PAST LAST ROW
    PATTERN (low+ next)
    DEFINE low AS AVG(low.price) < 10000);
