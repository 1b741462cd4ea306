// From the server's query list to nodes and edges, and from two samples to rates: no views, no
// requests.

import { Graph, layout } from "./vendor/dagre.js";

const SLOW_SECONDS = 5;
const SLOW_RECORDS = 1000;
const CHARACTER = 7.4;
const WIDTH = { least: 120, most: 260 };
const HEIGHT = 46;

const CONNECTOR_HEALTH = { RUNNING: "well", FAILED: "failed", PAUSED: "paused", STOPPED: "paused" };

/** The model of a graph: [{id, kind, name, ..}] and [{from, to, ..}]; `before`: an older sample. */
export function model(seen, before) {
  const nodes = [];
  const edges = [];
  const seconds = before ? (seen.at - before.at) / 1000 : 0;
  const old = new Map((before?.queries ?? []).map((query) => [query.id, query]));
  const shared = counted(seen.sources.map((source) => source.topic));
  const sources = seen.sources.filter((source) => !source.builtIn || reads(seen, source.name));
  const topics = new Set();
  for (const source of sources) {
    nodes.push({ id: `source ${source.name}`, kind: source.kind.toLowerCase(), name: source.name,
      below: source.lookedUp ?? source.topic, state: "", source });
    if (source.lookedUp) continue;
    // The topic that a query writes is part of its node; others have nodes of their own.
    if (source.writers.length && shared.get(source.topic) === 1) continue;
    topics.add(source.topic);
    const speed = written(seen, before, source.topic, seconds);
    edges.push({ from: `topic ${source.topic}`, to: `source ${source.name}`, rate: speed, lag: null });
  }
  const connectors = seen.connectors ?? [];
  for (const topic of connectors.flatMap((connector) => connector.topics)) {
    if (!sources.some((source) => source.topic === topic)) topics.add(topic);
  }
  for (const topic of topics) {
    nodes.push({ id: `topic ${topic}`, kind: "topic", name: topic, state: "",
      below: seen.topics[topic] === undefined ? "" : `${seen.topics[topic]} records` });
  }
  for (const view of seen.views) {
    nodes.push({ id: `source ${view.name}`, kind: "view", name: view.name, below: "", state: "" });
    for (const name of view.reads) {
      edges.push({ from: `source ${name}`, to: `source ${view.name}`, rate: null, lag: null });
    }
  }
  for (const query of seen.queries) {
    const last = old.get(query.id);
    const speeds = ratesOf(query, last, seconds);
    const state = health(query, speeds, last);
    nodes.push({ id: `query ${query.id}`, kind: "query", name: query.id, query, ...speeds,
      below: [query.mode, query.guarantee === "exactly_once" ? "exactly once" : ""]
        .filter(Boolean).join(" · "),
      state });
    for (const read of query.reads) {
      const earlier = last?.reads.find((each) => each.source === read.source);
      const between = last ? (query.readAt - last.readAt) / 1000 : 0;
      edges.push({ from: `source ${read.source}`, to: `query ${query.id}`, lag: read.lag,
        slow: state !== "well", rate: perSecond(read.offset, earlier?.offset, between) });
    }
    if (query.sink) {
      edges.push({ from: `query ${query.id}`, to: `source ${query.sink}`, rate: speeds.out, lag: null });
    }
  }
  for (const connector of connectors) {
    const id = `connector ${connector.name}`;
    nodes.push({ id, kind: "connector", name: connector.name, connector,
      below: `${connector.className.split(".").at(-1)} · ${connector.type}`,
      state: CONNECTOR_HEALTH[connector.state] ?? "waiting" });
    for (const topic of connector.topics) {
      const other = topics.has(topic) ? `topic ${topic}`
        : `source ${sources.find((source) => source.topic === topic).name}`;
      const [from, to] = connector.type === "sink" ? [other, id] : [id, other];
      edges.push({ from, to, rate: written(seen, before, topic, seconds), lag: null });
    }
  }
  const known = new Set(nodes.map((node) => node.id));
  return { nodes, edges: edges.filter(({ from, to }) => known.has(from) && known.has(to)) };
}

function counted(names) {
  const found = new Map();
  for (const name of names) found.set(name, (found.get(name) ?? 0) + 1);
  return found;
}

const reads = (seen, name) =>
  seen.queries.some((query) => query.reads.some((read) => read.source === name));

function written(seen, before, topic, seconds) {
  return perSecond(seen.topics[topic], before?.topics[topic], seconds);
}

/** Null if unknown; a counter that decreased was reset. */
function perSecond(now, then, seconds) {
  if (now == null || then == null || seconds <= 0) return null;
  return Math.max(0, now - then) / seconds;
}

function ratesOf(query, last, seconds) {
  return {
    in: perSecond(query.records_in, last?.records_in, seconds),
    out: perSecond(query.records_out, last?.records_out, seconds),
  };
}

/** failed, waiting, erring, slow, paused or well: the meaning of its colour. */
export function health(query, speeds, last) {
  if (query.state === "ERROR") return "failed";
  if (query.state === "WAITING") return "waiting";
  if (query.state === "PAUSED" || query.state === "STANDBY") return "paused";
  if (last && (query.errors ?? 0) > (last.errors ?? 0)) return "erring";
  const bound = Math.max(SLOW_RECORDS, SLOW_SECONDS * (speeds.in ?? 0));
  if (query.state === "CATCHING_UP" || (query.lag ?? 0) > bound) return "slow";
  return "well";
}

/** The input of the layout. */
export function shape({ nodes, edges }, across) {
  return JSON.stringify([across, nodes.map((n) => [n.id, n.name.length]), edges.map((e) => [e.from, e.to])]);
}

/** The layout: by id a node's centre and size, by "from > to" an edge's points and label. */
export function placed({ nodes, edges }, across) {
  const graph = new Graph({ multigraph: false });
  graph.setGraph({ rankdir: across ? "LR" : "TB", nodesep: 18, ranksep: 50, marginx: 12, marginy: 12 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const node of nodes) {
    const length = Math.max(node.name.length, node.below.length * 0.85);
    const width = Math.min(WIDTH.most, Math.max(WIDTH.least, length * CHARACTER + 40));
    graph.setNode(node.id, { width, height: HEIGHT });
  }
  for (const { from, to } of edges) graph.setEdge(from, to, { width: 80, height: 26, labelpos: "c" });
  layout(graph);
  const { width, height } = graph.graph();
  return {
    width: Math.max(width || 0, 1),
    height: Math.max(height || 0, 1),
    nodes: new Map(graph.nodes().map((id) => [id, graph.node(id)])),
    edges: new Map(graph.edges().map((edge) => [`${edge.v} > ${edge.w}`, graph.edge(edge)])),
  };
}
