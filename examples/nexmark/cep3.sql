-- Prices that drop by more than 50 within five seconds.
CREATE STREAM cep3 WITH (KEY_FORMAT = 'JSON') AS
  SELECT * FROM bid MATCH_RECOGNIZE (
    PARTITION BY auction, bidder ORDER BY date_time
    MEASURES low.date_time AS dropped_at, high.price - low.price AS dropped_by
    AFTER MATCH SKIP PAST LAST ROW
    PATTERN (high between_them* low) WITHIN INTERVAL '5' SECOND
    DEFINE
      between_them AS between_them.price > high.price - 50,
      low AS low.price < high.price - 50);
