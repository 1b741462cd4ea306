// Running statements: their results so far, for a view to show.

import { apply, execute } from "./api.js";
import { writer } from "./types.js";

/** A continuous query keeps its newest rows; a finite one has a limit. */
export const KEPT_LIVE = 1000;
export const KEPT = 20000;
const BREATH_MS = 16;

/** The effects of SET and DEFINE: each request has a session of its own. */
export const session = { properties: {}, variables: {} };

function changed(line) {
  Object.assign(session.properties, line.set);
  Object.assign(session.variables, line.define);
  for (const name of line.unset) delete session.properties[name];
  for (const name of line.undefine) delete session.variables[name];
}

const breath = () => new Promise((done) => setTimeout(done, 0));

let runs = 0;

export class Run {
  /**
   * Runs statements, or applies {files, prune}; `notify` is called when there are new results, as
   * often as lines arrive.
   */
  constructor(work, notify) {
    this.id = ++runs;
    this._ask = typeof work === "string" ? execute : apply;
    this._work = work;
    this.results = [];
    this.running = false;
    this.error = null;
    this.paused = false;
    this._notify = notify;
    this._abort = new AbortController();
    this._resume = () => {};
    this._rows = null;
  }

  async start() {
    this.running = true;
    this._notify(this);
    try {
      let since = performance.now();
      for await (const lines of this._ask(this._work, session, this._abort.signal)) {
        for (const line of lines) {
          this._take(line);
          if (performance.now() - since > BREATH_MS) {
            // The page has to react to keys and clicks, however many rows arrive.
            await breath();
            since = performance.now();
          }
        }
        this._notify(this);
        if (this.paused) await new Promise((done) => (this._resume = done));
      }
    } catch (error) {
      if (error.name !== "AbortError") this._fail({ message: error.message });
    }
    this.running = false;
    if (this._rows) this._rows.live = false;
    this._notify(this);
  }

  stop() {
    this._abort.abort();
    this._resume();
  }

  /** Later rows wait in Kafka: reading stops. */
  pause(paused) {
    this.paused = paused;
    if (!paused) this._resume();
    this._notify(this);
  }

  _add(result) {
    this.results.push(result);
    return result;
  }

  _fail(error) {
    this.error = error;
    this._add({ kind: "error", ...error });
  }

  _take(line) {
    if (Array.isArray(line) || typeof line === "string") return this._row(line, false);
    if (line.tombstone) return this._row(line.tombstone, true);
    if (line.progress) return (this._rows.epoch = line.progress.epoch);
    switch (line.type) {
      case "message":
      case "warning":
      case "text":
        return this._add({ kind: line.type, text: line.text });
      case "rows":
        return this._add(table(line.fields, line.rows, { title: line.title }));
      case "answer":
        this._rows = this._add(table(line.columns, [], { epoch: line.epoch }));
        return this._rows;
      case "row_stream":
        this._rows = this._add(table(line.fields, [], { live: true }));
        return this._rows;
      case "line_stream":
        this._rows = this._add({ kind: "lines", rows: [], count: 0, live: true });
        return this._rows;
      case "end":
        this._rows.live = false;
        this._rows.final = line.final_message;
        this._rows = null;
        return null;
      case "error":
        return this._fail(line);
      case "session":
        return changed(line);
    }
    return null;
  }

  _row(cells, tombstone) {
    const into = this._rows;
    const row = Array.isArray(cells) ? { cells, tombstone, number: into.count } : cells;
    into.count += 1;
    into.rows.push(row);
    // Rarely, and many at a time: shifting each one would cost more than the rows.
    const bound = into.live ? KEPT_LIVE : KEPT;
    if (into.rows.length > 2 * bound) into.rows = into.rows.slice(-bound);
    return row;
  }
}

function table(fields, rows, more = {}) {
  return {
    kind: "table",
    fields: fields.map(([name, type]) => ({ name, type, write: writer(type) })),
    rows: rows.map((cells, number) => ({ cells, number })),
    count: rows.length,
    ...more,
  };
}
