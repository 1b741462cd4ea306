// The requests of the console. All paths are relative: a proxy may add a prefix.

const HEADERS = { "streamsql-console": "1" };

/** An unsuccessful response; `code` is the server's error code. */
export class Refused extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** Called with the error when the session has not been opened, or is over. */
let onClosed = () => {};
export function whenClosed(callback) {
  onClosed = callback;
}

async function asked(path, options) {
  const answer = await fetch(path, { ...options, headers: { ...HEADERS, ...options.headers } });
  if (answer.ok) return answer;
  const body = await answer.json().catch(() => ({}));
  const refused = new Refused(
    answer.status,
    body.error_code ?? answer.status * 100,
    body.message ?? `The server answers ${answer.status}`,
  );
  if (answer.status === 401) onClosed(refused);
  throw refused;
}

export async function get(path, signal) {
  return (await asked(path, { signal })).json();
}

function sent(path, body, { signal, headers = {} } = {}) {
  const json = { "Content-Type": "application/json", ...headers };
  return asked(path, { method: "POST", body: JSON.stringify(body), headers: json, signal });
}

export async function post(path, body, options) {
  return (await sent(path, body, options)).json();
}

/** The token of a server without users, or a name and a password. */
export function login({ token, user, password }) {
  if (user === undefined) return post("streamsql/login", { token });
  const bytes = new TextEncoder().encode(`${user}:${password}`);
  const basic = btoa(String.fromCharCode(...bytes));
  return post("streamsql/login", {}, { headers: { Authorization: `Basic ${basic}` } });
}

const LONG_NUMBER = /\d{16}/;

/** JSON whose large integers become text, since a number would lose digits. */
export function parse(text) {
  if (!LONG_NUMBER.test(text)) return JSON.parse(text);
  return JSON.parse(text, (_, value, context) =>
    typeof value === "number" && context?.source && String(value) !== context.source &&
    /^-?\d+$/.test(context.source) ? context.source : value);
}

/** The results of statements, line by line. */
export function execute(sql, session, signal) {
  return linesOf("streamsql/execute", { sql, ...settings(session) }, signal);
}

/** The results of applying files, line by line. */
export function apply(given, session, signal) {
  return linesOf("streamsql/apply", { ...given, ...settings(session) }, signal);
}

/** The effect of applying files. */
export function planned(given, session, signal) {
  return post("streamsql/plan", { ...given, ...settings(session) }, { signal });
}

function settings(session) {
  return { properties: session.properties, sessionVariables: session.variables };
}

/**
 * The lines of a response as they arrive, in arrays. Nothing is read ahead: a slow reader slows the
 * query down.
 */
async function* linesOf(path, body, signal) {
  const answer = await sent(path, body, { signal });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      yield lines.filter(Boolean).map(parse);
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
