// The editor view: statements, their results, EXPLAIN, and the history.

import { clock, rate } from "./format.js";
import { Results } from "./results.js";
import { Scripts } from "./scripts.js";
import { statementAt } from "./sql.js";
import { SqlEditor } from "./sql_editor.js";
import { read, write } from "./storage.js";
import { useRun } from "./use_run.js";
import { html, useRef, useState } from "./vendor/ui.js";

const REMEMBERED = 100;

export function Editor({ given }) {
  const handle = useRef(null);
  const text = useRef(given ?? read("draft", ""));
  const [run, begin] = useRun();
  const [plan, explain] = useRun();
  const [history, setHistory] = useState(() => read("history", []));
  const [showsHistory, setShowsHistory] = useState(false);

  const chosen = () => {
    const view = handle.current;
    if (!view) return text.current;
    const { from, to } = view.state.selection.main;
    return from === to ? view.state.doc.toString() : view.state.sliceDoc(from, to);
  };
  const start = () => {
    const sql = chosen().trim();
    if (!sql) return;
    begin(sql);
    setHistory((known) => {
      const kept = [{ sql, at: Date.now() }, ...known.filter((each) => each.sql !== sql)];
      write("history", kept.slice(0, REMEMBERED));
      return kept.slice(0, REMEMBERED);
    });
  };
  const startPlan = () => {
    const view = handle.current;
    if (!view) return;
    const { from, to, head } = view.state.selection.main;
    const sql = from === to ? statementAt(view.state.doc.toString(), head).text : chosen();
    if (sql.trim()) explain(/^\s*EXPLAIN\b/i.test(sql) ? sql : `EXPLAIN ${sql.trim()}`);
  };
  const replace = (sql) => {
    const view = handle.current;
    view?.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: sql } });
    view?.focus();
    setShowsHistory(false);
  };
  const keys = { "Mod-Enter": start, "Mod-e": startPlan };
  const changed = (sql) => {
    text.current = sql;
    write("draft", sql);
  };
  return html`<div class="editor">
    <div class="pane">
      <${SqlEditor} text=${text.current} handle=${handle} keys=${keys} checks onChange=${changed} />
      <div class="toolbar" role="toolbar" aria-label="Statements">
        <button class="primary" onClick=${start} title="Ctrl-Enter">Run</button>
        <button onClick=${startPlan} title="Ctrl-E">Explain</button>
        ${run?.running && html`<${Running} run=${run} />`}
        <span class="space"></span>
        <button aria-expanded=${showsHistory} onClick=${() => setShowsHistory(!showsHistory)}>
          History</button>
      </div>
      <${Scripts} text=${text} onOpen=${replace} />
      ${showsHistory && html`<${History} entries=${history} onChoice=${replace}
        onClear=${() => (write("history", []), setHistory([]))} />`}
    </div>
    <div class="pane outcome">
      ${plan && html`<section class="plan" aria-label="Explanation">
        <button class="close" aria-label="Close the explanation"
          onClick=${() => explain(null)}>×</button>
        <${Results} run=${plan} />
      </section>`}
      ${run ? html`<${Results} run=${run} />` : !plan && html`<p class="message">
        What statements give is shown here. Ctrl-Enter runs what is selected, or all.</p>`}
    </div>
  </div>`;
}

function Running({ run }) {
  const live = run.results.find((result) => result.live);
  return html`<span class="running">
    <button onClick=${() => run.stop()}>Stop</button>
    ${live && html`<button aria-pressed=${run.paused} onClick=${() => run.pause(!run.paused)}>
      ${run.paused ? "Continue" : "Pause"}</button>`}
    ${live ? html`<${Speed} result=${live} />` : html`<span>running …</span>`}
  </span>`;
}

/** Rows per second, over the last few seconds. */
function Speed({ result }) {
  const seen = useRef([]);
  const now = performance.now();
  seen.current.push([now, result.count]);
  while (seen.current.length > 2 && seen.current[0][0] < now - 5000) seen.current.shift();
  const [since, count] = seen.current[0];
  const perSecond = now > since ? ((result.count - count) * 1000) / (now - since) : 0;
  return html`<span class="speed">${rate(perSecond)}</span>`;
}

function History({ entries, onChoice, onClear }) {
  if (!entries.length) return html`<p class="message">No statements were run in this browser.</p>`;
  return html`<section class="history" aria-label="What was run">
    <ul>${entries.map((entry) => html`<li key=${entry.sql}>
      <button onClick=${() => onChoice(entry.sql)}>
        <code>${entry.sql}</code><small>${clock(entry.at)}</small></button></li>`)}</ul>
    <button onClick=${onClear}>Forget all</button>
  </section>`;
}
