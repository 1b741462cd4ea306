-- Bids with a value looked up in a table.
CREATE TABLE side_input (key BIGINT PRIMARY KEY, looked_up STRING)
  WITH (KAFKA_TOPIC = 'nexmark-side', VALUE_FORMAT = 'JSON');
CREATE STREAM q13 WITH (KEY_FORMAT = 'JSON') AS
  SELECT s.key AS side, b.auction, b.bidder, b.price, b.date_time, s.looked_up
  FROM bid b JOIN side_input s ON b.auction % 10000 = s.key;
