// The page's data: its source over HTTP, its model, its address, and plans.

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

// The page, before its modules are loaded: they read the address at once.
globalThis.location = { protocol: "http:", pathname: "/page", search: "?pod=a/p&attempt=2", hash: "" };
globalThis.history = {
  calls: [],
  pushState: (state, title, url) => history.calls.push(["push", url]),
  replaceState: (state, title, url) => history.calls.push(["replace", url]),
};
const { address } = await import("../../pictures/data/address.js");
const { HttpSource } = await import("../../pictures/data/http_source.js");
const { CARDS_MAX, Model } = await import("../../pictures/data/model.js");
const { RunSource } = await import("../../pictures/data/run_source.js");
const { selectFirstPending } = await import("../../pictures/data/first_pending.js");
const { QUESTIONS, podsText, stateAfter } = await import("../../pictures/parts/plan.js");

const ticks = async (count = 20) => {
  for (let each = 0; each < count; each++) await new Promise((done) => setImmediate(done));
};

beforeEach(() => {
  history.calls.length = 0;
});

test("the address is the only place of the state of the screen", () => {
  const changes = [];
  const note = (event) => changes.push(event.detail);
  address.addEventListener("change", note);
  assert.deepEqual(address.get(), { pod: "a/p", attempt: "2" });
  assert.equal(address.link({ view: "pods" }), "?view=pods&pod=a/p&attempt=2");
  assert.equal(address.link({ pod: "a/q" }), "?pod=a/q");
  address.set({ pod: "a/p" });
  assert.deepEqual([history.calls, changes], [[], []]);
  address.set({ pod: "a/q", node: "n" });
  address.set({ node: null }, { replace: true });
  address.set({ pod: null });
  assert.deepEqual(history.calls, [["push", "?pod=a/q&node=n"], ["replace", "?pod=a/q"], ["push", "/page"]]);
  assert.deepEqual(changes, [["pod", "node", "attempt"], ["node"], ["pod"]]);
  location.protocol = "file:";
  assert.equal(address.link({ view: "x" }), "#view=x");
  address.set({ view: "x" }, { replace: true });
  assert.deepEqual(history.calls.at(-1), ["replace", "#view=x"]);
  location.protocol = "http:";
  address.set({ view: null });
  address.removeEventListener("change", note);
});

// -------------------------------------------------------------------------------- sources

const requests = [];
let reply = () => new Response("{}");
globalThis.fetch = async (path, options) => {
  requests.push([path, options]);
  return reply(path);
};
afterEach(() => {
  requests.length = 0;
  reply = () => new Response("{}");
});

test("requests go to the server through the page's origin", async () => {
  const source = new HttpSource();
  reply = () => new Response('{"a": 1}');
  assert.deepEqual(await source.get("/x", { Accept: "t" }), { a: 1 });
  await source.get("/x");
  assert.deepEqual(requests.pop(), ["/server/x", { cache: "no-store", headers: { Accept: "application/json" } }]);
  assert.deepEqual(await source.send("PATCH", "/x", { b: 1 }, "m"), { a: 1 });
  await source.send("PUT", "/x", "text");
  await source.send("DELETE", "/x");
  assert.equal((await source.bytes("/x")).byteLength, 8);
  const own = { "X-Podwright-Page": "1", Accept: "application/json" };
  assert.deepEqual(requests, [
    ["/server/x", { cache: "no-store", headers: { Accept: "t" } }],
    ["/server/x", { cache: "no-store", method: "PATCH", headers: { ...own, "Content-Type": "m" }, body: '{"b":1}' }],
    ["/server/x", { cache: "no-store", method: "PUT", headers: { ...own, "Content-Type": "application/json" }, body: "text" }],
    ["/server/x", { cache: "no-store", method: "DELETE", headers: own, body: undefined }],
    ["/server/x", { cache: "no-store" }],
  ]);
  reply = () => new Response("");
  assert.equal(await source.send("DELETE", "/x"), null);
});

test("a request that fails has the server's message and status", async () => {
  const source = new HttpSource();
  reply = () => new Response('{"kind":"Status","message":"m"}', { status: 409 });
  await assert.rejects(source.get("/x"), { message: "m", status: 409 });
  reply = () => new Response("", { status: 404, statusText: "Not Found" });
  await assert.rejects(source.get("/x"), { message: "404 Not Found", status: 404 });
  reply = () => {
    throw new TypeError("down");
  };
  await assert.rejects(source.get("/x"), { message: "The process of this page does not answer.", status: 0 });
});

test("a text of YAML is read by the page's process", async () => {
  const source = new HttpSource();
  reply = () => new Response('{"document": {"a": 1}}');
  assert.deepEqual(await source.read("a: 1"), { a: 1 });
  assert.deepEqual(requests, [["/documents", { cache: "no-store", method: "POST", headers: { "X-Podwright-Page": "1", "Content-Type": "application/yaml" }, body: "a: 1" }]]);
  reply = () => new Response('{"problem": "line 2"}');
  await assert.rejects(source.read("a"), { message: "line 2", status: 400 });
});

test("of a reply of lines the last is the result, the others are progress", async () => {
  const source = new HttpSource();
  const lines = async (text) => {
    const seen = [];
    reply = () => new Response(new Blob([text.slice(0, 9), text.slice(9)]));
    return [await source.lines("/x", { b: 1 }, (line) => seen.push(line), undefined), seen];
  };
  assert.deepEqual(await lines('{"n":1}\n{"n":2}\n{"n":3}\n'), [{ n: 3 }, [{ n: 1 }, { n: 2 }]]);
  assert.deepEqual(requests[0], ["/server/x", { cache: "no-store", method: "POST", headers: { "X-Podwright-Page": "1", "Content-Type": "application/json" }, body: '{"b":1}', signal: undefined }]);
  await assert.rejects(lines('{"n":1}\n{"detail":"d"}\n'), { message: "d", status: 0 });
  await assert.rejects(lines(""), { message: "The reply broke off.", status: 0 });
});

test("a stream of the state is open while the page is seen", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const opened = [];
  globalThis.EventSource = class extends EventTarget {
    constructor(url) {
      super();
      this.url = url;
      this.isOpen = true;
      opened.push(this);
    }
    close() {
      this.isOpen = false;
    }
  };
  globalThis.document = Object.assign(new EventTarget(), { hidden: false });
  const see = (isSeen) => {
    document.hidden = !isSeen;
    document.dispatchEvent(new Event("visibilitychange"));
  };
  const seen = [];
  const stop = new HttpSource().state((type, data) => seen.push([type, data]));
  assert.equal(opened[0].url, "/feeds/state");
  for (const type of ["snapshot", "changes", "nodes", "disconnected"]) opened[0].dispatchEvent(Object.assign(new Event(type), { data: '{"a":1}' }));
  opened[0].dispatchEvent(new Event("open"));
  opened[0].dispatchEvent(new Event("error"));
  assert.deepEqual(seen, [
    ...["snapshot", "changes", "nodes", "disconnected"].map((type) => [type, { a: 1 }]),
    ["connected", {}],
    ["disconnected", { reason: "The process of this page does not answer." }],
  ]);
  see(false);
  context.mock.timers.tick(9_999);
  assert.equal(opened[0].isOpen, true);
  see(true);
  context.mock.timers.tick(20_000);
  assert.deepEqual([opened.length, opened[0].isOpen], [1, true]);
  see(false);
  context.mock.timers.tick(10_000);
  assert.equal(opened[0].isOpen, false);
  see(true);
  assert.equal(opened.length, 2);
  stop();
  assert.equal(opened[1].isOpen, false);
  see(true);
  assert.equal(opened.length, 2);
});

test("a recorded run has its pods and its timeline only", async () => {
  const run = new RunSource("a b");
  reply = () => new Response('{"labels": {"n": {}}, "summary": 3}');
  await run.loadLabels();
  await run.get("/podwright/v1/pods/a/p/explanation");
  await run.bytes("/podwright/v1/timeline");
  assert.deepEqual([run.labels, (await run.results()).summary, run.isLive], [{ n: {} }, 3, false]);
  const root = "/server/podwright/v1/runs/a%20b";
  assert.deepEqual(requests.map(([path]) => path), [`${root}/nodes`, `${root}/pods/a/p/explanation`, `${root}/timeline`, root]);
  await assert.rejects(run.get("/api/v1/pods"), { status: 404 });
  await assert.rejects(run.send(), { status: 405 });
});

// ---------------------------------------------------------------------------------- model

const SNAPSHOT = { nodes: ["n1"], fields: ["present"], columns: [[1]], time: "t", pods: {} };
const LIST = { items: [{ metadata: { name: "n1", resourceVersion: "1", labels: { a: "b" } } }], metadata: { resourceVersion: "1" } };
const PODS = { columnDefinitions: ["Node"].map((name) => ({ name })), rows: ["p", "q"].map((name) => ({ cells: ["n1"], object: { metadata: { namespace: "a", name } } })) };

/** A chunk of a timeline in which the node n1 appears at 5 and goes at 9. */
function timeline() {
  const json = JSON.stringify({ subjects: [["node", "n1"]], fields: ["present"], firstNs: "5", rows: 2 });
  const header = new TextEncoder().encode(json.padEnd(Math.ceil(json.length / 8) * 8));
  const bytes = new Uint8Array(16 + header.length + 48);
  const view = new DataView(bytes.buffer);
  bytes.set(new TextEncoder().encode("PWT1"));
  view.setUint32(4, header.length, true);
  view.setBigUint64(8, 48n, true);
  bytes.set(header, 16);
  [5n, 9n, 1n, -1n].forEach((value, at) => view.setBigInt64(16 + header.length + 8 * at, value, true));
  return bytes.buffer;
}

function made({ isLive = true, schedulers = [{ schedulerNames: ["x", "y"] }], bytes = async () => timeline() } = {}) {
  const paths = [];
  const source = {
    isLive,
    paths,
    isStopped: false,
    state(listener) {
      source.listener = listener;
      return () => (source.isStopped = true);
    },
    get: async (path) => {
      paths.push(path);
      if (path.startsWith("/api/v1/nodes")) return LIST;
      if (path === "/api/v1/pods") return PODS;
      if (schedulers === null) throw new Error("forbidden");
      return { schedulers };
    },
    bytes: async (path) => (paths.push(path), bytes()),
  };
  const model = new Model(source);
  const events = [];
  for (const type of ["state", "live", "mode", "connection", "labels", "pods", "explained"]) model.addEventListener(type, () => events.push(type));
  return { model, source, events };
}

test("the stream starts with the first user and ends with the last", () => {
  const { model, source } = made();
  const [first, second] = [model.use(), model.use()];
  first();
  assert.equal(source.isStopped, false);
  second();
  assert.equal(source.isStopped, true);
});

test("a snapshot is shown, with the labels and the pods of its nodes", async () => {
  const { model, source, events } = made();
  const stop = model.use();
  model.followNodes();
  source.listener("snapshot", SNAPSHOT);
  assert.deepEqual(events.filter((type) => type !== "mode"), ["live", "state"]);
  await ticks();
  assert.deepEqual([model.labels.get("n1"), model.podsOf(0).map(({ pod }) => pod), model.podsOf(1)], [{ a: "b" }, ["a/p", "a/q"], []]);
  assert.equal(events.includes("labels") && events.includes("pods"), true);
  assert.equal(CARDS_MAX, 60);
  events.length = 0;
  source.listener("disconnected", { reason: "r" });
  source.listener("disconnected", { reason: "r" });
  assert.deepEqual([model.connection, events, model.isEditable], [{ isConnected: false, reason: "r" }, ["connection"], false]);
  source.listener("changes", { nodes: [], fields: [], slotIndex: [], fieldIndex: [], values: [], time: "u", pods: {} });
  assert.deepEqual([model.connection.isConnected, model.state.time, model.isEditable], [true, "u", true]);
  stop();
});

test("a page without nodes loads neither their labels nor their pods, until it shows nodes", async () => {
  const { model, source } = made();
  const stop = model.use();
  source.listener("snapshot", SNAPSHOT);
  source.listener("nodes", { type: "STARTED" });
  model.refresh();
  await ticks();
  assert.deepEqual(source.paths, []);
  model.followNodes();
  await ticks();
  assert.deepEqual(source.paths, ["/api/v1/pods", "/api/v1/nodes?limit=1000"]);
  stop();
});

test("events of nodes change their labels", async () => {
  const { model, source } = made();
  const stop = model.use();
  model.followNodes();
  source.listener("snapshot", SNAPSHOT);
  await ticks();
  source.listener("nodes", { type: "MODIFIED", name: "n1", resourceVersion: "9", labels: { a: "c" } });
  await ticks();
  assert.deepEqual(model.labels.get("n1"), { a: "c" });
  stop();
});

test("a time in the address shows the past, and none the present", async () => {
  const { model, events } = made();
  const stop = model.use();
  assert.deepEqual([model.isPast, model.state], [false, model.live]);
  await model.seek(7n);
  assert.deepEqual([model.isPast, model.state, model.state.slots(), model.isEditable], [true, model.past, [0], false]);
  assert.deepEqual(events.slice(-2), ["mode", "state"]);
  await model.seek(1n);
  assert.equal(model.past.timeNs, 5n);
  assert.equal(events.filter((type) => type === "state").length, 2);
  address.set({ at: "1970-01-01T00:00:00.000000009Z" });
  await ticks();
  assert.deepEqual(model.state.slots(), []);
  address.set({ at: "soon" });
  await ticks();
  assert.match(model.pastError, /^soon: must be a time/);
  address.set({ at: null });
  await ticks();
  assert.deepEqual([model.isPast, model.pastError], [false, ""]);
  stop();
});

test("a timeline is loaded again for what is later than its end, once at a time", async () => {
  const { model, source } = made();
  await model.seek(8n);
  await model.seek(9n);
  assert.equal(source.paths.length, 1);
  await Promise.all([model.seek(10n), model.loadPast()]);
  assert.equal(source.paths.length, 2);
  const failing = made({ bytes: async () => { throw new Error("no log"); } });
  await failing.model.seek(1n);
  assert.deepEqual([failing.model.pastError, failing.model.isPast, failing.model.isLoadingPast], ["no log", false, false]);
});

test("without a present, the end of the record is shown", async () => {
  const { model, source } = made({ isLive: false });
  const stop = model.use();
  await ticks();
  assert.deepEqual([model.isPast, model.past.timeNs, model.isEditable], [true, 9n, false]);
  assert.equal(await model.schedulers(), null);
  assert.deepEqual(source.paths, ["/podwright/v1/timeline"]);
  stop();
});

test("schedulers are requested once, and without one there is no past", async () => {
  const { model, source } = made();
  assert.deepEqual([await model.schedulers(), await model.schedulers()], [["x"], ["x"]]);
  assert.equal(source.paths.length, 1);
  assert.equal(await made({ schedulers: null }).model.schedulers(), null);
  const none = made({ schedulers: [] });
  const stop = none.model.use();
  address.set({ at: "1970-01-01T00:00:00Z" });
  await ticks();
  assert.deepEqual([none.model.hasScheduler, none.model.isPast, none.events.filter((type) => type === "mode").length], [false, false, 2]);
  assert.match(none.model.pastError, /--no-scheduler/);
  address.set({ at: null });
  stop();
});

test("an explained pod is the one whose scores are shown", () => {
  const { model, events } = made();
  model.explain("a/p", "?x", "1");
  assert.deepEqual([model.explained, events], [{ pod: "a/p", query: "?x", matrixVersion: "1" }, ["explained"]]);
});

test("a run selects its first pod that was tried in vain", () => {
  globalThis.matchMedia = () => ({ matches: false });
  const pods = [{ pod: "a/new", attempts: 0 }, { pod: "a/tried", attempts: 1 }];
  const data = Object.assign(new EventTarget(), { isPast: false, past: { waiting: () => ({ pods }) } });
  const mode = () => data.dispatchEvent(new Event("mode"));
  selectFirstPending(data);
  mode();
  assert.deepEqual(address.get(), {});
  data.isPast = true;
  mode();
  assert.deepEqual([address.get(), history.calls], [{ pod: "a/tried" }, [["replace", "?pod=a/tried"]]]);
  address.set({ pod: null });
  mode();
  assert.deepEqual(address.get(), {});
  address.set({ node: "n" });
  selectFirstPending(data);
  mode();
  assert.deepEqual(address.get(), { node: "n" });
  address.set({ node: null });
});

// ---------------------------------------------------------------------------------- plans

const STATUS = {
  replicas: 3,
  nodes: 1200,
  pods: [{ replicasOnNodes: [{ nodeName: "n1", replicas: 2 }, { nodeName: "n2", replicas: 1 }], replicasInZones: { a: 2, b: 1, "": 0 }, failSummary: [{ reason: "Insufficient cpu", count: 2 }] }],
  failReason: { failType: "Unschedulable", failMessage: "m" },
  pending: { scheduled: 1, unscheduled: 2 },
  evicted: Array.from({ length: 9 }, (_, at) => `p${at}`),
  preemption: { node: "n1", victims: ["v"] },
};
const SPEC = { podRequirements: [{ resources: { primaryResources: { cpu: "500m", memory: "1Ki" }, scalarResources: { "x/gpu": "1" } } }] };

test("how many more pods fit is a request and an answer", () => {
  const { body, answer } = QUESTIONS.capacity;
  const asked = body({ cpu: "500m", memory: "", most: "4", preemption: "on" }, null);
  assert.deepEqual([asked.maxLimit, asked.preemption, asked.pods[0].spec.containers[0].resources.requests], [4, true, { cpu: "500m" }]);
  assert.deepEqual(body({}, { kind: "Job" }), { pods: [{ kind: "Job" }], maxLimit: 0, preemption: false });
  const found = answer({ spec: SPEC, status: STATUS }, asked);
  assert.deepEqual(found.findings, [
    "3 more pods fit, on 2 nodes of 1,200.",
    "The next one does not fit: Insufficient cpu on 2 nodes.",
    "By zone: a 2, b 1.",
    "1 pending pod was placed before; the picture does not have them.",
    "2 pending pods of the cluster fit nowhere.",
    "9 pods would be evicted: p0, p1, p2, p3, p4, p5, p6, p7 and 1 more.",
    "Preemption on n1 would make room for the next one, by evicting v.",
  ]);
  assert.deepEqual(found.nodes.get("n1"), { requests: { cpu: 1000, memory: 2048, "x/gpu": 2 }, pods: 2, role: "gets pods" });
  assert.deepEqual([found.apply.title, found.apply.text], ["Apply: create Deployment planned with 3 pods", "Deployment default/planned is created."]);
  assert.deepEqual([found.apply.create[0].spec.replicas, found.apply.create[0].spec.selector.matchLabels], [3, { "app.kubernetes.io/instance": "planned" }]);
  const limited = { ...STATUS, replicas: 1, failReason: { failType: "LimitReached", failMessage: "limit" }, pending: { scheduled: 0, unscheduled: 1 }, evicted: undefined, preemption: undefined, pods: [{ ...STATUS.pods[0], replicasInZones: { a: 1 }, failSummary: null }] };
  assert.deepEqual(answer({ spec: SPEC, status: limited }, asked).findings, ["1 more pod fits, on 2 nodes of 1,200.", "limit", "1 pending pod of the cluster fits nowhere."]);
  assert.equal(answer({ spec: SPEC, status: { ...limited, failReason: { failType: "", failMessage: "m" } } }, asked).findings[1], "The next one does not fit: m.");
  assert.equal(answer({ spec: SPEC, status: STATUS }, { pods: [{ kind: "Job", metadata: {} }] }).apply, null);
  const template = { metadata: { labels: { k: "v" } }, spec: { s: 1 } };
  const more = answer({ spec: SPEC, status: STATUS }, { pods: [{ kind: "Deployment", metadata: { name: "d", namespace: "z" }, spec: { template } }] });
  assert.deepEqual(more.apply.create[0].spec.template, { metadata: { labels: { k: "v", "app.kubernetes.io/instance": "d" } }, spec: { s: 1 } });
  assert.equal(more.apply.text, "Deployment z/d is created.");
  assert.equal(answer({ spec: SPEC, status: { ...STATUS, replicas: 0 } }, asked).apply, null);
});

test("the room of each workload is a table", () => {
  const row = (workload, replicas) => ({ kind: "Deployment", workload, running: 2, replicas, failReason: { failMessage: "m" } });
  assert.deepEqual(QUESTIONS.headroom.body(), { headroom: true });
  const found = QUESTIONS.headroom.answer({ status: { headroom: [row("a", 0), row("b", 3)] } });
  assert.deepEqual([found.findings, found.tables[0].rows], [["1 workload of 2 cannot grow by one pod."], [["Deployment a", "2", "0", "m"], ["Deployment b", "2", "3", "m"]]]);
  assert.deepEqual(QUESTIONS.headroom.answer({ status: {} }).findings, ["No workload has pods on nodes."]);
});

test("losses that hurt are findings, those of nodes are shown on them", () => {
  const loss = (name, ...pending) => ({ name, nodes: 1, recreated: 2, pending, gone: ["g"] });
  const status = { losses: [loss("n1"), loss("n2", { failMessage: "m" }, {})] };
  const { body, answer } = QUESTIONS.loss;
  assert.deepEqual([body({}), body({ of: "zone" })], [{ loss: ["node"] }, { loss: ["zone"] }]);
  const found = answer({ status }, { loss: ["node"] });
  assert.deepEqual(found.findings, ["After the loss of 1 of 2 nodes, pods stay pending; worst is n2, with 2 pods."]);
  assert.deepEqual([...found.nodes], [["n2", { requests: {}, pods: -2, role: "its loss leaves pods pending" }]]);
  assert.deepEqual(found.tables[0].rows, [["n1", "1", "2", "0", "1", ""], ["n2", "1", "2", "2", "1", "m"]]);
  assert.equal(answer({ status }, { loss: ["zone"] }).nodes.size, 0);
  assert.deepEqual(answer({ status: {} }, { loss: ["node"] }).findings, ["After the loss of any one node, all pods that are created again find a node."]);
});

test("a drain moves pods in steps", () => {
  const { body, answer } = QUESTIONS.drain;
  assert.deepEqual(body({ nodes: " a, b\nc ", most: "2" }), { nodes: ["a", "b", "c"], selector: "", mostNodes: 2 });
  const step = { nodes: ["n1"], moves: [{ node: "n1", to: "n2", requests: { cpu: 500 } }, { node: "n1", to: "", requests: { cpu: 100 } }], pending: [{ pod: "p", message: "m", remedies: ["r", "s"] }], gone: ["g"], localData: ["l", "k"], seconds: 90, waitsFor: ["b"] };
  const found = answer({ steps: [step], blocked: [{ node: "n3", budgets: [], message: "why", pods: ["q"], remedy: "do" }], isComplete: false });
  assert.deepEqual(found.findings, ["1 of 2 nodes can be drained; 1 pod finds no node.", "Nothing creates 1 pod again: g.", "2 pods lose their local data: l, k."]);
  assert.deepEqual([...found.nodes], [
    ["n1", { requests: { cpu: -600 }, pods: -2, role: "drained in step 1" }],
    ["n2", { requests: { cpu: 500 }, pods: 1, role: "gets pods" }],
    ["n3", { requests: {}, pods: 0, role: "blocked" }],
  ]);
  assert.deepEqual(found.tables.map(({ heads }) => heads), [
    ["Step", "Nodes", "Pods", "Takes", "One after the other for"],
    ["Node", "By budget", "Pods", "What would allow it"],
    ["Pod", "Why", "What would help"],
  ]);
  assert.deepEqual(found.tables.map(({ title, rows }) => [title, rows]), [
    ["Steps", [["1", "n1", "2", "90s", "b"]]],
    ["Blocked", [["n3", "why", "q", "do"]]],
    ["Pods that find no node", [["p", "m", "r; or s"]]],
  ]);
  assert.deepEqual([found.apply.title, found.apply.drains], ["Apply: drain 1 node in 1 step", [["n1"]]]);
  const whole = answer({ steps: [{ ...step, moves: step.moves.slice(0, 1), pending: [], gone: [], localData: ["l"] }], blocked: [], isComplete: true, idleBudgets: ["d/b"] });
  assert.deepEqual(whole.findings, ["1 node can be drained, in 1 step; 1 pod moves.", "1 pod loses its local data: l.", "1 budget selects no pod: d/b."]);
  assert.deepEqual([whole.tables.length, answer({ steps: [], blocked: [], isComplete: true }).apply], [1, null]);
});

const NEW_NODE = { apiVersion: "v1", kind: "Node", metadata: { name: "new" }, status: { allocatable: { cpu: "2", memory: "1Ki" } } };
const PLACED = [{ node: "", to: "new", requests: { cpu: 500 } }, { node: "", to: "n1", requests: { cpu: 250 } }];

test("nodes to buy are added with the pods that they get", () => {
  const { body, answer } = QUESTIONS.buy;
  assert.deepEqual([body({}, null), body({}, [{ name: "a" }]), body({}, { types: [1] })], [{ types: [] }, { types: [{ name: "a" }] }, { types: [1] }]);
  const reply = { nodes: [{ type: "small", count: 1, price: 2 }], price: 2, bound: 1.5, gap: 0.25, isCheapest: true, pending: 3, scheduled: 2, mixes: 4, unplaced: [{ pod: "p", failMessage: "m" }], newNodes: [NEW_NODE], moves: PLACED };
  const found = answer(reply);
  assert.deepEqual(found.findings, ["1 small for 2: 2 of 3 pending pods have a node then.", "The lower bound is 1.5 (25% less); nothing cheaper fits (4 combinations tried)."]);
  assert.deepEqual(found.tables.map(({ title, heads, rows }) => [title, heads, rows]), [
    ["Nodes", ["Type", "Nodes", "Price", "Total"], [["small", "1", "2", "2"]]],
    ["Pods that find no node", ["Pod", "Why"], [["p", "m"]]],
  ]);
  assert.deepEqual([...found.nodes], [["new", { requests: { cpu: 500 }, pods: 1, role: "added" }], ["n1", { requests: { cpu: 250 }, pods: 1, role: "gets pods" }]]);
  assert.deepEqual([found.apply.title, found.apply.text, found.apply.create], ["Apply: add 1 node", "1 node is added.", [NEW_NODE]]);
  const none = answer({ ...reply, nodes: [], newNodes: [], pending: 1, scheduled: 1, isCheapest: false });
  assert.deepEqual([none.findings[0], none.apply], ["No new node: 1 of 1 pending pod has a node then.", null]);
  assert.match(none.findings[1], /something cheaper may fit/);
});

test("an autoscaler adds and removes nodes", () => {
  const { body, answer } = QUESTIONS.autoscale;
  assert.deepEqual([body({ duration: "1h" }, null), body({}, [1]), body({}, { groups: [], options: {} })], [{ duration: "1h" }, { groups: [1] }, { groups: [], options: {} }]);
  const offer = (group, ...reasons) => ({ group, helps: !reasons.length, reasons });
  const sizes = [{ size: 0 }, { size: 3 }, { size: 1 }];
  const pods = [{ pod: "a", node: "", groups: [offer("small"), offer("large", "r", "s")], chosen: ["small"] }, { pod: "b", node: "n1", groups: [], chosen: [] }];
  const nodes = [{ node: "n1", group: "small", reason: "NotReplicated", message: "m" }, { node: "n2", group: "small", reason: "", message: "" }];
  const reply = { pods, nodes, groups: [{ name: "small", sizes, nodeHours: 1, cost: 0.5 }], newNodes: [NEW_NODE], removedNodes: ["n2"], moves: [...PLACED, { node: "n2", to: "n1", requests: { cpu: 1 } }], pending: ["c"] };
  const found = answer(reply);
  assert.deepEqual(found.findings, ["The groups get 1 new node; 2 pending pods find a node.", "1 node is not needed and removed: n2.", "1 pod has no node at the end: c."]);
  assert.deepEqual(found.tables.map(({ rows }) => rows), [
    [["small", "0", "3", "1", "1.00", "0.50"]],
    [["a", "small", "yes", "chosen by the expander"], ["a", "large", "no", "r, s"], ["b", "", "", "fits on n1"]],
    [["n1", "small", "NotReplicated", "m"]],
  ]);
  assert.deepEqual([found.nodes.get("new").role, found.nodes.get("n2").role, found.nodes.get("n1").pods], ["added", "removed", 2]);
  const quiet = answer({ ...reply, newNodes: [], removedNodes: ["a", "b"], moves: [], pending: ["c", "d"] });
  assert.deepEqual([quiet.findings.slice(1), quiet.apply], [["2 nodes are not needed and removed: a, b.", "2 pods have no node at the end: c, d."], null]);
});

test("nodes that a plan adds are in the state after it", () => {
  const columns = { present: [1, 0], "requested/cpu": [100], "allocatable/cpu": [1000], ready: [1], unschedulable: [] };
  const state = { names: ["n1", "gone"], fields: Object.keys(columns), slots: () => [0], column: (field) => columns[field] };
  const after = stateAfter(state, new Map([["new", { requests: { cpu: 500 }, pods: 1, role: "added" }]]), [NEW_NODE]);
  assert.deepEqual([after.names, after.slots()], [["n1", "gone", "new"], [0, 2]]);
  assert.deepEqual(Object.keys(columns).map((field) => [...after.column(field)]), [[1, 0, 1], [100, 0, 500], [1000, 0, 2000], [1, 0, 1], [0, 0, 0]]);
});

test("the state after a plan has its requests, pods and drained nodes", () => {
  const columns = { "requested/cpu": [100, 5], "requested/pods": [1], "allocatable/cpu": [1000, 1000], unschedulable: [0, 0] };
  const state = { names: ["n1", "n2"], fields: Object.keys(columns), slots: () => [0, 1], column: (field) => columns[field] };
  const after = stateAfter(state, new Map([["n2", { requests: { cpu: 50 }, pods: 2, role: "drained in step 1" }]]));
  assert.deepEqual(Object.keys(columns).map((field) => [...after.column(field)]), [[100, 55], [1, 2], [1000, 1000], [0, 1]]);
  assert.deepEqual([after.column("none"), after.slots()], [[], [0, 1]]);
  assert.deepEqual([podsText(), podsText({ pods: 2 }), podsText({ pods: -2 }), podsText({ pods: 0 })], ["", "+2", "−2", ""]);
});
