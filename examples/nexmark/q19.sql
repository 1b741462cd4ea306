-- The ten highest bids for each auction.
CREATE TABLE q19 WITH (KEY_FORMAT = 'JSON') AS
  SELECT * FROM (
    SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) AS place FROM bid)
  WHERE place <= 10;
