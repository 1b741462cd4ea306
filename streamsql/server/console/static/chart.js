// A result as a chart: a line over time or another number, bars of categories, one number.

import uPlot from "./vendor/uplot.js";
import { html, useEffect, useMemo, useRef, useState } from "./vendor/ui.js";
import { cell } from "./format.js";

export const CHARTS = ["Line", "Bar", "Number"];
const NUMBERS = /^(INT|INTEGER|BIGINT|DOUBLE|DECIMAL)/;
const TIMES = /^(TIMESTAMP|DATE)/;
const MILLISECONDS = /^(WINDOWSTART|WINDOWEND|ROWTIME)$/;
const HEIGHT = 300;
const BARS = 50;
const LINE_POINTS = 5000;

const isNumber = (field) => NUMBERS.test(field.type ?? "") && !MILLISECONDS.test(field.name);
const isTime = (field) => TIMES.test(field.type ?? "") || MILLISECONDS.test(field.name);

/** The initial columns: over time if there is one, else over the first that is not a number. */
export function chosen(fields, kind) {
  const numbers = [...fields.keys()].filter((index) => isNumber(fields[index]));
  const time = fields.findIndex(isTime);
  const category = fields.findIndex((field) => !isNumber(field) && !isTime(field));
  const y = numbers.at(-1) ?? -1;
  const other = numbers.find((index) => index !== y) ?? -1;
  const x = kind === "Bar" ? [category, time, other] : [time, other, -1];
  return { x: x.find((index) => index >= 0) ?? -1, y };
}

/** Points [x, y] of the rows; of rows with the same x the newest, as in a table. */
export function points(result, kind, { x, y }) {
  const found = new Map();
  const field = result.fields[x];
  for (const row of result.rows) {
    const at = x < 0 ? row.number : position(row.cells[x], field, kind);
    if (row.tombstone) {
      found.delete(at);
      continue;
    }
    const value = Number(row.cells[y]);
    if (at === null || row.cells[y] === null || Number.isNaN(value)) continue;
    found.set(at, value);
  }
  const all = [...found];
  if (kind === "Bar") return all.slice(-BARS);
  return all.sort((a, b) => a[0] - b[0]).slice(-LINE_POINTS);
}

function position(value, field, kind) {
  if (kind === "Bar") return cell(value);
  if (value === null) return null;
  if (MILLISECONDS.test(field.name)) return Number(value) / 1000;
  const number = isTime(field) ? Date.parse(zoned(value)) / 1000 : Number(value);
  return Number.isNaN(number) ? null : number;
}

/** SQL times have no zone; they are in UTC. */
function zoned(text) {
  const given = String(text).replace(" ", "T");
  return /T/.test(given) && !/(Z|[+-]\d\d:?\d\d)$/.test(given) ? `${given}Z` : given;
}

export function Chart({ result, kind }) {
  const start = useMemo(() => chosen(result.fields, kind), [result.fields, kind]);
  const [axes, setAxes] = useState(start);
  useEffect(() => setAxes(start), [start]);
  const names = result.fields.map((field) => field.name);
  if (axes.y < 0) return html`<p class="message">No column of this result is a number.</p>`;
  return html`<div class="chart">
    <p class="axes">
      <${Choice} label="Value" names=${names} chosen=${axes.y}
        onChoice=${(y) => setAxes({ ...axes, y })} />
      ${kind !== "Number" && html`<${Choice} label="Over" names=${names} chosen=${axes.x} none="rows"
        onChoice=${(x) => setAxes({ ...axes, x })} />`}
    </p>
    ${kind === "Number"
      ? html`<${Newest} result=${result} column=${axes.y} />`
      : html`<${Plot} result=${result} kind=${kind} axes=${axes} count=${result.count} />`}
  </div>`;
}

function Choice({ label, names, chosen, none, onChoice }) {
  return html`<label>${label} <select value=${chosen} onChange=${(e) => onChoice(Number(e.target.value))}>
    ${none && html`<option value="-1">${none}</option>`}
    ${names.map((name, index) => html`<option key=${name} value=${index}>${name}</option>`)}
  </select></label>`;
}

function Newest({ result, column }) {
  const row = result.rows.findLast((each) => !each.tombstone);
  return html`<p class="figure"><output>${row ? result.fields[column].write(row.cells[column]) : "–"}</output>
    <small>${result.fields[column].name}</small></p>`;
}

function options(result, kind, { x, y }, width, labels, style) {
  const field = result.fields[x];
  const axis = { stroke: style.text, grid: { stroke: style.line }, ticks: { stroke: style.line } };
  const name = field?.name ?? "row";
  const series = { label: result.fields[y].name, stroke: style.accent, width: 2 };
  const bars = { fill: style.accent, paths: uPlot.paths.bars({ size: [0.7, 60] }) };
  const ticks = {
    splits: () => labels.map((_, index) => index),
    values: (_, splits) => splits.map((index) => String(labels[index] ?? "").slice(0, 12)),
    rotate: labels.length > 8 ? -50 : 0,
    size: labels.length > 8 ? 90 : 50,
  };
  const time = kind === "Line" && field !== undefined && isTime(field);
  return {
    width,
    height: HEIGHT,
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "UTC"),
    scales: {
      x: kind === "Bar" ? { time: false, range: [-0.6, Math.max(labels.length - 0.4, 0.6)] } : { time },
      y: kind === "Bar" ? { range: (_, low, high) => [Math.min(0, low), Math.max(high * 1.05, 1)] } : {},
    },
    axes: [kind === "Bar" ? { ...axis, ...ticks } : axis, { ...axis, size: 70 }],
    series: [{ label: name, value: shownX(kind, labels, time) },
      kind === "Bar" ? { ...series, ...bars } : series],
  };
}

function shownX(kind, labels, time) {
  if (kind === "Bar") return (_, index) => labels[index] ?? "–";
  if (!time) return (_, number) => number ?? "–";
  return (_, seconds) => (seconds === null ? "–" : new Date(seconds * 1000).toISOString());
}

function colours(element) {
  // A property may be a function of the theme, which a resolved colour is not.
  const of = (name) => {
    element.style.color = `var(${name})`;
    const found = getComputedStyle(element).color;
    element.style.color = "";
    return found;
  };
  return { text: of("--text"), line: of("--line"), accent: of("--accent") };
}

function Plot({ result, kind, axes, count }) {
  const host = useRef(null);
  const plot = useRef(null);
  const found = points(result, kind, axes);
  const labels = kind === "Bar" ? found.map(([at]) => at) : [];
  const data = [
    found.map(([at], index) => (kind === "Bar" ? index : at)),
    found.map(([, value]) => value),
  ];
  // Recreated when its form changes, else only given new data.
  const form = `${kind} ${axes.x} ${axes.y} ${kind === "Bar" ? labels.join("\0") : ""}`;
  useEffect(() => {
    const element = host.current;
    const width = () => Math.max(240, element.clientWidth);
    const given = options(result, kind, axes, width(), labels, colours(element));
    plot.current = new uPlot(given, data, element);
    const resized = new ResizeObserver(() => plot.current.setSize({ width: width(), height: HEIGHT }));
    resized.observe(element);
    return () => {
      resized.disconnect();
      plot.current.destroy();
    };
  }, [form]);
  useEffect(() => plot.current.setData(data), [count, form]);
  const label = `${kind} chart of ${result.fields[axes.y].name}, ${found.length} points`;
  return html`<div class="plot" role="img" aria-label=${label} ref=${host}></div>`;
}
