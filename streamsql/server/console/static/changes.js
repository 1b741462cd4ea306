// The desired pipeline in files: preview and apply, by the endpoints of `streamsql plan` and
// `apply`.

import { planned } from "./api.js";
import { Failed, Results } from "./results.js";
import { session } from "./run.js";
import { SqlEditor } from "./sql_editor.js";
import { read, write } from "./storage.js";
import { useRun } from "./use_run.js";
import { html, useRef, useState } from "./vendor/ui.js";

const SIGNS = { created: "+", changed: "~", dropped: "−" };
const REFUSED = 5;
const CHANGES = 2;
const TYPED = "typed text";

export function Changes() {
  const handle = useRef(null);
  const text = useRef(read("changes", ""));
  const [files, setFiles] = useState([]);
  const [prune, setPrune] = useState(false);
  const [plan, setPlan] = useState(null);
  const [run, begin] = useRun();
  const latest = useRef(0);

  /** Previews the effect; of several requests, the last one wins. */
  const ask = async (given) => {
    begin(null);
    setPlan({ asking: true });
    const number = ++latest.current;
    const found = await planned(given, session).catch((error) => ({ error }));
    if (number === latest.current) setPlan({ given, ...found });
  };
  const given = () => ({
    files: files.length ? files : [{ name: TYPED, sql: text.current }],
    prune,
  });
  const choose = async (event) => {
    const chosen = [...event.target.files];
    setFiles(await Promise.all(chosen.map(async (f) => ({ name: f.name, sql: await f.text() }))));
    setPlan(null);
  };
  const changed = (sql) => {
    text.current = sql;
    write("changes", sql);
  };
  return html`<div class="editor changes">
    <div class="pane">
      <div class="toolbar">
        <label>Files <input type="file" multiple accept=".sql" onChange=${choose} /></label>
      </div>
      ${files.length
        ? html`<${Files} files=${files} onClear=${() => setFiles([])} />`
        : html`<${SqlEditor} text=${text.current} handle=${handle} onChange=${changed}
            keys=${{ "Mod-Enter": () => ask(given()) }} />`}
      <div class="toolbar" role="toolbar" aria-label="Changes">
        <button class="primary" onClick=${() => ask(given())}>Plan</button>
        <label><input type="checkbox" checked=${prune}
          onChange=${(event) => setPrune(event.target.checked)} /> Drop objects that are not in the files</label>
        <span class="space"></span>
        <button onClick=${() => ask({ undo: true })}>Undo the last apply</button>
      </div>
    </div>
    <div class="pane outcome">
      ${plan ? html`<${Plan} plan=${plan} run=${run} onApply=${() => begin(plan.given)} />`
        : html`<p class="message">All that a file defines is compared with what runs. Nothing happens
          before you apply the plan.</p>`}
      ${run && html`<${Results} run=${run} />`}
    </div>
  </div>`;
}

function Files({ files, onClear }) {
  return html`<div class="sql-editor files">
    ${files.map(({ name, sql }) => html`<details key=${name} class="group">
      <summary>${name}</summary><pre class="text" tabindex="0">${sql}</pre></details>`)}
    <button onClick=${onClear}>Type it instead</button>
  </div>`;
}

function Plan({ plan, run, onApply }) {
  if (plan.asking) return html`<p class="message">Asking …</p>`;
  if (plan.error) return html`<${Failed} error=${plan.error} />`;
  const changes = plan.changes.filter(({ action }) => action in SIGNS);
  const busy = run?.running || (run && !run.error);
  return html`<section aria-label="Plan">
    <ul class="planned">${changes.map((item) => html`<${Item} key=${`${item.kind} ${item.name}`}
      item=${item} />`)}</ul>
    ${plan.errors.map((error, index) => html`<pre key=${index} class="problem">${error.text}</pre>`)}
    <p>${summary(plan, changes)}</p>
    ${plan.exit_code === CHANGES && html`<div class="toolbar">
      <button class="primary" disabled=${busy} onClick=${onApply}>Apply</button>
      ${run?.running && html`<span class="message">running …</span>`}
    </div>`}
  </section>`;
}

function Item({ item }) {
  const what = item.change === null ? item.action : `class ${item.change}, ${item.meaning}`;
  return html`<li class=${item.change === REFUSED ? "refused" : item.action}>
    <p><b>${SIGNS[item.action]}</b> <small>${item.kind}</small> <b>${item.name}</b>: ${what}</p>
    ${item.parts.map((part, index) => html`<p key=${index}>${part.clause}: ${part.text}<br />
      <small>${part.effect}</small>
      ${part.instead && html`<br /><small>if its state were kept: ${part.instead}</small>`}</p>`)}
    ${item.state && html`<p>state: ${item.state}</p>`}
    ${item.action !== "created" && item.readers.length > 0 && html`<p><small>seen by:
      ${" "}${item.readers.join(", ")}</small></p>`}
  </li>`;
}

function summary({ errors }, changes) {
  if (errors.length) return "Nothing can be applied: see above.";
  if (!changes.length) return "No changes. The running pipeline matches the files.";
  const counts = Object.keys(SIGNS)
    .map((action) => [action, changes.filter((item) => item.action === action).length])
    .filter(([, count]) => count)
    .map(([action, count]) => `${count} ${action}`);
  const refused = changes.filter((item) => item.change === REFUSED).length;
  return `${counts.join(", ")}.${refused ? ` ${refused} of them are rejected.` : ""}`;
}
