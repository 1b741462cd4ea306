-- Periods in which the prices that a bidder bids for an auction fall, until one is higher again.
CREATE STREAM cep0 WITH (KEY_FORMAT = 'JSON') AS
  SELECT * FROM bid MATCH_RECOGNIZE (
    PARTITION BY auction, bidder ORDER BY date_time
    MEASURES
      start.date_time AS started, LAST(down.date_time) AS bottom, up.date_time AS ended
    AFTER MATCH SKIP TO LAST up
    PATTERN (start down+ up)
    DEFINE
      down AS down.price < COALESCE(LAST(down.price, 1), start.price),
      up AS up.price > LAST(down.price, 1));
