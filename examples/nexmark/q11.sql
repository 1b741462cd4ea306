-- How much a bidder bids at a stretch: sessions, each once ten seconds of silence have ended it.
CREATE TABLE q11 WITH (KEY_FORMAT = 'JSON') AS
  SELECT bidder, COUNT(*) AS bids, WINDOWSTART AS starttime, WINDOWEND AS endtime
  FROM bid WINDOW SESSION (10 SECONDS, GRACE PERIOD 4 SECONDS) GROUP BY bidder EMIT FINAL;
