{{ config(materialized='table', properties={'processing.guarantee': 'exactly_once'}) }}
SELECT customer, COUNT(*) AS n, SUM(price) AS total, SUM(price) / COUNT(*) AS average
FROM {{ ref('shop_paid') }}
GROUP BY customer
