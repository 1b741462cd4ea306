SELECT customer, total FROM {{ ref('shop_spent') }} WHERE total >= 10
