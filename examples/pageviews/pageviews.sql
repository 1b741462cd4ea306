-- Page views as `streamsql datagen --schema pageviews` makes them; their time is `viewtime`.
CREATE STREAM pageviews (
  userid STRING KEY,
  pageid STRING,
  viewtime BIGINT
) WITH (KAFKA_TOPIC = 'pageviews', VALUE_FORMAT = 'JSON', PARTITIONS = 1, TIMESTAMP = 'viewtime');

-- Who looked at how many pages, minute by minute?
CREATE TABLE views_by_user_and_minute AS
  SELECT
    userid,
    COUNT(*) AS views,
    COUNT_DISTINCT(pageid) AS pages
  FROM pageviews
  WINDOW TUMBLING (SIZE 1 MINUTE)
  GROUP BY userid
  EMIT CHANGES;
