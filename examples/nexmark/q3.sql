-- Local items: who sells in category 10, of three states.
CREATE STREAM q3 WITH (KEY_FORMAT = 'JSON', STATE_TTL = 'FOREVER') AS
  SELECT p.id AS seller, p.name, p.city, p.state, a.id AS item
  FROM auction a JOIN person p ON a.seller = p.id
  WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA');
