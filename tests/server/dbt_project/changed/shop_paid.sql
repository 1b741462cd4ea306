{{ config(materialized='stream', kafka_topic='shop_paid', partitions=1) }}
SELECT id, customer, price
FROM {{ ref('shop_orders') }}
WHERE status = 'paid' AND price > 1
