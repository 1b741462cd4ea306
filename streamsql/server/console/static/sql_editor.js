// The editor: CodeMirror, with completion and checks by the server.

import { get, post } from "./api.js";
import { session } from "./run.js";
import { tokenizer } from "./sql.js";
import {
  autocompletion,
  bracketMatching,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
  defaultKeymap,
  drawSelection,
  EditorState,
  EditorView,
  highlightActiveLine,
  HighlightStyle,
  history,
  historyKeymap,
  keymap,
  lineNumbers,
  linter,
  lintKeymap,
  placeholder,
  Prec,
  StreamLanguage,
  syntaxHighlighting,
  tags,
} from "./vendor/codemirror.js";
import { html, useEffect, useRef } from "./vendor/ui.js";

const CHECK_MS = 400;
const KINDS = {
  keyword: "keyword",
  function: "function",
  aggregate: "function",
  "table function": "function",
  type: "type",
  column: "property",
  stream: "class",
  table: "class",
  variable: "variable",
};

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--keyword)", fontWeight: "600" },
  { tag: tags.string, color: "var(--string)" },
  { tag: tags.number, color: "var(--number)" },
  { tag: tags.comment, color: "var(--faint)", fontStyle: "italic" },
  { tag: tags.function(tags.variableName), color: "var(--function)" },
]);

const theme = EditorView.theme({
  "&": { height: "100%", fontSize: "14px", color: "var(--text)", background: "var(--field)" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
  ".cm-content": { fontFamily: "var(--mono)", caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { background: "var(--panel)", color: "var(--faint)", border: "none" },
  ".cm-activeLine, .cm-activeLineGutter": { background: "var(--shade)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground":
    { background: "var(--selection)" },
  // The default is an image in a data: address, which the page's policy forbids.
  ".cm-lintRange-error": {
    backgroundImage: "none",
    textDecoration: "underline wavy var(--bad)",
    textUnderlineOffset: "3px",
  },
  ".cm-placeholder": { color: "var(--faint)" },
  ".cm-tooltip": {
    background: "var(--panel)",
    color: "var(--text)",
    border: "1px solid var(--line)",
    borderRadius: "6px",
  },
  ".cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": {
    background: "var(--accent)",
    color: "var(--on-accent)",
  },
  ".cm-diagnostic": { maxWidth: "60ch", whiteSpace: "pre-wrap" },
});

async function complete(context) {
  const text = context.state.doc.toString();
  const word = context.matchBefore(/[\p{L}\p{N}_`.>-]+$/u);
  if (!word && !context.explicit) return null;
  const abort = new AbortController();
  context.addEventListener("abort", () => abort.abort());
  const given = { before: text.slice(0, context.pos), after: text.slice(context.pos) };
  const found = await post("streamsql/suggest", given, { signal: abort.signal }).catch(() => null);
  if (!found?.suggestions.length) return null;
  return {
    from: context.pos - found.replaces,
    // The server has chosen and ordered them.
    filter: false,
    options: found.suggestions.map(([label, kind, detail]) => ({
      label,
      type: KINDS[kind] ?? "text",
      detail: kind === detail ? kind : [kind, detail].filter(Boolean).join(" · ").slice(0, 60),
    })),
  };
}

async function check(view) {
  const sql = view.state.doc.toString();
  if (!sql.trim()) return [];
  const given = { sql, properties: session.properties, sessionVariables: session.variables };
  const found = await post("streamsql/check", given).catch(() => ({ errors: [] }));
  const length = view.state.doc.length;
  return found.errors.map((error) => {
    const from = Math.min(error.from, length);
    const message = [error.message, error.detail, error.hint && `Hint: ${error.hint}`];
    return {
      from,
      to: Math.min(Math.max(error.to, from), length),
      severity: "error",
      message: message.filter(Boolean).join("\n"),
    };
  });
}

function extensions(words, keys, checks, changed) {
  const bound = Object.entries(keys).map(([key, run]) => ({ key, run: () => (run(), true) }));
  return [
    Prec.highest(keymap.of(bound)),
    lineNumbers(),
    history(),
    drawSelection(),
    bracketMatching(),
    closeBrackets(),
    highlightActiveLine(),
    placeholder("SELECT * FROM .. EMIT CHANGES;"),
    StreamLanguage.define(tokenizer(words)),
    syntaxHighlighting(colours),
    autocompletion({ override: [complete] }),
    checks ? linter(check, { delay: CHECK_MS }) : [],
    // Tab leaves the editor, as it does everywhere else in a page.
    keymap.of([
      ...closeBracketsKeymap,
      ...defaultKeymap,
      ...historyKeymap,
      ...completionKeymap,
      ...lintKeymap,
    ]),
    EditorState.allowMultipleSelections.of(false),
    EditorView.contentAttributes.of({ "aria-label": "SQL statements" }),
    EditorView.updateListener.of((update) => update.docChanged && changed(update.state)),
    theme,
  ];
}

/**
 * `handle.current` becomes the view; `keys` are functions by CodeMirror's names of keys; `checks`:
 * whether invalid statements are underlined.
 */
export function SqlEditor({ text, handle, keys, checks, onChange }) {
  const host = useRef(null);
  useEffect(() => {
    let view = null;
    let gone = false;
    // In a shadow root its styles are adopted: the page's policy allows no style elements.
    const root = host.current.shadowRoot ?? host.current.attachShadow({ mode: "open" });
    get("streamsql/words").catch(() => []).then((words) => {
      if (gone) return;
      const changed = (state) => onChange(state.doc.toString());
      const state = EditorState.create({ doc: text, extensions: extensions(words, keys, checks, changed) });
      view = new EditorView({ state, parent: root, root });
      handle.current = view;
    });
    return () => {
      gone = true;
      view?.destroy();
      handle.current = null;
    };
  }, []);
  return html`<div class="sql-editor" ref=${host}></div>`;
}
