-- Hot items: the auctions with the most bids of each ten seconds, every two seconds.
CREATE TABLE q5 WITH (KEY_FORMAT = 'JSON') AS
  SELECT * FROM (
    SELECT window_start, auction, num, RANK() OVER (PARTITION BY window_start ORDER BY num DESC) AS place
    FROM (
      SELECT auction, window_start, COUNT(*) AS num
      FROM HOP(TABLE bid, DESCRIPTOR(date_time), INTERVAL '2' SECOND, INTERVAL '10' SECOND)
      GROUP BY auction, window_start, window_end))
  WHERE place = 1;
