-- What the charts are of: Metabase's sample database, a log of sales, metrics and logs.
CREATE STREAM orders (id BIGINT, user_id BIGINT, product_id BIGINT, subtotal DOUBLE, tax DOUBLE,
    total DOUBLE, discount DOUBLE, created_at TIMESTAMP, quantity INT)
  WITH (KAFKA_TOPIC='charts_orders', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE people (id BIGINT PRIMARY KEY, name STRING, email STRING, state STRING, source STRING,
    latitude DOUBLE, longitude DOUBLE, created_at TIMESTAMP)
  WITH (KAFKA_TOPIC='charts_people', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE products (id BIGINT PRIMARY KEY, title STRING, category STRING, price DOUBLE,
    rating DOUBLE, created_at TIMESTAMP)
  WITH (KAFKA_TOPIC='charts_products', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM sales (order_date TIMESTAMP, epoch_ms BIGINT, country STRING, product_line STRING,
    deal_size STRING, status STRING, customer STRING, quantity INT, sales DOUBLE)
  WITH (KAFKA_TOPIC='charts_sales', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM metrics (time TIMESTAMP, host STRING, region STRING, measurement STRING, value DOUBLE)
  WITH (KAFKA_TOPIC='charts_metrics', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM logs (time TIMESTAMP, level STRING, service STRING, message STRING, duration_ms INT,
    status INT)
  WITH (KAFKA_TOPIC='charts_logs', VALUE_FORMAT='JSON', PARTITIONS=1);
