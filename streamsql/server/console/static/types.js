// Formats values by the text of their type: a STRUCT arrives as a list of its fields' values, a MAP
// as one of pairs, and types that JSON lacks as text.

const PLAIN = /^(?:`(?:[^`]|``)*`|[^<>,`(]+(?:\([^)]*\))?)/;

/** A function from a value of the type to text; `type` is null for rows of SHOW. */
export function writer(type) {
  if (!type || !type.includes("<")) return plain;
  const inner = written(reader(type));
  return (value) => (value === null ? "NULL" : inner(value));
}

function plain(value) {
  if (value === null || value === undefined) return "NULL";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

const scalar = (value) => JSON.stringify(value);
const nullable = (write) => (value) => (value === null ? "null" : write(value));

function reader(text) {
  return { text, at: 0 };
}

function take(from, expected) {
  while (from.text[from.at] === " ") from.at += 1;
  if (!from.text.startsWith(expected, from.at)) return false;
  from.at += expected.length;
  return true;
}

function word(from) {
  while (from.text[from.at] === " ") from.at += 1;
  const found = PLAIN.exec(from.text.slice(from.at))?.[0] ?? "";
  from.at += found.length;
  return found.trim();
}

/** The writer of the type at `from`, which is passed. */
function written(from) {
  if (take(from, "ARRAY<")) {
    const element = nullable(written(from));
    take(from, ">");
    return (values) => `[${values.map(element).join(", ")}]`;
  }
  if (take(from, "MAP<")) {
    const key = nullable(written(from));
    take(from, ",");
    const value = nullable(written(from));
    take(from, ">");
    return (pairs) => `{${pairs.map(([k, v]) => `${key(k)}: ${value(v)}`).join(", ")}}`;
  }
  if (take(from, "STRUCT<")) {
    const members = [];
    while (!take(from, ">") && from.at < from.text.length) {
      const name = word(from).replace(/^`|`$/g, "").replaceAll("``", "`");
      members.push([name, nullable(written(from))]);
      take(from, ",");
    }
    return (cells) =>
      `{${members.map(([name, write], i) => `${JSON.stringify(name)}: ${write(cells[i])}`).join(", ")}}`;
  }
  word(from);
  return scalar;
}
