{{ config(materialized='table', properties={'processing.guarantee': 'exactly_once'}) }}
SELECT customer, COUNT(*) AS n, SUM(price) AS total
FROM {{ ref('shop_paid') }}
GROUP BY customer
