-- What comes from outside: orders as they are placed, and who the customers are.

CREATE STREAM orders (id INT KEY, customer STRING, item STRING, price INT, placed STRING)
  WITH (KAFKA_TOPIC='orders', PARTITIONS=1, VALUE_FORMAT='JSON',
        TIMESTAMP='placed', TIMESTAMP_FORMAT='yyyy-MM-dd HH:mm');

CREATE TABLE customers (name STRING PRIMARY KEY, town STRING, since STRING)
  WITH (KAFKA_TOPIC='customers', PARTITIONS=1, VALUE_FORMAT='JSON',
        TIMESTAMP='since', TIMESTAMP_FORMAT='yyyy-MM-dd HH:mm');
