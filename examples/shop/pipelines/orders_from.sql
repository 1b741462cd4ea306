-- Each order with the town in which its customer lived then.

CREATE STREAM orders_from AS
  SELECT o.id AS id, o.customer AS customer, o.item AS item, c.town AS town
  FROM orders o LEFT JOIN customers c ON o.customer = c.name;
