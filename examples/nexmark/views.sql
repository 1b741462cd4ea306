-- Nexmark's queries as materialized views of standard SQL, over the streams of sources.sql.
CREATE TABLE side_input (key BIGINT PRIMARY KEY, looked_up VARCHAR);
INSERT INTO side_input SELECT n, 'value ' || n FROM GENERATE_SERIES(0, 9999) AS numbers(n);

-- The bids with the times at which they came to Kafka.
CREATE STREAM arrived_bid (auction BIGINT, bidder BIGINT) WITH (KAFKA_TOPIC = 'nexmark-bid', VALUE_FORMAT = 'JSON');

CREATE MATERIALIZED VIEW q0 AS SELECT auction, bidder, price, date_time, extra FROM bid;

CREATE MATERIALIZED VIEW q1 AS
  SELECT auction, bidder, 0.908 * price AS price, date_time, extra FROM bid;

CREATE MATERIALIZED VIEW q2 AS SELECT auction, price FROM bid WHERE auction % 123 = 0;

CREATE MATERIALIZED VIEW q3 AS
  SELECT p.id AS seller, p.name, p.city, p.state, a.id AS item
  FROM auction a JOIN person p ON a.seller = p.id
  WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA');

CREATE MATERIALIZED VIEW q4 AS
  SELECT category, AVG(final) AS price
  FROM (
    SELECT a.id, a.category, MAX(b.price) AS final
    FROM auction a JOIN bid b ON a.id = b.auction AND b.date_time BETWEEN a.date_time AND a.expires
    GROUP BY a.id, a.category) AS closed
  GROUP BY category;

CREATE MATERIALIZED VIEW q5 AS
  SELECT window_start, auction, num
  FROM (
    SELECT window_start, auction, num, RANK() OVER (PARTITION BY window_start ORDER BY num DESC) AS place
    FROM (
      SELECT auction, window_start, COUNT(*) AS num
      FROM HOP(bid, date_time, INTERVAL '2' SECOND, INTERVAL '10' SECOND)
      GROUP BY auction, window_start) AS counted) AS ranked
  WHERE place = 1;

-- The average of a seller's last ten prices: of auctions that are won, by the time of the last bid.
CREATE MATERIALIZED VIEW q6 AS
  SELECT id, seller,
    AVG(price) OVER (PARTITION BY seller ORDER BY bid_time, id ROWS BETWEEN 9 PRECEDING AND CURRENT ROW) AS price
  FROM (
    SELECT a.id, a.seller, b.price, b.date_time AS bid_time,
      ROW_NUMBER() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.date_time) AS place
    FROM auction a JOIN bid b ON a.id = b.auction AND b.date_time BETWEEN a.date_time AND a.expires) AS won
  WHERE place = 1;

CREATE MATERIALIZED VIEW q7 AS
  SELECT b.window_start, auction, bidder, b.price, date_time, extra
  FROM TUMBLE(bid, date_time, INTERVAL '10' SECOND) AS b
  JOIN (
    SELECT window_start, MAX(price) AS price
    FROM TUMBLE(bid, date_time, INTERVAL '10' SECOND) GROUP BY window_start) AS highest
  ON b.window_start = highest.window_start AND b.price = highest.price;

CREATE MATERIALIZED VIEW q8 AS
  SELECT DISTINCT p.id, p.name, p.window_start AS starttime
  FROM TUMBLE(person, date_time, INTERVAL '10' SECOND) AS p
  JOIN TUMBLE(auction, date_time, INTERVAL '10' SECOND) AS a
  ON p.id = a.seller AND p.window_start = a.window_start;

CREATE MATERIALIZED VIEW q9 AS
  SELECT id, item_name, bidder, price, bid_time, bid_extra
  FROM (
    SELECT a.id, a.item_name, b.bidder, b.price, b.date_time AS bid_time, b.extra AS bid_extra,
      ROW_NUMBER() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.date_time) AS place
    FROM auction a JOIN bid b ON a.id = b.auction AND b.date_time BETWEEN a.date_time AND a.expires) AS ranked
  WHERE place = 1;

CREATE MATERIALIZED VIEW q10 AS
  SELECT auction, bidder, price, date_time, extra,
    TO_CHAR(date_time, 'YYYY-MM-DD') AS day, TO_CHAR(date_time, 'HH24:MI') AS minute
  FROM bid;

-- Sessions: a bid after ten seconds of silence begins one. The last session of a bidder is not yet over.
CREATE MATERIALIZED VIEW q11 AS
  SELECT bidder, session, COUNT(*) AS bids, MIN(date_time) AS starttime, MAX(date_time) AS endtime
  FROM (
    SELECT bidder, date_time, SUM(begins) OVER (PARTITION BY bidder ORDER BY date_time) AS session
    FROM (
      SELECT bidder, date_time,
        CASE WHEN date_time - LAG(date_time) OVER (PARTITION BY bidder ORDER BY date_time) <= INTERVAL '10' SECOND
          THEN 0 ELSE 1 END AS begins
      FROM bid) AS bids) AS numbered
  GROUP BY bidder, session;

-- A view is a function of its sources' records: a window of the clock is one of the records' times in Kafka.
CREATE MATERIALIZED VIEW q12 AS
  WITH arrivals AS (SELECT bidder, TO_TIMESTAMP(ROWTIME / 1000.0) AS arrived FROM arrived_bid)
  SELECT bidder, window_start, COUNT(*) AS bids
  FROM TUMBLE(arrivals, arrived, INTERVAL '10' SECOND) GROUP BY bidder, window_start;

CREATE MATERIALIZED VIEW q13 AS
  SELECT s.key AS side, b.auction, b.bidder, b.price, b.date_time, s.looked_up
  FROM bid b JOIN side_input s ON b.auction % 10000 = s.key;

CREATE MATERIALIZED VIEW q14 AS
  SELECT auction, bidder, 0.908 * price AS price,
    CASE
      WHEN EXTRACT(HOUR FROM date_time) BETWEEN 8 AND 18 THEN 'dayTime'
      WHEN EXTRACT(HOUR FROM date_time) <= 6 OR EXTRACT(HOUR FROM date_time) >= 20 THEN 'nightTime'
      ELSE 'otherTime'
    END AS bid_time_type,
    date_time, extra, LENGTH(extra) - LENGTH(REPLACE(extra, 'c', '')) AS c_counts
  FROM bid
  WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000;

CREATE MATERIALIZED VIEW q15 AS
  SELECT TO_CHAR(date_time, 'YYYY-MM-DD') AS day,
    COUNT(*) AS total_bids,
    COUNT(*) FILTER (WHERE price < 10000) AS rank1_bids,
    COUNT(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2_bids,
    COUNT(*) FILTER (WHERE price >= 1000000) AS rank3_bids,
    COUNT(DISTINCT bidder) AS total_bidders,
    COUNT(DISTINCT bidder) FILTER (WHERE price < 10000) AS rank1_bidders,
    COUNT(DISTINCT bidder) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2_bidders,
    COUNT(DISTINCT bidder) FILTER (WHERE price >= 1000000) AS rank3_bidders,
    COUNT(DISTINCT auction) AS total_auctions,
    COUNT(DISTINCT auction) FILTER (WHERE price < 10000) AS rank1_auctions,
    COUNT(DISTINCT auction) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2_auctions,
    COUNT(DISTINCT auction) FILTER (WHERE price >= 1000000) AS rank3_auctions
  FROM bid GROUP BY day;

CREATE MATERIALIZED VIEW q16 AS
  SELECT channel, TO_CHAR(date_time, 'YYYY-MM-DD') AS day,
    COUNT(*) AS total_bids,
    COUNT(*) FILTER (WHERE price < 10000) AS rank1_bids,
    COUNT(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2_bids,
    COUNT(*) FILTER (WHERE price >= 1000000) AS rank3_bids,
    COUNT(DISTINCT bidder) AS total_bidders,
    COUNT(DISTINCT bidder) FILTER (WHERE price < 10000) AS rank1_bidders,
    COUNT(DISTINCT bidder) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2_bidders,
    COUNT(DISTINCT bidder) FILTER (WHERE price >= 1000000) AS rank3_bidders,
    COUNT(DISTINCT auction) AS total_auctions,
    COUNT(DISTINCT auction) FILTER (WHERE price < 10000) AS rank1_auctions,
    COUNT(DISTINCT auction) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2_auctions,
    COUNT(DISTINCT auction) FILTER (WHERE price >= 1000000) AS rank3_auctions
  FROM bid GROUP BY channel, day;

CREATE MATERIALIZED VIEW q17 AS
  SELECT auction, TO_CHAR(date_time, 'YYYY-MM-DD') AS day,
    COUNT(*) AS total_bids,
    COUNT(*) FILTER (WHERE price < 10000) AS rank1_bids,
    COUNT(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2_bids,
    COUNT(*) FILTER (WHERE price >= 1000000) AS rank3_bids,
    MIN(price) AS min_price, MAX(price) AS max_price, AVG(price) AS avg_price, SUM(price) AS sum_price
  FROM bid GROUP BY auction, day;

CREATE MATERIALIZED VIEW q18 AS
  SELECT DISTINCT ON (bidder, auction) bidder, auction, date_time, price, channel, url, extra
  FROM bid ORDER BY bidder, auction, date_time DESC;

CREATE MATERIALIZED VIEW q19 AS
  SELECT auction, place, price, bidder, date_time
  FROM (
    SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) AS place FROM bid) AS ranked
  WHERE place <= 10;

CREATE MATERIALIZED VIEW q20 AS
  SELECT b.auction, b.bidder, b.price, b.channel, b.url, b.date_time AS bid_time, a.item_name, a.description,
    a.initial_bid, a.reserve, a.date_time, a.expires, a.seller, a.category
  FROM bid b JOIN auction a ON b.auction = a.id
  WHERE a.category = 10;

CREATE MATERIALIZED VIEW q21 AS
  SELECT auction, bidder, price, channel, channel_id
  FROM bid, LATERAL (
    SELECT CASE LOWER(channel)
      WHEN 'apple' THEN '0'
      WHEN 'google' THEN '1'
      WHEN 'facebook' THEN '2'
      WHEN 'baidu' THEN '3'
      ELSE (REGEXP_MATCH(url, '(&|^)channel_id=([^&]*)'))[2]
    END AS channel_id) AS known
  WHERE channel_id IS NOT NULL;

CREATE MATERIALIZED VIEW q22 AS
  SELECT auction, bidder, price, channel,
    SPLIT_PART(url, '/', 4) AS dir1, SPLIT_PART(url, '/', 5) AS dir2, SPLIT_PART(url, '/', 6) AS dir3
  FROM bid;

CREATE MATERIALIZED VIEW q23 AS
  SELECT b.bidder, b.price, b.channel, b.url, p.name, p.email, p.city, p.state, a.id AS auction, a.item_name,
    a.description, a.initial_bid, a.reserve, a.date_time, a.expires, a.category
  FROM bid b
  JOIN person p ON p.id = b.bidder
  JOIN auction a ON a.seller = b.bidder;
