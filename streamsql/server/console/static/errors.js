// Records that queries could not process, by reason, live.

import { execute } from "./api.js";
import { clock, quoted, short } from "./format.js";
import { entry, Groups, SQL } from "./errors_model.js";
import { Failed, Results } from "./results.js";
import { session } from "./run.js";
import { useRun } from "./use_run.js";
import { html, useEffect, useState } from "./vendor/ui.js";

const RENDER_MS = 300;

/** The log from its beginning, read while the view is shown. */
function useGroups() {
  const [shown, setShown] = useState({ groups: [], count: 0, problem: null });
  useEffect(() => {
    const abort = new AbortController();
    const groups = new Groups();
    let timer = null;
    const show = (problem = null) => setShown({ groups: groups.all(), count: groups.count, problem });
    const later = () => {
      timer ??= setTimeout(() => {
        timer = null;
        show();
      }, RENDER_MS);
    };
    const read = async () => {
      for await (const lines of execute(SQL, session, abort.signal)) {
        for (const line of lines) {
          if (Array.isArray(line)) groups.add(entry(line));
          else if (line.type === "error") return show(line);
        }
        later();
      }
      return null;
    };
    read().catch((error) => abort.signal.aborted || show(error));
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, []);
  return shown;
}

export function Errors() {
  const { groups, count, problem } = useGroups();
  return html`<div class="pane errors">
    <h2>Records that failed <small>${short(count)}</small></h2>
    ${problem && html`<${Failed} error=${problem} />`}
    ${!groups.length && !problem && html`<p class="message">None so far. What a query cannot process
      comes here as it happens; the query goes on.</p>`}
    ${groups.map((group) => html`<${Group} key=${group.key} group=${group} />`)}
  </div>`;
}

function Group({ group }) {
  return html`<details class="group">
    <summary>
      <span class="count">${short(group.count)}</span>
      <span class="reason">${group.reason}</span>
      <small>${group.query ?? "no query"} · ${group.kind} · last ${clock(group.last)}</small>
    </summary>
    <ul>${group.examples.map((found) => html`<li key=${`${found.topic} ${found.partition} ${found.offset}`}>
      <small>${found.topic ?? "?"}, partition ${found.partition ?? "?"}, offset ${found.offset ?? "?"}
        · ${clock(found.time)}</small>
      <p>${found.message}</p>
      ${found.record && html`<pre class="text" tabindex="0">${found.record}</pre>`}
      ${found.cause.map((cause, index) => html`<p key=${index}><small>${cause}</small></p>`)}
    </li>`)}</ul>
    ${group.query && html`<${Replay} query=${group.query} />`}
  </details>`;
}

/** First the preview, then the same for real. */
function Replay({ query }) {
  const [run, begin] = useRun();
  const [tried, setTried] = useState(false);
  const of = `REPLAY ERRORS OF ${quoted(query)}`;
  const attempt = () => {
    begin(`${of} DRY RUN;`);
    setTried(true);
  };
  return html`<div class="replay">
    <div class="toolbar" role="toolbar" aria-label="Replay">
      <button disabled=${run?.running} onClick=${attempt}>Try a replay of ${query}</button>
      ${tried && run && !run.running && !run.error && html`<button class="primary"
        onClick=${() => (setTried(false), begin(`${of};`))}>Replay in earnest</button>`}
      ${run?.running && html`<span class="message">running …</span>`}
    </div>
    ${run && html`<${Results} run=${run} />`}
  </div>`;
}
