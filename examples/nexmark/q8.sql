-- New sellers: who has come and opened an auction within the same ten seconds.
CREATE TABLE q8 WITH (KEY_FORMAT = 'JSON') AS
  SELECT p.id, p.name, p.starttime
  FROM (
    SELECT id, LATEST_BY_OFFSET(name) AS name, WINDOWSTART AS starttime
    FROM person WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY id) p
  JOIN (
    SELECT seller, COUNT(*) AS auctions
    FROM auction WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY seller) a
  ON p.id = a.seller;
