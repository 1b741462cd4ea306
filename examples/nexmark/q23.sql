-- Bids with who bids, and what these people sell themselves.
CREATE STREAM q23 WITH (KEY_FORMAT = 'JSON', STATE_TTL = 'FOREVER') AS
  SELECT b.bidder, b.price, b.channel, b.url, b.extra AS bid_extra, p.name, p.email,
    p.credit_card, p.city, p.state, p.extra AS person_extra, a.id AS auction, a.item_name,
    a.description, a.initial_bid, a.reserve, a.date_time AS date_time, a.expires, a.category,
    a.extra AS auction_extra
  FROM bid b
  JOIN person p ON p.id = b.bidder
  JOIN auction a ON a.seller = b.bidder;
