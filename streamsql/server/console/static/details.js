// The details of a node: DESCRIBE, EXPLAIN, its statement, and records of its topic.

import { literal, milliseconds, quoted, short } from "./format.js";
import { Results } from "./results.js";
import { useRun } from "./use_run.js";
import { html, useEffect, useRef, useState } from "./vendor/ui.js";

const SAMPLES = 20;
const WINDOWS = { "1m": "minute", "1h": "hour" };

function tabsOf(node) {
  const sample = (topic) => `PRINT ${literal(topic)} FROM BEGINNING LIMIT ${SAMPLES};`;
  if (node.kind === "query") {
    return { Explain: `EXPLAIN ${quoted(node.query.id)};`, Statement: node.query.sql };
  }
  if (node.kind === "connector") return { Describe: `DESCRIBE CONNECTOR ${quoted(node.name)};` };
  if (node.kind === "topic") return { Records: sample(node.name) };
  const told = {
    Describe: `DESCRIBE ${quoted(node.name)} EXTENDED;`,
    Lineage: `SHOW LINEAGE OF ${quoted(node.name)};`,
  };
  if (node.kind === "view") return told;
  if (node.source.lookedUp) return { ...told, Statement: node.source.statement };
  return { ...told, Records: sample(node.source.topic), Statement: node.source.statement };
}

export function Details({ node, onClose, onOpen }) {
  const tabs = tabsOf(node);
  const [tab, setTab] = useState(Object.keys(tabs)[0]);
  const title = useRef(null);
  useEffect(() => title.current.focus(), []);
  const keyed = (event) => event.key === "Escape" && onClose();
  const from = node.kind === "query" ? node.query.sink : ["topic", "connector"].includes(node.kind) ? null : node.name;
  return html`<aside class="pane details" aria-label=${`${node.kind} ${node.name}`} onKeyDown=${keyed}>
    <header>
      <h2 tabindex="-1" ref=${title}><small>${node.kind}</small> ${node.name}</h2>
      <button class="close" aria-label="Close" onClick=${onClose}>×</button>
    </header>
    ${node.query && html`<${State} node=${node} />`}
    ${node.source?.comment && html`<p>${node.source.comment}</p>`}
    <div class="tabs" role="group" aria-label="Shown">
      ${Object.keys(tabs).map((name) => html`<button key=${name} aria-pressed=${name === tab}
        onClick=${() => setTab(name)}>${name}</button>`)}
      ${from && html`<button onClick=${() => onOpen(`SELECT * FROM ${quoted(from)} EMIT CHANGES;`)}>
        Open in the editor</button>`}
    </div>
    ${tab === "Statement"
      ? html`<pre class="text" tabindex="0">${tabs[tab]}</pre>`
      : html`<${Told} key=${tab} sql=${tabs[tab]} />`}
  </aside>`;
}

function State({ node: { query, state } }) {
  return html`<p class="state"><i class="dot ${state}"></i> ${query.state}
    ${query.reason && html` · ${query.reason}`} · lag ${short(query.lag)}
    · ${short(query.errors)} errors · ${short(query.rows_late)} late
    ${Object.entries(WINDOWS).map(([window, name]) => query.latency[window] &&
      html`<br />Latency of the last ${name}: ${latency(query.latency[window])}`)}</p>
    ${query.error && html`<p class="problem">${query.error}</p>`}`;
}

const latency = (found) =>
  ["p50", "p95", "p99", "max"].map((name) => `${name} ${milliseconds(found[name])}`).join(", ");

/** The output of a read-only statement. */
function Told({ sql }) {
  const [run, begin] = useRun();
  useEffect(() => {
    begin(sql);
  }, []);
  if (!run) return null;
  const lines = run.results.find((result) => result.kind === "lines");
  return html`<${Results} run=${run} />
    ${run.running && html`<p class="message">${lines ? "Waiting for records …" : "Asking …"}</p>`}`;
}
