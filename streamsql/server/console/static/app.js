// The console: after the login it shows a view; the part of the URL after # selects it.

import { get, login, post, whenClosed } from "./api.js";
import { Changes } from "./changes.js";
import { Editor } from "./editor.js";
import { Errors } from "./errors.js";
import { GraphView } from "./graph.js";
import { read, write } from "./storage.js";
import { html, render, useEffect, useRef, useState } from "./vendor/ui.js";

const VIEWS = { graph: "Graph", editor: "Editor", errors: "Errors", changes: "Changes" };
const NO_TOKEN = 40101;
const TOKEN = "#token=";
const THEMES = { auto: "Auto", light: "Light", dark: "Dark" };

const viewOf = () => {
  const name = location.hash.slice(1);
  return name in VIEWS ? name : "graph";
};

/** The token in the address that the server printed; it is removed from the address bar. */
async function tokenOfAddress() {
  if (!location.hash.startsWith(TOKEN)) return;
  const token = location.hash.slice(TOKEN.length);
  history.replaceState(null, "", location.pathname);
  await login({ token }).catch(() => {});
}

function useTheme() {
  const [theme, setTheme] = useState(() => read("theme", "auto"));
  useEffect(() => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    write("theme", theme);
  }, [theme]);
  return [theme, setTheme];
}

function App() {
  const [view, setView] = useState(viewOf);
  const [who, setWho] = useState(null);
  const [closed, setClosed] = useState(null);
  const [theme, setTheme] = useTheme();
  const given = useRef(null);
  const enter = (about) => {
    setWho(about);
    setClosed(null);
  };
  useEffect(() => {
    whenClosed((refused) => {
      setWho(null);
      setClosed(refused);
    });
    const come = () => tokenOfAddress()
      .then(() => get("streamsql/session"))
      .then(enter)
      .catch((error) => error.status === 401 || setClosed(error));
    const changed = () => {
      setView(viewOf());
      // The address with the token may be opened in a tab that shows the console already.
      if (location.hash.startsWith(TOKEN)) come();
    };
    come();
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  const open = (sql) => {
    given.current = sql;
    location.hash = "editor";
  };
  const leave = () => post("streamsql/logout", {}).then(() => location.reload());
  return html`
    <header class="top">
      <h1>streamsql</h1>
      ${who && html`<nav aria-label="Views">${Object.entries(VIEWS).map(([name, title]) => html`
        <a key=${name} href="#${name}" aria-current=${name === view ? "page" : null}>${title}</a>`)}
      </nav>`}
      <span class="space"></span>
      ${who?.user && html`<span class="user">${who.user} (${who.role})
        <button onClick=${leave}>Log out</button></span>`}
      <label class="theme">Theme <select value=${theme} onChange=${(e) => setTheme(e.target.value)}>
        ${Object.entries(THEMES).map(([name, title]) => html`
          <option key=${name} value=${name}>${title}</option>`)}
      </select></label>
    </header>
    <main>
      ${closed && html`<${Door} closed=${closed} onEnter=${enter} />`}
      ${who && view === "graph" && html`<${GraphView} onOpen=${open} />`}
      ${who && view === "editor" && html`<${Editor} given=${taken(given)} />`}
      ${who && view === "errors" && html`<${Errors} />`}
      ${who && view === "changes" && html`<${Changes} />`}
    </main>`;
}

/** A one-time message from another view to this one. */
function taken(ref) {
  const found = ref.current;
  ref.current = null;
  return found;
}

function Door({ closed, onEnter }) {
  const [problem, setProblem] = useState(null);
  const byToken = closed.code === NO_TOKEN;
  if (closed.status !== 401) return html`<p class="problem" role="alert">${closed.message}</p>`;
  const submitted = async (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    const given = byToken
      ? { token: form.get("token").trim() }
      : { user: form.get("user"), password: form.get("password") };
    try {
      onEnter(await login(given));
    } catch (error) {
      setProblem(error.message);
    }
  };
  return html`<form class="door" onSubmit=${submitted}>
    <h2>${byToken ? "The server's token" : "Log in"}</h2>
    ${byToken && html`<p>The server has printed an address with its token when it started. Open that
      address, or give the token here.</p>`}
    ${byToken
      ? html`<${Field} name="token" label="Token" type="password" hint="off" />`
      : html`<${Field} name="user" label="User" type="text" hint="username" />
        <${Field} name="password" label="Password" type="password" hint="current-password" />`}
    ${problem && html`<p class="problem" role="alert">${problem}</p>`}
    <button class="primary">Enter</button>
  </form>`;
}

function Field({ name, label, type, hint }) {
  return html`<label>${label} <input name=${name} type=${type} autocomplete=${hint} required /></label>`;
}

render(html`<${App} />`, document.getElementById("app"));
