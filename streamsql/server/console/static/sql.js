// The lexical structure of SQL: the ends of statements, and syntax colours. The server parses it.

/** The end of the comment, string, quoted name or body at `at`; `at` if there is none. */
function skipped(text, at) {
  const ends = { "'": "'", "`": "`", '"': '"' }[text[at]];
  if (ends) return after(text, ends, at + 1);
  if (text.startsWith("--", at)) return after(text, "\n", at);
  if (text.startsWith("/*", at)) return after(text, "*/", at + 2);
  if (text.startsWith("$$", at)) return after(text, "$$", at + 2);
  return at;
}

function after(text, end, from) {
  const found = text.indexOf(end, from);
  return found < 0 ? text.length : found + end.length;
}

/** The statements of a text, each with its semicolon: [{from, to, text}]. */
export function statements(text) {
  const found = [];
  let begin = 0;
  for (let at = 0; at < text.length; ) {
    const next = skipped(text, at);
    if (next > at) {
      at = next;
    } else {
      at += 1;
      if (text[at - 1] === ";") {
        found.push({ from: begin, to: at, text: text.slice(begin, at) });
        begin = at;
      }
    }
  }
  if (text.slice(begin).trim()) {
    found.push({ from: begin, to: text.length, text: text.slice(begin) });
  }
  return found;
}

/** The statement at a position in a text, or the one before it. */
export function statementAt(text, place) {
  const all = statements(text);
  return all.find((each) => place <= each.to) ?? all.at(-1) ?? { from: 0, to: 0, text: "" };
}

/** A tokenizer for CodeMirror's StreamLanguage. */
export function tokenizer(keywords) {
  const known = new Set(keywords);
  return {
    name: "streamsql",
    startState: () => ({ within: null }),
    token(stream, state) {
      if (state.within) return inside(stream, state);
      if (stream.eatSpace()) return null;
      if (stream.match("--")) {
        stream.skipToEnd();
        return "comment";
      }
      for (const [begin, end, style] of QUOTES) {
        if (stream.match(begin)) {
          state.within = { end, style };
          return inside(stream, state);
        }
      }
      if (stream.match(/^\d+(\.\d+)?(e[+-]?\d+)?/i)) return "number";
      if (stream.match(/^[\p{L}_@][\p{L}\p{N}_@]*/u)) {
        if (known.has(stream.current().toUpperCase())) return "keyword";
        return stream.peek() === "(" ? "variableName.function" : "variableName";
      }
      stream.next();
      return "operator";
    },
    languageData: { commentTokens: { line: "--", block: { open: "/*", close: "*/" } } },
  };
}

const QUOTES = [
  ["'", "'", "string"],
  ["/*", "*/", "comment"],
  ["$$", "$$", "string"],
  ["`", "`", "variableName.special"],
  ['"', '"', "variableName.special"],
];

function inside(stream, state) {
  const { end, style } = state.within;
  while (!stream.eol()) {
    if (stream.match(end)) {
      state.within = null;
      return style;
    }
    stream.next();
  }
  return style;
}
