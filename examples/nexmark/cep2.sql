-- The same, from each bid on.
CREATE STREAM cep2 WITH (KEY_FORMAT = 'JSON') AS
  SELECT * FROM bid MATCH_RECOGNIZE (
    PARTITION BY auction, bidder ORDER BY date_time
    MEASURES
      FIRST(low.date_time) AS started, LAST(low.date_time) AS ended, AVG(low.price) AS avg_price
    AFTER MATCH SKIP TO NEXT ROW
    PATTERN (low+ next)
    DEFINE low AS AVG(low.price) < 10000);
