-- The winning bid of each auction: the highest while it is open, of equal ones the first.
CREATE TABLE q9 WITH (KEY_FORMAT = 'JSON', STATE_TTL = 'FOREVER') AS
  SELECT * FROM (
    SELECT a.id AS id, a.item_name, a.description, a.initial_bid, a.reserve,
      a.date_time AS date_time, a.expires, a.seller, a.category, a.extra AS extra, b.auction, b.bidder, b.price, b.date_time AS bid_time,
      b.extra AS bid_extra,
      ROW_NUMBER() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.date_time) AS place
    FROM auction a JOIN bid b ON a.id = b.auction
    WHERE b.date_time BETWEEN a.date_time AND a.expires)
  WHERE place <= 1;
