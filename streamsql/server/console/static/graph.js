// The graph of topics, streams, tables and queries, with the flow through it.

import { get } from "./api.js";
import { Details } from "./details.js";
import { milliseconds, rate, short } from "./format.js";
import { model, placed, shape } from "./graph_model.js";
import { html, useEffect, useMemo, useRef, useState } from "./vendor/ui.js";

const LOOK_MS = 1000;
const NARROW = 700;
const RATES_MS = 5000; // The window of rates: records often come in bursts.
const WORDS = {
  failed: "failed", waiting: "waiting", erring: "records fail", slow: "behind",
  paused: "paused", well: "well",
};

/** The samples for rates, requested while the page is visible. */
function useLooks() {
  const [looks, setLooks] = useState({ all: [], problem: null });
  useEffect(() => {
    const abort = new AbortController();
    let timer;
    const look = async () => {
      if (!document.hidden) {
        try {
          const seen = await get("streamsql/graph", abort.signal);
          setLooks(({ all }) => ({ all: withNewest(all, seen), problem: null }));
        } catch (error) {
          if (abort.signal.aborted) return;
          setLooks((known) => ({ ...known, problem: error.message }));
        }
      }
      timer = setTimeout(look, LOOK_MS);
    };
    look();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, []);
  return { seen: looks.all.at(-1), before: looks.all.at(-2) && looks.all[0], problem: looks.problem };
}

function withNewest(looks, seen) {
  const others = looks.filter(({ at }) => at < seen.at && at >= seen.at - RATES_MS - LOOK_MS / 2);
  return [...others, seen];
}

/** The inner size of the element that is passed to the function. */
function useSize() {
  const [element, setElement] = useState(null);
  const [size, setSize] = useState({ width: innerWidth, height: innerHeight });
  useEffect(() => {
    if (!element) return undefined;
    const observer = new ResizeObserver(() =>
      setSize({ width: element.clientWidth, height: element.clientHeight }));
    observer.observe(element);
    return () => observer.disconnect();
  }, [element]);
  return [size, setElement];
}

export function GraphView({ onOpen }) {
  const { seen, before, problem } = useLooks();
  const [selected, setSelected] = useState(null);
  const [zoom, setZoom] = useState(null);
  const space = useRef(null);
  const [{ width, height }, setCanvas] = useSize();
  const across = width >= NARROW;
  const found = useMemo(() => seen && model(seen, before), [seen]);
  const form = found ? shape(found, across) : "";
  const places = useMemo(() => found && placed(found, across), [form]);
  const node = found?.nodes.find((each) => each.id === selected);
  const close = () => {
    const button = space.current?.querySelector("g[aria-pressed=true]");
    setSelected(null);
    button?.focus();
  };
  const scale = zoom ?? fitting(places, width, across ? height : Infinity);
  return html`<div class="graph ${node ? "with-details" : ""}">
    <div class="pane drawing" ref=${space}>
      ${problem && html`<p class="problem" role="alert">${problem}</p>`}
      ${seen?.outage && html`<p class="problem" role="alert">Kafka: ${seen.outage}</p>`}
      ${!seen && !problem && html`<p class="message">Looking …</p>`}
      ${found && !found.nodes.length && html`<p class="message">There is nothing yet: the editor takes
        the first CREATE STREAM.</p>`}
      ${found?.nodes.length > 0 && html`<${Zoom} scale=${scale} onZoom=${setZoom} />
        <div class="canvas" ref=${setCanvas} tabindex="0" role="region" aria-label="Graph">
          <${Drawing} ...${{ found, places, scale, selected }} onSelect=${setSelected} />
        </div>
        <${Queries} nodes=${found.nodes} onSelect=${setSelected} />`}
    </div>
    ${node && html`<${Details} key=${node.id} node=${node} onClose=${close} onOpen=${onOpen} />`}
  </div>`;
}

/** The scale at which everything is visible; a narrow page fits the width and scrolls. */
function fitting(places, width, height) {
  return places ? Math.min(1, width / places.width, height / places.height) : 1;
}

function Zoom({ scale, onZoom }) {
  return html`<div class="toolbar" role="toolbar" aria-label="Size of the graph">
    <${Legend} />
    <span class="space"></span>
    <button aria-label="Smaller" onClick=${() => onZoom(Math.max(0.1, scale / 1.25))}>−</button>
    <button onClick=${() => onZoom(null)}>Fit</button>
    <button aria-label="Larger" onClick=${() => onZoom(Math.min(2, scale * 1.25))}>+</button>
  </div>`;
}

function Legend() {
  return html`<span class="legend">${["well", "slow", "erring", "failed"].map((state) => html`
    <span key=${state}><i class="dot ${state}"></i>${WORDS[state]}</span>`)}</span>`;
}

function Drawing({ found, places, scale, selected, onSelect }) {
  const { width, height } = places;
  return html`<svg width=${width * scale} height=${height * scale} viewBox="0 0 ${width} ${height}"
      role="group" aria-label="Topics, streams, tables and queries">
    <defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"
      orient="auto"><path d="M0 0 8 4 0 8z" /></marker></defs>
    ${found.edges.map((edge) => html`<${Edge} key=${`${edge.from} > ${edge.to}`} edge=${edge}
      place=${places.edges.get(`${edge.from} > ${edge.to}`)} />`)}
    ${found.nodes.map((node) => html`<${Node} key=${node.id} node=${node}
      place=${places.nodes.get(node.id)} selected=${selected === node.id} onSelect=${onSelect} />`)}
  </svg>`;
}

function Edge({ edge, place }) {
  if (!place) return null;
  const [first, ...others] = place.points;
  const path = `M${first.x} ${first.y}${others.map(({ x, y }) => `L${x} ${y}`).join("")}`;
  const flows = edge.rate > 0;
  return html`<g class="edge ${flows ? "flows" : ""}">
    <path d=${path} marker-end="url(#arrow)" />
    ${edge.rate !== null && html`<text x=${place.x} y=${place.y - 3}>${rate(edge.rate)}</text>`}
    ${edge.lag > 0 && html`<text class=${edge.slow ? "lag" : ""} x=${place.x} y=${place.y + 11}>lag ${short(edge.lag)}</text>`}
  </g>`;
}

const SHAPES = {
  topic: (w, h) => `M12 0H${w - 12}Q${w} ${h / 2} ${w - 12} ${h}H12Q0 ${h / 2} 12 0Z`,
  connector: (w, h) => `M0 0H${w}L${w - 10} ${h / 2}L${w} ${h}H0L10 ${h / 2}Z`,
  query: (w, h) => `M10 0H${w - 10}L${w} ${h / 2}L${w - 10} ${h}H10L0 ${h / 2}Z`,
};
const box = (w, h) => `M6 0H${w - 6}Q${w} 0 ${w} 6V${h - 6}Q${w} ${h} ${w - 6} ${h}H6Q0 ${h} 0 ${h - 6}V6Q0 0 6 0Z`;

function Node({ node, place, selected, onSelect }) {
  if (!place) return null;
  const { x, y, width, height } = place;
  const room = Math.floor((width - 34) / 7.4);
  const cut = (text) => (text.length > room ? `${text.slice(0, room - 1)}…` : text);
  const chosen = () => onSelect(node.id);
  const keyed = (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    chosen();
  };
  const about = [node.kind, node.name, WORDS[node.state], node.query?.state ?? node.connector?.state].filter(Boolean).join(", ");
  return html`<g class="node ${node.kind} ${node.state}" role="button" tabindex="0"
      transform="translate(${x - width / 2} ${y - height / 2})" aria-pressed=${selected}
      onClick=${chosen} onKeyDown=${keyed}>
    <title>${about}</title>
    <path d=${(SHAPES[node.kind] ?? box)(width, height)} />
    <text class="name" x=${width / 2} y="20">${cut(node.name)}</text>
    <text class="below" x=${width / 2} y="36">${cut(node.below)}</text>
  </g>`;
}

/** The same as a table, for screen readers, and with more numbers. */
function Queries({ nodes, onSelect }) {
  const queries = nodes.filter((node) => node.kind === "query");
  if (!queries.length) return null;
  const columns = ["Query", "State", "Mode", "Guarantee", "In", "Out", "Lag", "Errors", "Late",
    "p99 (1 min)"];
  return html`<div class="table queries" tabindex="0" role="region" aria-label="Queries">
    <table>
      <thead><tr>${columns.map((name) => html`<th key=${name} scope="col">${name}</th>`)}</tr></thead>
      <tbody>${queries.map((node) => html`<${QueryLine} key=${node.id} node=${node}
        onSelect=${onSelect} />`)}</tbody>
    </table>
  </div>`;
}

function QueryLine({ node, onSelect }) {
  const { query } = node;
  return html`<tr>
    <td><button class="link" onClick=${() => onSelect(node.id)}>${node.name}</button></td>
    <td><i class="dot ${node.state}"></i>${query.state}${query.asleep ? " (asleep)" : ""}</td>
    <td>${query.mode}</td>
    <td>${(query.guarantee ?? "").replaceAll("_", " ")}</td>
    <td class="number">${rate(node.in)}</td>
    <td class="number">${rate(node.out)}</td>
    <td class="number">${short(query.lag)}</td>
    <td class="number">${short(query.errors)}</td>
    <td class="number">${short(query.rows_late)}</td>
    <td class="number">${milliseconds(query.latency["1m"]?.p99)}</td>
  </tr>`;
}
