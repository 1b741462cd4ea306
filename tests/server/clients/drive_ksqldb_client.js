// Runs npm's `ksqldb-client` against a server, over HTTP/2 without TLS; prints JSON.
const KsqldbClient = require("ksqldb-client");

async function main(port, suffix) {
  const stream = `JS_${suffix}`;
  const client = new KsqldbClient({ host: "http://127.0.0.1", port: Number(port), timeout: 300000 });
  await client.connect();
  const found = {};
  found.created = await client.executeStatement(
    `CREATE STREAM ${stream} (ID INT KEY, NAME VARCHAR) WITH (KAFKA_TOPIC='${stream}', VALUE_FORMAT='JSON', PARTITIONS=1);`
  );
  found.inserted = [];
  for (const row of [{ ID: 1, NAME: "a" }, { id: 2, name: "b" }, { ID: "x" }]) {
    found.inserted.push(await client.insertInto(stream, row));
  }
  const pushed = [];
  await client.streamQuery(`SELECT * FROM ${stream} EMIT CHANGES LIMIT 2;`, (data) =>
    pushed.push(...(data.rows || []))
  );
  found.pushed = pushed;
  let closed;
  const ended = client.streamQuery(`SELECT * FROM ${stream} EMIT CHANGES;`, (data) => {
    if (!closed && data.rows && data.rows.length) closed = client.terminatePushQuery(data.metadata.queryId);
  });
  found.ended = (await ended).status;
  found.closed = (await closed).status;
  found.pulled = await client.query(`SELECT * FROM ${stream};`);
  found.wrong = await client.query("SELECT * FROM nowhere;");
  found.streams = await client.listStreams();
  found.described = await client.describeSource(stream);
  await client.disconnect();
  console.log(JSON.stringify(found));
}

main(...process.argv.slice(2)).catch((error) => {
  console.error(error);
  process.exit(1);
});
