-- Bids with what is known of their auctions, in category 10.
CREATE STREAM q20 WITH (KEY_FORMAT = 'JSON', STATE_TTL = 'FOREVER') AS
  SELECT b.auction, b.bidder, b.price, b.channel, b.url, b.date_time AS bid_time,
    b.extra AS bid_extra, a.item_name, a.description, a.initial_bid, a.reserve,
    a.date_time AS date_time, a.expires, a.seller, a.category, a.extra AS extra
  FROM bid b JOIN auction a ON b.auction = a.id
  WHERE a.category = 10;
