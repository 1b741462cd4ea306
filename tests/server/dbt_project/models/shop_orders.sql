{{ config(materialized='source', kafka_topic='shop_orders', value_format='json', partitions=1) }}
-- Columns alone: the rest of the statement stands in the config.
id STRING KEY,
customer STRING,
status STRING,
price DECIMAL(8, 2)
