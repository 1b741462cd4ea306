-- How much a bidder bids in each ten seconds of the clock.
CREATE TABLE q12 WITH (KEY_FORMAT = 'JSON') AS
  SELECT bidder, COUNT(*) AS bids, window_start, window_end
  FROM TUMBLE(TABLE bid, DESCRIPTOR(PROCTIME()), INTERVAL '10' SECOND)
  GROUP BY bidder, window_start, window_end;
