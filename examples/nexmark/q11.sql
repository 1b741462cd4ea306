-- How much a bidder bids at a stretch: sessions, ended by ten seconds of silence.
CREATE TABLE q11 WITH (KEY_FORMAT = 'JSON') AS
  SELECT bidder, COUNT(*) AS bids, WINDOWSTART AS starttime, WINDOWEND AS endtime
  FROM bid WINDOW SESSION (10 SECONDS) GROUP BY bidder;
