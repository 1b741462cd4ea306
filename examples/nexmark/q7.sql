-- The highest bids of each ten seconds.
CREATE TABLE q7 WITH (KEY_FORMAT = 'JSON') AS
  SELECT * FROM (
    SELECT window_start, auction, bidder, price, date_time, extra,
      RANK() OVER (PARTITION BY window_start ORDER BY price DESC) AS place
    FROM TUMBLE(TABLE bid, DESCRIPTOR(date_time), INTERVAL '10' SECOND))
  WHERE place = 1;
