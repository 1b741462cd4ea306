// The results of statements: tables, texts, messages and errors.

import { Chart, CHARTS } from "./chart.js";
import { short } from "./format.js";
import { html, useState } from "./vendor/ui.js";

const SHOWN = 200;
const SHOWN_LIVE = 100;

export function Results({ run }) {
  return html`<div class="results">
    ${run.results.map((result, index) => html`<${Result} key=${`${run.id}.${index}`} ...${{ result }} />`)}
  </div>`;
}

function Result({ result }) {
  switch (result.kind) {
    case "table":
      return html`<${Rows} result=${result} />`;
    case "lines":
      return html`<pre class="text" tabindex="0">${result.rows.slice(-SHOWN).join("\n")}</pre>`;
    case "error":
      return html`<${Failed} error=${result} />`;
    case "warning":
      return html`<p class="warning">${result.text}</p>`;
    case "text":
      return html`<pre class="text" tabindex="0">${result.text}</pre>`;
  }
  return html`<p class="message">${result.text}</p>`;
}

export function Failed({ error }) {
  return html`<div class="problem" role="alert">
    <strong>${error.message}</strong>
    ${error.detail && html`<p>${error.detail}</p>`}
    ${error.hint && html`<p>Hint: ${error.hint}</p>`}
  </div>`;
}

function Rows({ result }) {
  const [view, setView] = useState("Table");
  // The rows of SHOW and DESCRIBE have no types, and no chart.
  const views = result.fields.some((field) => field.type) ? ["Table", ...CHARTS] : [];
  return html`<section class="result">
    <header>
      <span class="count">${counted(result)}</span>
      <span class="tabs" role="group" aria-label="Shown as">
        ${views.map((name) => html`<button key=${name} aria-pressed=${view === name}
          onClick=${() => setView(name)}>${name}</button>`)}
      </span>
    </header>
    ${view === "Table"
      ? html`<${Table} result=${result} />`
      : html`<${Chart} result=${result} kind=${view} />`}
    ${result.final && html`<p class="message">${result.final}</p>`}
  </section>`;
}

function counted(result) {
  const rows = `${short(result.count)} ${result.count === 1 ? "row" : "rows"}`;
  const epoch = result.epoch && `epoch ${result.epoch}`;
  return [result.title, rows, epoch, result.live && "live"].filter(Boolean).join(" · ");
}

function Table({ result }) {
  const [shown, setShown] = useState(SHOWN);
  // Of a continuous query, the newest rows come first.
  const rows = result.live ? result.rows.slice(-SHOWN_LIVE).reverse() : result.rows.slice(0, shown);
  const more = result.live ? 0 : result.rows.length - rows.length;
  return html`<div class="table" tabindex="0" role="region" aria-label="Rows">
    <table>
      <thead><tr>${result.fields.map((field) => html`<th key=${field.name} scope="col">
        ${field.name}${field.type && html`<small>${field.type}</small>`}</th>`)}</tr></thead>
      <tbody>${rows.map((row) => html`<${Line} key=${row.number} row=${row}
        fields=${result.fields} />`)}</tbody>
    </table>
    ${more > 0 && html`<button onClick=${() => setShown(shown + 5 * SHOWN)}>
      Show more (${short(more)})</button>`}
  </div>`;
}

function Line({ row, fields }) {
  return html`<tr class=${row.tombstone ? "deleted" : ""}>
    ${row.cells.map((value, index) => html`<td key=${index} class=${look(value, fields[index])}
      >${fields[index].write(value)}</td>`)}
  </tr>`;
}

function look(value, field) {
  if (value === null) return "null";
  return typeof value === "number" || field.type?.startsWith("DECIMAL") ? "number" : "";
}
