-- The average of the closing prices of each category.
CREATE TABLE q4 WITH (KEY_FORMAT = 'JSON', STATE_TTL = 'FOREVER') AS
  SELECT category, AVG(final) AS price
  FROM (
    SELECT a.id, a.category, MAX(b.price) AS final
    FROM auction a JOIN bid b ON a.id = b.auction
    WHERE b.date_time BETWEEN a.date_time AND a.expires
    GROUP BY a.id, a.category)
  GROUP BY category;
