-- Currency: prices of dollars in euros.
CREATE STREAM q1 AS
  SELECT auction, bidder, 0.908 * price AS price, date_time, extra FROM bid;
