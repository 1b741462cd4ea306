// What a program in Node does with `pg`: prints all that it was answered as one object of JSON.
const { Client, Pool, types } = require("pg");
const Cursor = require("pg-cursor");

const DATE = 1082;
types.setTypeParser(DATE, (text) => text);

async function main(port) {
  const where = { host: "127.0.0.1", port, user: "ann", database: "streamsql" };
  const client = new Client(where);
  await client.connect();
  const found = {};
  found.rows = (await client.query("SELECT * FROM readings")).rows;
  const text = "SELECT sensor FROM readings WHERE n = $1 AND tags = $2";
  for (const values of [[5, ["a", null]], [6, ["b"]]]) {
    found.prepared = (await client.query({ name: "named", text, values })).rows;
  }
  const binary = { text: "SELECT n, good FROM readings", rowMode: "array", binary: true };
  found.binary = (await client.query(binary)).rows;
  found.error = await client
    .query("SELECT nope FROM readings")
    .catch((error) => [error.code, error.position]);
  const cursor = client.query(new Cursor("SELECT n FROM readings EMIT CHANGES"));
  found.cursor = [await cursor.read(3), await cursor.read(2)];
  await cursor.close();
  found.relations = (
    await client.query("SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace")
  ).rows;
  await client.end();
  const pool = new Pool({ ...where, max: 4 });
  const query = (n) => pool.query("SELECT n FROM readings WHERE n = $1", [n]);
  found.pool = (await Promise.all([1, 2, 3, 4, 5, 6].map(query))).map((result) => result.rowCount);
  await pool.end();
  console.log(JSON.stringify(found));
}

main(Number(process.argv[2])).catch((error) => {
  console.error(error);
  process.exit(1);
});
