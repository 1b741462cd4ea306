// The processing log, grouped by reason.

const EXAMPLES = 5;
const LOG = "KSQL_PROCESSING_LOG";
const KINDS = {
  deserializationError: "cannot be read",
  recordProcessingError: "cannot be processed",
  productionError: "cannot be written",
  serializationError: "cannot be encoded",
  dataLoss: "was deleted before it was read",
  lateRow: "arrived late",
};
const MESSAGES = Object.keys(KINDS).map((kind) => `message->${kind}->errorMessage`);
const RECORDS = ["message->deserializationError->recordB64", "message->recordProcessingError->record",
  "message->serializationError->record"];
const CAUSES = ["deserializationError", "recordProcessingError", "serializationError"].map(
  (kind) => `message->${kind}->cause`);
export const SQL = `SELECT time, queryId, \`TOPIC\`, \`PARTITION\`, offset, ${
  [...MESSAGES, ...RECORDS, ...CAUSES].map((text, index) => `${text} AS c${index}`).join(", ")
} FROM ${LOG} WHERE level IS NULL OR level <> 'INFO' EMIT CHANGES;`;
// A replayed record whose entry is informational.

/** The common part of errors with one reason: values and numbers of a record are removed. */
export function reason(message) {
  return message
    .replace(/'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"/g, "…")
    .replace(/\b\d[\d.,:T+-]*/g, "N")
    .slice(0, 300);
}

/** One row of the log as {kind, message, record, ..}. */
export function entry([time, query, topic, partition, offset, ...parts]) {
  const messages = parts.splice(0, MESSAGES.length);
  const [encoded, ...records] = parts.splice(0, RECORDS.length);
  const which = messages.findIndex((message) => message !== null);
  return {
    time: Number(time),
    query,
    topic,
    partition,
    offset,
    kind: Object.values(KINDS)[which] ?? "failed",
    message: messages[which] ?? "no reason given",
    record: records.find((record) => record !== null) ?? decoded(encoded),
    cause: parts.find((cause) => cause !== null) ?? [],
  };
}

function decoded(base64) {
  if (!base64) return null;
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  return new TextDecoder().decode(bytes);
}

/** Groups by query, kind and reason; each keeps a limited number of examples. */
export class Groups {
  constructor() {
    this.count = 0;
    this._groups = new Map();
  }

  add(found) {
    const key = JSON.stringify([found.query, found.kind, reason(found.message)]);
    const group = this._groups.get(key) ??
      { key, query: found.query, kind: found.kind, reason: found.message, count: 0, examples: [],
        first: found.time, last: found.time };
    group.count += 1;
    group.first = Math.min(group.first, found.time);
    group.last = Math.max(group.last, found.time);
    group.examples = [found, ...group.examples].slice(0, EXAMPLES);
    this._groups.set(key, group);
    this.count += 1;
  }

  /** The most frequent first. */
  all() {
    return [...this._groups.values()].sort((a, b) => b.count - a.count || b.last - a.last);
  }
}
