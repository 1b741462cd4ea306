-- The last bid of each bidder for each auction.
CREATE TABLE q18 WITH (KEY_FORMAT = 'JSON') AS
  SELECT * FROM (
    SELECT *, ROW_NUMBER() OVER (PARTITION BY bidder, auction ORDER BY date_time DESC) AS place
    FROM bid)
  WHERE place <= 1;
