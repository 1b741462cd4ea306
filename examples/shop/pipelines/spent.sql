-- What each customer has spent so far, and those who have spent little.

CREATE TABLE spent AS
  SELECT customer, COUNT(*) AS orders, SUM(price) AS total
  FROM orders
  GROUP BY customer;

CREATE TABLE small_spenders AS
  SELECT customer, total FROM spent WHERE total < 100;
