{{ config(materialized='source') }}
CREATE TABLE {{ this }} (id STRING PRIMARY KEY, name STRING)
  WITH (KAFKA_TOPIC='shop_customers', VALUE_FORMAT='JSON', PARTITIONS=1);
