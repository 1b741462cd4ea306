-- Bids with a value looked up in a file, which is no stream: each as the file is when the bid comes.
CREATE SOURCE TABLE side_input (key BIGINT PRIMARY KEY, looked_up STRING)
  WITH (CONNECTION = 'FILE', PATH = '/tmp/nexmark/side_input.csv', FORMAT = 'CSV');
CREATE STREAM q13 AS
  SELECT s.key AS side, b.auction, b.bidder, b.price, b.date_time, s.looked_up
  FROM bid b JOIN side_input s ON b.auction % 10000 = s.key;
