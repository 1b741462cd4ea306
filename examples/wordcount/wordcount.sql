-- Lines of text: streamsql load examples/wordcount/jabberwocky.txt --topic lines
CREATE STREAM lines (line STRING)
  WITH (KAFKA_TOPIC = 'lines', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

-- Each line becomes as many rows as it has words.
CREATE STREAM words AS
  SELECT EXPLODE(SPLIT(LCASE(line), ' ')) AS word
  FROM lines
  EMIT CHANGES;

CREATE TABLE word_counts AS
  SELECT word, COUNT(*) AS times
  FROM words
  WHERE word <> ''
  GROUP BY word
  EMIT CHANGES;
