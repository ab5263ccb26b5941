// The data that the elements of a page share, and states of the past, in all their parts.

import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.location = { protocol: "http:", pathname: "/page", search: "", hash: "" };
globalThis.history = { pushState: () => {}, replaceState: () => {} };
const { KEYS, address, format, parse } = await import("../../pictures/data/address.js");
const { ClusterClock } = await import("../../pictures/data/cluster_clock.js");
const { HttpSource } = await import("../../pictures/data/http_source.js");
const { CARDS_MAX, Model, model, setSource } = await import("../../pictures/data/model.js");
const { PastState } = await import("../../pictures/data/past_state.js");
const { Player, readTimeline } = await import("../../pictures/data/timeline_reader.js");
const { NodeLabels, SOURCE_UID } = await import("../../pictures/parts/node_labels.js");
const { groupingKeys, shownNodes } = await import("../../pictures/parts/node_filter.js");

const ticks = async (count = 20) => {
  for (let each = 0; each < count; each++) await new Promise((done) => setImmediate(done));
};

/** The bytes of a timeline of rows of time, subject, field and delta. */
function bytesOf(subjects, fields, rows, firstNs = 0) {
  const json = JSON.stringify({ subjects, fields, firstNs: String(firstNs), rows: rows.length });
  const header = new TextEncoder().encode(json.padEnd(Math.ceil(json.length / 8) * 8));
  const body = rows.length * 22 + ((8 - ((rows.length * 22) % 8)) % 8);
  const bytes = new Uint8Array(16 + header.length + body);
  const view = new DataView(bytes.buffer);
  bytes.set(new TextEncoder().encode("PWT1"));
  view.setUint32(4, header.length, true);
  view.setBigUint64(8, BigInt(body), true);
  bytes.set(header, 16);
  let at = 16 + header.length;
  for (const [time] of rows) view.setBigInt64((at += 8) - 8, BigInt(time), true);
  for (const row of rows) view.setBigInt64((at += 8) - 8, BigInt(row[3]), true);
  for (const [, subject] of rows) view.setUint32((at += 4) - 4, subject, true);
  for (const row of rows) view.setUint16((at += 2) - 2, fields.indexOf(row[2]), true);
  return bytes.buffer;
}

const SUBJECTS = [["node", "n1"], ["node", "n2"], ["pod", "a/p"], ["pod", "a/q"], ["reason", "Fit, Taint"], ["workload", "Job a/train"]];
const FIELDS = ["present", "queue", "node", "phase", "attempts", "waitsFor", "workload", "deleting", "requested/cpu"];
const pastOf = (...rows) => new PastState(readTimeline(bytesOf(SUBJECTS, FIELDS, rows)));

// ----------------------------------------------------------------------------------- address

test("every key of the address goes there and back, in its order", () => {
  assert.deepEqual(KEYS, ["view", "pod", "node", "color", "only", "filter", "group", "search", "attempt", "value", "why", "if", "at", "change", "configuration", "run", "with", "plan"]);
  const state = Object.fromEntries(KEYS.map((key) => [key, `${key} & =/:?`]));
  assert.equal(format({ pod: "a b/c:d", plan: "é" }), "pod=a%20b/c:d&plan=%C3%A9");
  assert.deepEqual(parse(format(state)), state);
  assert.deepEqual(parse("?pod=&pod=x&other=y&at=1"), { at: "1" });
});

test("the browser's way back changes the state", async () => {
  const listeners = new Map();
  globalThis.addEventListener = (type, listener) => listeners.set(type, listener);
  globalThis.location = { protocol: "http:", pathname: "/page", search: "?pod=a/p", hash: "#pod=a/q" };
  const { address: own } = await import("../../pictures/data/address.js?back");
  assert.deepEqual([own.get(), [...listeners.keys()]], [{ pod: "a/p" }, ["popstate"]]);
  const changes = [];
  own.addEventListener("change", (event) => changes.push(event.detail));
  location.search = "?node=n";
  listeners.get("popstate")();
  location.protocol = "file:";
  listeners.get("popstate")();
  listeners.get("popstate")();
  assert.deepEqual([own.get(), changes], [{ pod: "a/q" }, [["pod", "node"], ["pod", "node"]]]);
  globalThis.location = { protocol: "http:", pathname: "/page", search: "", hash: "" };
  delete globalThis.addEventListener;
});

test("another pod ends what was about the one before, the same pod does not", () => {
  address.set({ pod: "a/p", attempt: "2", why: "n", if: "x", only: "r", color: "score" });
  assert.equal(address.link({ pod: "a/p" }), "?pod=a/p&color=score&only=r&attempt=2&why=n&if=x");
  assert.equal(address.link({ node: "m" }), "?pod=a/p&node=m&color=score&only=r&attempt=2&why=n&if=x");
  assert.equal(address.link({ pod: "a/q", attempt: "1" }), "?pod=a/q&color=score&attempt=1");
  address.set({ pod: "a/q" });
  assert.deepEqual(address.get(), { pod: "a/q", color: "score" });
  address.set({ pod: null, color: "" });
  assert.deepEqual(address.get(), {});
});

// ------------------------------------------------------------------------------------- model

const SNAPSHOT = { nodes: ["n1"], fields: ["present"], columns: [[1]], time: "t", pods: {} };
const CHANGES = { nodes: [], fields: [], slotIndex: [], fieldIndex: [], values: [], time: "u", pods: {} };

function made({ isLive = true, schedulers = [{ schedulerNames: ["x", "y"] }, { schedulerNames: ["z"] }], rows = [[5, 0, "present", 1], [9, 0, "present", -1]] } = {}) {
  const paths = [];
  const failing = new Set();
  const source = {
    isLive,
    paths,
    failing,
    starts: 0,
    state(listener) {
      source.starts += 1;
      source.listener = listener;
      return () => (source.starts -= 1);
    },
    get: async (path) => {
      paths.push(path.split("?")[0]);
      if (failing.has(path.split("?")[0])) throw new Error("refused");
      if (path.startsWith("/api/v1/nodes")) return { items: [{ metadata: { name: "n1", resourceVersion: "1", labels: { a: "b" } } }], metadata: { resourceVersion: "1" } };
      if (path === "/api/v1/pods") return { columnDefinitions: [{ name: "Node" }], rows: [["p", "n1"], ["q", "<none>"], ["r", "n1"]].map(([name, node]) => ({ cells: [node], object: { metadata: { namespace: "a", name } } })) };
      return { schedulers };
    },
    bytes: async (path) => (paths.push(path), bytesOf(SUBJECTS, FIELDS, rows, rows[0][0])),
  };
  const data = new Model(source);
  const events = [];
  for (const type of ["state", "live", "mode", "connection", "labels", "pods", "explained"]) data.addEventListener(type, () => events.push(type));
  return { data, source, events };
}

test("a new model shows the present, of which it knows nothing", () => {
  const { data, source } = made();
  assert.deepEqual(
    [data.past, data.isPast, data.isPlaying, data.explained, data.isLoadingPast, data.pastError, data.labelsError, data.followsNodes, data.hasScheduler, data.users, data.nodesVersion],
    [null, false, false, null, false, "", "", false, true, 0, -1],
  );
  assert.deepEqual([data.connection, data.isEditable, data.state === data.live, data.pods], [{ isConnected: true, reason: "" }, true, true, new Map()]);
  assert.equal(source.starts, 0);
});

test("the stream is one for all users", () => {
  const { data, source } = made();
  const stops = [data.use(), data.use(), data.use()];
  assert.equal(source.starts, 1);
  stops.forEach((stop, index) => {
    stop();
    assert.equal(source.starts, index < 2 ? 1 : 0);
  });
  data.use();
  assert.equal(source.starts, 1);
});

test("another server may have other schedulers", async () => {
  const { data, source, events } = made();
  const stop = data.use();
  assert.deepEqual(await data.schedulers(), ["x", "z"]);
  source.listener("changes", CHANGES);
  await data.schedulers();
  assert.deepEqual(source.paths, ["/podwright/v1/schedulers"]);
  source.listener("snapshot", SNAPSHOT);
  await data.schedulers();
  assert.deepEqual(source.paths, ["/podwright/v1/schedulers", "/podwright/v1/schedulers"]);
  assert.deepEqual(events, ["live", "state", "live", "state"]);
  stop();
});

test("nodes are loaded at once where a state is known, also an empty one of version 0", () => {
  const { data } = made();
  const loads = [];
  data.refresh = () => loads.push("refresh");
  data.followNodes();
  assert.deepEqual(loads, []);
  data.nodesVersion = 0;
  data.followNodes();
  assert.deepEqual(loads, ["refresh"]);
});

test("a timeline is being loaded until it is there", async () => {
  const { data } = made();
  const seen = [];
  data.addEventListener("mode", () => seen.push(data.isLoadingPast));
  await data.loadPast();
  assert.deepEqual([seen, data.loading], [[true, false], null]);
});

test("labels are loaded with a snapshot, and where nodes come while no watch follows them", async () => {
  const { data, source, events } = made();
  const loads = [];
  data.labelsLoad = () => loads.push("labels");
  data.podsLoad = () => loads.push("pods");
  const stop = data.use();
  data.followNodes();
  assert.deepEqual(loads, [], "nothing is known yet");
  source.listener("snapshot", SNAPSHOT);
  assert.deepEqual(loads.splice(0), ["labels", "pods"]);
  source.listener("changes", CHANGES);
  assert.deepEqual(loads.splice(0), ["pods"]);
  source.listener("changes", { ...CHANGES, slotIndex: [0], fieldIndex: [0], values: [1] });
  assert.deepEqual(loads.splice(0), ["labels", "pods"]);
  data.nodeLabels.isFollowed = true;
  source.listener("changes", { ...CHANGES, slotIndex: [0], fieldIndex: [0], values: [1] });
  assert.deepEqual(loads.splice(0), ["pods"]);
  const many = Array.from({ length: CARDS_MAX + 1 }, (_, at) => `n${at}`);
  source.listener("snapshot", { ...SNAPSHOT, nodes: many, columns: [many.map(() => 1)] });
  assert.deepEqual([loads.splice(0), data.hasCards], [["labels"], false]);
  data.refresh();
  assert.deepEqual(loads.splice(0), ["labels"]);
  source.listener("snapshot", { ...SNAPSHOT, nodes: many.slice(1), columns: [many.slice(1).map(() => 1)] });
  assert.deepEqual([loads.splice(0), data.hasCards], [["labels", "pods"], true]);
  data.followNodes();
  assert.deepEqual(loads.splice(0), ["pods", "labels"]);
  source.listener("nodes", { type: "STARTED" });
  assert.deepEqual(loads.splice(0), ["labels"]);
  source.listener("other", {});
  assert.deepEqual([loads, events.filter((type) => type === "connection")], [[], []]);
  stop();
});

test("a change of labels is published as one event", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const { data, source, events } = made();
  data.labelsLoad = () => {};
  data.podsLoad = () => {};
  const stop = data.use();
  const change = (resourceVersion, labels) => source.listener("nodes", { type: "MODIFIED", name: "n1", resourceVersion, labels });
  change("2", { a: "b" });
  assert.equal(data.nodeLabels.isFollowed, false, "the nodes are not followed");
  data.followNodes();
  change("2", { a: "b" });
  change("3", { a: "c" });
  change("4", { a: "d" });
  assert.deepEqual([data.labels.get("n1"), events], [{ a: "b" }, ["labels"]]);
  for (let each = 0; each < 3; each++) {
    await ticks();
    context.mock.timers.tick(200);
  }
  assert.deepEqual([data.labels.get("n1"), events], [{ a: "d" }, ["labels", "labels"]]);
  stop();
});

test("what cannot be loaded is said of labels, and not of pods", async () => {
  const { data, source, events } = made();
  source.failing.add("/api/v1/nodes").add("/api/v1/pods");
  const stop = data.use();
  data.followNodes();
  source.listener("snapshot", SNAPSHOT);
  await ticks();
  assert.deepEqual([data.labelsError, events, data.pods.size], ["refused", ["live", "state", "labels"], 0]);
  source.failing.clear();
  const again = made();
  const end = again.data.use();
  again.data.labelsError = "before";
  again.data.followNodes();
  again.source.listener("snapshot", SNAPSHOT);
  await ticks();
  assert.equal(again.data.labelsError, "");
  assert.deepEqual([...again.data.pods].map(([node, pods]) => [node, pods.map(({ pod }) => pod)]), [["n1", ["a/p", "a/r"]], ["", ["a/q"]]]);
  assert.deepEqual([again.data.podsOf(0).length, again.data.podsOf(5)], [2, []]);
  stop();
  end();
});

test("the connection changes once, and back with the next part", () => {
  const { data, source, events } = made();
  const stop = data.use();
  source.listener("disconnected", { reason: "a" });
  source.listener("disconnected", { reason: "b" });
  source.listener("disconnected", { reason: "b" });
  assert.deepEqual([events, data.connection, data.isEditable], [["connection", "connection"], { isConnected: false, reason: "b" }, false]);
  source.listener("snapshot", SNAPSHOT);
  assert.deepEqual([events.slice(2), data.connection, data.isEditable], [["connection", "live", "state"], { isConnected: true, reason: "" }, true]);
  stop();
});

test("the past is shown until its time leaves the address", async () => {
  const { data, source, events } = made();
  const stop = data.use();
  source.listener("snapshot", SNAPSHOT);
  data.past = null;
  data.isPast = true;
  assert.equal(data.state, data.live, "nothing is loaded");
  data.isPast = false;
  events.length = 0;
  await data.loadPast();
  assert.deepEqual([events, data.isLoadingPast, data.isPast, data.state === data.live], [["mode", "mode"], false, false, true]);
  events.length = 0;
  address.set({ at: "1970-01-01T00:00:00.000000006Z" });
  await ticks();
  assert.deepEqual([data.isPast, data.past.timeNs, data.state === data.past, data.isEditable], [true, 6n, true, false]);
  assert.deepEqual(events, ["mode", "state"]);
  source.listener("changes", CHANGES);
  assert.deepEqual(events.splice(0), ["mode", "state", "live"]);
  assert.deepEqual([data.podsOf(0), data.source.paths.filter((path) => path.endsWith("timeline")).length], [[], 1]);
  data.isPlaying = true;
  address.set({ at: null });
  await ticks();
  assert.deepEqual([data.isPast, data.isPlaying, data.pastError, events], [false, false, "", ["mode", "state"]]);
  events.length = 0;
  address.set({ search: "x" });
  address.set({ search: null });
  await ticks();
  assert.deepEqual(events, [], "the past is left once");
  stop();
});

test("of two times that are chosen while the timeline is loaded, the later choice is shown", async () => {
  const { data, events } = made();
  await Promise.all([data.seek(6n), data.seek(8n)]);
  assert.deepEqual([data.past.timeNs, events.filter((type) => type === "state").length], [8n, 1]);
  await data.seek(9n);
  assert.equal(data.source.paths.length, 1, "the end is within");
  await data.seek(3n);
  assert.equal(data.past.timeNs, 5n);
});

test("a record without a present shows its end, and a chosen time where the address has one", async () => {
  const { data, events } = made({ isLive: false });
  const stop = data.use();
  await ticks();
  assert.deepEqual([data.past.timeNs, data.isPast, data.isEditable, events], [9n, true, false, ["mode", "mode", "mode", "state"]]);
  address.set({ at: "1970-01-01T00:00:00.000000006Z" });
  await ticks();
  assert.deepEqual([data.past.timeNs, await data.schedulers(), data.source.paths], [6n, null, ["/podwright/v1/timeline"]]);
  address.set({ at: null });
  await ticks();
  assert.equal(data.past.timeNs, 9n);
  stop();
});

test("a record that cannot be read says why, and shows nothing", async () => {
  const { data, source } = made({ isLive: false });
  source.bytes = async () => {
    throw new Error("no log");
  };
  const stop = data.use();
  await ticks();
  assert.deepEqual([data.pastError, data.past, data.isPast], ["no log", null, false]);
  stop();
});

test("a user who may not list the schedulers has a past", async () => {
  const { data, source } = made();
  source.failing.add("/podwright/v1/schedulers");
  assert.deepEqual([await data.schedulers(), data.hasScheduler], [null, true]);
  const none = made({ schedulers: [] });
  assert.deepEqual([await none.data.schedulers(), none.data.hasScheduler, none.events], [[], false, ["mode"]]);
  await none.data.schedulers();
  assert.deepEqual(none.events, ["mode"]);
});

test("the model of a page is one, until it gets another source", () => {
  const first = model();
  assert.ok(first.source instanceof HttpSource);
  assert.deepEqual([first.source.base, first.source.feeds, first.source.isLive, model() === first], ["/server", "/feeds", true, true]);
  const { source } = made();
  setSource(source);
  assert.deepEqual([model().source === source, model() === model()], [true, true]);
});

test("the clock of a cluster is looked at where the server has it", async () => {
  const asked = [];
  const clock = new ClusterClock({ get: async (path) => (asked.push(path), { time: "1970-01-01T00:00:02Z", speed: 2, isPaused: true }) });
  assert.deepEqual([clock.state, clock.readMs, clock.nowNs()], [null, 0, null]);
  await clock.look();
  assert.deepEqual([asked, clock.nowNs()], [["/podwright/v1/clock"], 2_000_000_000n]);
  clock.take({ ...clock.state, isPaused: false });
  clock.readMs = performance.now() - 1000;
  const now = clock.nowNs();
  assert.ok(now >= 4_000_000_000n && now < 5_000_000_000n, String(now));
});

// -------------------------------------------------------------------------------------- past

test("each place of the queue is counted and named as elsewhere", () => {
  const subjects = [...SUBJECTS, ...Array.from({ length: 6 }, (_, at) => ["pod", `b/${at + 1}`])];
  const state = new PastState(readTimeline(bytesOf(subjects, FIELDS, Array.from({ length: 6 }, (_, at) => [1, 6 + at, "queue", at + 1]))));
  state.seek(1n);
  assert.deepEqual(state.pods, { unschedulable: 1, backoff: 2, gated: 1, active: 1, in_flight: 1, placed: 0 });
  assert.deepEqual(state.waiting(5), {
    pods: [4, 2, 3, 5, 1, 6].map((place, at) => ({ pod: `b/${place}`, place: ["unschedulable", "backoff", "error_backoff", "gated", "active", "in_flight"][at], workload: "", created: "", attempts: 0, rejectedBy: [] })),
    counts: { unschedulable: 1, backoff: 1, error_backoff: 1, gated: 1, active: 1, in_flight: 1 },
  });
  const { counts, groups } = state.waitingGroups(1);
  assert.deepEqual(counts, { unschedulable: 1, backoff: 1, errorBackoff: 1, gated: 1, active: 1, inFlight: 1 });
  assert.deepEqual(groups.map(({ place }) => place), ["unschedulable", "backoff", "errorBackoff", "gated", "active", "inFlight"]);
  assert.deepEqual([1, 2, 3, 4, 5, 6].map((at) => state.pod(`b/${at}`)), Array(6).fill(null), "they have no phase");
});

test("a pod has its phase, place and node, and is placed while it is active", () => {
  const shown = (phase, ...rows) => {
    const state = pastOf([1, 2, "phase", phase], ...rows);
    state.seek(1n);
    return [state.pod("a/p"), state.pods.placed, [...state.podsBySlot()]];
  };
  const node = [1, 2, "node", 2];
  for (const [phase, status, isActive] of [[1, "Pending", true], [2, "Running", true], [3, "Succeeded", false], [4, "Failed", false], [5, "Unknown", true]]) {
    const pod = { pod: "a/p", status, node: "n2", place: "", attempts: 0 };
    assert.deepEqual(shown(phase, node), [pod, Number(isActive), isActive ? [[1, [{ pod: "a/p", status }]]] : []]);
  }
  assert.deepEqual(shown(1, node, [1, 2, "queue", 6], [1, 2, "attempts", 3]), [{ pod: "a/p", status: "Pending", node: "n2", place: "in_flight", attempts: 3 }, 0, [[1, [{ pod: "a/p", status: "Pending" }]]]]);
  assert.deepEqual(shown(2, node, [1, 2, "deleting", 1])[2], [[1, [{ pod: "a/p", status: "Terminating" }]]]);
  assert.deepEqual(shown(1, [1, 3, "phase", 2], [1, 3, "node", 2], node)[2], [[1, [{ pod: "a/p", status: "Pending" }, { pod: "a/q", status: "Running" }]]]);
});

test("why a pod of the past waits, and what controls it", () => {
  const state = pastOf([1, 2, "queue", 4], [1, 2, "waitsFor", 5], [1, 2, "workload", 6], [1, 2, "attempts", 2], [1, 2, "phase", 1]);
  state.seek(1n);
  assert.deepEqual(state.waiting(1).pods, [{ pod: "a/p", place: "unschedulable", workload: "Job/train", created: "", attempts: 2, rejectedBy: ["Fit", "Taint"] }]);
  assert.deepEqual([...state.places()], [["a/p", { node: "", workload: "Job a/train" }]]);
});

test("a timeline without some fields has none of their values", () => {
  const state = new PastState(readTimeline(bytesOf([["node", "n"], ["pod", "a/p"]], ["phase"], [[7, 1, "phase", 1]], 7)));
  assert.deepEqual([state.pods, state.waiting(3).pods, state.pod("a/p")], [{ unschedulable: 0, backoff: 0, gated: 0, active: 0, in_flight: 0, placed: 0 }, [], { pod: "a/p", status: "Pending", node: "", place: "", attempts: 0 }]);
  assert.deepEqual([state.slots(), state.column("present").length, state.isKnown, state.beginNs, state.endNs, state.timeNs], [[], 0, true, 7n, 7n, 7n]);
});

test("no bytes are a timeline of nothing", () => {
  const found = readTimeline(new ArrayBuffer(0));
  assert.deepEqual([found.subjects, found.fields, found.firstNs, found.timesNs.length, found.fieldIndex.length], [[], [], 0n, 0, 0]);
});

test("columns are of the nodes, at the time", () => {
  const state = pastOf([1, 0, "present", 1], [1, 1, "present", 1], [2, 1, "requested/cpu", 5], [3, 0, "present", -1]);
  assert.deepEqual([state.names, state.nodesVersion], [["n1", "n2"], 1]);
  const seen = [1n, 2n, 3n].map((time) => {
    state.seek(time);
    return [[...state.column("present")], [...state.column("requested/cpu")], state.slots(), state.nodesVersion];
  });
  assert.deepEqual(seen, [[[1, 1], [0, 0], [0, 1], 2], [[1, 1], [0, 5], [0, 1], 2], [[0, 1], [0, 5], [1], 3]]);
});

test("a player adds what is at a time, and takes away what is later", () => {
  const player = new Player(readTimeline(bytesOf(SUBJECTS, FIELDS, [[1, 2, "queue", 3], [2, 2, "queue", -1], [2, 3, "attempts", 7]])));
  const values = (time) => (player.seek(time), [player.value(2, 1), player.value(3, 4), player.row]);
  assert.deepEqual([0n, 1n, 2n, 1n, 0n, 9n].map(values), [[0, 0, 0], [3, 0, 1], [2, 7, 3], [3, 0, 1], [0, 0, 0], [2, 7, 3]]);
});

// -------------------------------------------------------------------------------------- nodes

test("labels of a list are those of its pages, and later events win", async () => {
  const asked = [];
  const page = (names, more) => ({ items: names.map((name) => ({ metadata: { name, resourceVersion: "3", labels: { n: name } } })), metadata: { resourceVersion: "7", ...more } });
  const labels = new NodeLabels({ labels: { old: { a: "b" } }, get: async (path, headers) => (asked.push([path, headers.Accept]), asked.length === 1 ? page(["a", "b"], { continue: "x/y" }) : page(["c"])) });
  assert.deepEqual([[...labels.byNode], [...labels.copied], labels.isFollowed], [[["old", { a: "b" }]], [], false]);
  labels.take({ type: "MODIFIED", name: "b", resourceVersion: "8", labels: { n: "late" }, isCopied: true });
  labels.take({ type: "DELETED", name: "c", resourceVersion: "9", labels: {} });
  labels.take({ type: "ADDED", name: "d", resourceVersion: "7", labels: {} });
  labels.take({ type: "STARTED" });
  await labels.load();
  const accept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
  assert.deepEqual(asked, [["/api/v1/nodes?limit=1000", accept], ["/api/v1/nodes?limit=1000&continue=x%2Fy", accept]]);
  assert.deepEqual([[...labels.byNode], [...labels.copied]], [[["a", { n: "a" }], ["b", { n: "late" }]], ["b"]]);
  labels.take({ type: "MODIFIED", name: "b", resourceVersion: "10", labels: { n: "late" }, isCopied: false });
  assert.deepEqual([labels.publish(), [...labels.copied]], [false, []]);
  labels.take({ type: "MODIFIED", name: "a", resourceVersion: "11", labels: { n: "a", m: "" } });
  assert.deepEqual([labels.publish(), labels.byNode.get("a")], [true, { n: "a", m: "" }]);
  labels.take({ type: "MODIFIED", name: "a", resourceVersion: "12", labels: { n: "a", k: "" } });
  assert.equal(labels.publish(), true, "another key");
  assert.equal(new NodeLabels({}).byNode.size, 0);
});

test("a copy has the annotation that a sync writes", () => {
  assert.equal(SOURCE_UID, "podwright.dev/source-uid");
});

test("a list without a version is older than each event", async () => {
  const labels = new NodeLabels({ get: async () => ({ items: [], metadata: {} }) });
  await labels.load();
  labels.take({ type: "ADDED", name: "a", resourceVersion: "1", labels: {} });
  assert.deepEqual([labels.publish(), [...labels.byNode.keys()]], [true, ["a"]]);
});

test("groups of nodes are sorted by their titles, and what has no label is one", () => {
  const state = { names: ["a", "b", "c", "d"], slots: () => [0, 1, 2, 3] };
  const labels = new Map([["a", { x: "n10" }], ["b", { x: "n9" }], ["c", { x: "" }]]);
  assert.deepEqual(shownNodes(state, labels, { group: "x" }), { groups: [{ title: '""', slots: [2] }, { title: "n9", slots: [1] }, { title: "n10", slots: [0] }, { title: "without x", slots: [3] }], count: 4, error: "" });
  assert.deepEqual(shownNodes(state, labels, { filter: "x in (", search: "D" }), { groups: [{ title: "", slots: [3] }], count: 1, error: "x in (: a ) is missing" });
  assert.deepEqual(groupingKeys(new Map([["a", { one: "1", z: "1", b: "1" }], ["b", { one: "2", z: "1", b: "1" }]])), ["b", "z"]);
  assert.deepEqual(groupingKeys(new Map()), []);
});
