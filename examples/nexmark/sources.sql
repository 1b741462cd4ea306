-- The events of the auction house, as `streamsql datagen --schema nexmark` writes them.
CREATE STREAM person (
  id BIGINT, name STRING, email STRING, credit_card STRING, city STRING, state STRING,
  date_time TIMESTAMP, extra STRING
) WITH (KAFKA_TOPIC = 'nexmark-person', VALUE_FORMAT = 'JSON', TIMESTAMP = 'date_time');

CREATE STREAM auction (
  id BIGINT, item_name STRING, description STRING, initial_bid BIGINT, reserve BIGINT,
  date_time TIMESTAMP, expires TIMESTAMP, seller BIGINT, category BIGINT, extra STRING
) WITH (KAFKA_TOPIC = 'nexmark-auction', VALUE_FORMAT = 'JSON', TIMESTAMP = 'date_time');

CREATE STREAM bid (
  auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING,
  date_time TIMESTAMP, extra STRING
) WITH (KAFKA_TOPIC = 'nexmark-bid', VALUE_FORMAT = 'JSON', TIMESTAMP = 'date_time');
