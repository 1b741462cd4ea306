// Files of statements on the server: opened and saved, if the server allows it.

import { get, post } from "./api.js";
import { html, useEffect, useState } from "./vendor/ui.js";

const SCRIPTS = "streamsql/scripts";
const pathOf = (name) => `${SCRIPTS}/${encodeURIComponent(name)}`;

/** `text` refers to the editor's text; `onOpen` receives the text of a file. */
export function Scripts({ text, onOpen }) {
  const [known, setKnown] = useState({ opens: false, saves: false, scripts: [] });
  const [name, setName] = useState("");
  const [opened, setOpened] = useState(null); // { name, version }
  const [said, setSaid] = useState("");
  const list = () => get(SCRIPTS).then(setKnown).catch((error) => setSaid(error.message));
  useEffect(() => void list(), []);
  if (!known.opens) return null;

  const tell = (work) => work.catch((error) => setSaid(error.message));
  const open = (chosen) => tell(get(pathOf(chosen)).then((found) => {
    setOpened({ name: found.name, version: found.version });
    setName(found.name);
    setSaid(`${found.name} is open.`);
    onOpen(found.sql);
  }));
  const save = () => {
    const version = opened?.name === name ? opened.version : null;
    return tell(post(pathOf(name), { sql: text.current, version }).then((found) => {
      setOpened(found);
      setSaid(`${found.name} is saved.`);
      return list();
    }));
  };
  return html`<div class="toolbar scripts" role="toolbar" aria-label="Files on the server">
    <label>Open <select aria-label="Open a file of the server" value=""
      onChange=${(event) => event.target.value && open(event.target.value)}>
      <option value="">a file …</option>
      ${known.scripts.map((each) => html`<option key=${each} value=${each}>${each}</option>`)}
    </select></label>
    ${known.saves && html`
      <input aria-label="Name of the file" placeholder="name.sql" value=${name}
        onInput=${(event) => setName(event.target.value)} />
      <button disabled=${!name} onClick=${save}>Save</button>`}
    <span role="status">${said}</span>
  </div>`;
}
