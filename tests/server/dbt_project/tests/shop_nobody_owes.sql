-- Fails with the customers who have spent less than nothing.
SELECT customer, total FROM {{ ref('shop_spent') }} WHERE total < 0
