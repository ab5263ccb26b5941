// Questions about the future: their whole forms, requests, answers and pictures.

import assert from "node:assert/strict";
import { test } from "node:test";

import { QUESTIONS, moveNodes, podsText, shareText, stateAfter } from "../../pictures/parts/plan.js";

test("each question has its form", () => {
  const forms = Object.entries(QUESTIONS).map(([name, { title, path, fields, counted }]) => [name, title, path, counted, fields]);
  assert.deepEqual(forms, [
    ["capacity", "How many more pods fit", "/podwright/v1/capacity", "pod", [
      { key: "cpu", title: "CPU of a pod", kind: "text", initial: "500m" },
      { key: "memory", title: "Memory of a pod", kind: "text", initial: "512Mi" },
      { key: "most", title: "At most", kind: "number", hint: "no limit" },
      { key: "preemption", title: "Evict pods of lower priority", kind: "check" },
      { key: "manifest", title: "Or a manifest", kind: "area", hint: "A pod or a workload, as YAML or JSON" },
    ]],
    ["headroom", "Room of each workload", "/podwright/v1/capacity", "workload", []],
    ["loss", "Loss of nodes", "/podwright/v1/capacity", "loss", [{ key: "of", title: "Of each", kind: "choice", choices: ["node", "zone", "pool"] }]],
    ["buy", "Nodes to buy", "/podwright/v1/purchase", "combination", [
      { key: "manifest", title: "Types of nodes, with prices; none: the pools of the cluster", kind: "area", hint: 'types:\n- {name: small, price: 0.1, allocatable: {cpu: "4", memory: 16Gi}}' },
    ]],
    ["autoscale", "Autoscaling", "/podwright/v1/autoscaling", "part", [
      { key: "duration", title: "How long", kind: "text", initial: "30m", hint: "30m" },
      { key: "manifest", title: "Node groups; none: those of up --node-groups, or the pools of the cluster", kind: "area", hint: 'groups:\n- {name: small, maxSize: 5, template: {allocatable: {cpu: "4", memory: 16Gi}}}' },
    ]],
    ["drain", "Drain nodes", "/podwright/v1/drain-plan", "node", [
      { key: "nodes", title: "Nodes to drain", kind: "text", hint: "node-1, node-2" },
      { key: "selector", title: "Or by labels", kind: "text", hint: "zone=a,!spot" },
      { key: "most", title: "At a time, at most", kind: "number", hint: "no limit" },
    ]],
  ]); // prettier-ignore
});

const image = "registry.k8s.io/pause:3.10";
const pod = (requests) => ({ apiVersion: "v1", kind: "Pod", metadata: { name: "planned", namespace: "default" }, spec: { containers: [{ name: "main", image, resources: { requests } }] } });

test("requests have what the form has", () => {
  const { capacity, headroom, loss, buy, autoscale, drain } = QUESTIONS;
  assert.deepEqual(capacity.body({ cpu: "1", memory: "2Gi", most: "", preemption: "" }), { pods: [pod({ cpu: "1", memory: "2Gi" })], maxLimit: 0, preemption: false });
  assert.deepEqual(capacity.body({ cpu: "", memory: "2Gi" }, undefined), { pods: [pod({ memory: "2Gi" })], maxLimit: 0, preemption: false });
  assert.deepEqual(headroom.body({}), { headroom: true });
  assert.deepEqual(loss.body({ of: "pool" }), { loss: ["pool"] });
  assert.deepEqual(buy.body({}, { poolLabel: "x" }), { types: [], poolLabel: "x" });
  assert.deepEqual(autoscale.body({ duration: "" }, [{ name: "a" }]), { groups: [{ name: "a" }] });
  assert.deepEqual(autoscale.body({ duration: "5m" }, { groups: [], duration: "1h" }), { groups: [], duration: "5m" });
  assert.deepEqual(drain.body({}), { nodes: [], selector: "", mostNodes: 0 });
  assert.deepEqual(drain.body({ nodes: "a", selector: "x=y", most: "3" }), { nodes: ["a"], selector: "x=y", mostNodes: 3 });
});

const REQUIREMENTS = { podRequirements: [{ resources: { primaryResources: { cpu: "250m", memory: "1Ki" }, scalarResources: {} } }, { resources: { primaryResources: { cpu: "2" }, scalarResources: { "x/gpu": "1" } } }] };
const on = (nodeName, replicas) => ({ nodeName, replicas });
const COUNTED = {
  replicas: 2,
  nodes: 3,
  pods: [
    { replicasOnNodes: [on("n1", 2)], replicasInZones: { "": 2, a: 0 }, failSummary: [{ reason: "Insufficient cpu", count: 1 }, { reason: "Too many pods", count: 2 }] },
    { replicasOnNodes: [on("n1", 1), on("n2", 1)], replicasInZones: {}, failSummary: null },
  ],
  failReason: { failType: "Unschedulable", failMessage: "m" },
  pending: { scheduled: 2, unscheduled: 0 },
};

test("pods of several shapes are counted together on their nodes", () => {
  const found = QUESTIONS.capacity.answer({ spec: REQUIREMENTS, status: COUNTED }, { pods: [pod({ cpu: "1" })] });
  assert.deepEqual(found.findings, [
    "2 more pods fit, on 2 nodes of 3.",
    "The next one does not fit: Insufficient cpu on 1 node, Too many pods on 2 nodes.",
    "2 pending pods were placed before; the picture does not have them.",
  ]);
  assert.deepEqual([...found.nodes], [
    ["n1", { requests: { cpu: 2500, memory: 2048, "x/gpu": 1 }, pods: 3, role: "gets pods" }],
    ["n2", { requests: { cpu: 2000, "x/gpu": 1 }, pods: 1, role: "gets pods" }],
  ]);
  assert.deepEqual(found.tables, []);
  assert.deepEqual(found.apply, {
    title: "Apply: create Deployment planned with 2 pods",
    text: "Deployment default/planned is created.",
    create: [
      {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name: "planned", namespace: "default" },
        spec: {
          replicas: 2,
          selector: { matchLabels: { "app.kubernetes.io/instance": "planned" } },
          template: { metadata: { labels: { "app.kubernetes.io/instance": "planned" } }, spec: pod({ cpu: "1" }).spec },
        },
      },
    ],
  });
});

test("a pod's labels, and a workload's template, are those of what is created", () => {
  const applied = (given, count = 1) => QUESTIONS.capacity.answer({ spec: REQUIREMENTS, status: { ...COUNTED, replicas: count } }, { pods: [given] }).apply;
  const labeled = { kind: "Pod", metadata: { name: "p", namespace: "a", labels: { app: "x" } }, spec: { s: 1 } };
  const { metadata, spec } = applied(labeled).create[0];
  assert.deepEqual([metadata, spec.template], [{ name: "p", namespace: "a" }, { metadata: { labels: { app: "x", "app.kubernetes.io/instance": "p" } }, spec: { s: 1 } }]);
  const deployment = { kind: "Deployment", metadata: { name: "d" }, spec: { template: { metadata: { annotations: { k: "v" } }, spec: {} } } };
  assert.deepEqual(applied(deployment).create[0].spec.template, { metadata: { annotations: { k: "v" }, labels: { "app.kubernetes.io/instance": "d" } }, spec: {} });
  assert.equal(applied(deployment).title, "Apply: create Deployment d with 1 pod");
  for (const kind of ["Job", "ReplicaSet", "StatefulSet"]) assert.equal(applied({ ...deployment, kind }), null);
});

test("the tables of answers have their titles and heads", () => {
  const heads = (answer) => answer.tables.map(({ title, heads: each }) => [title, ...each]);
  assert.deepEqual(heads(QUESTIONS.headroom.answer({ status: {} })), [["More pods that fit, of each workload alone", "Workload", "Running", "More", "What stops the next one"]]);
  assert.deepEqual(heads(QUESTIONS.loss.answer({ status: {} }, { loss: ["zone"] })), [["After the loss of each zone", "zone", "Nodes", "Created again", "Pending", "Gone for good", "Why"]]);
  const group = { name: "g", sizes: [{ size: 1 }], nodeHours: 2.345, cost: 0 };
  const scaled = { pods: [{ pod: "p", node: "n", groups: [], chosen: [] }], nodes: [], groups: [group], newNodes: [], removedNodes: [], moves: [], pending: [] };
  assert.deepEqual(heads(QUESTIONS.autoscale.answer(scaled)), [["Node groups", "Group", "Start", "Peak", "End", "Node hours"], ["Which group would help", "Pod", "Group", "Helps", "Why"]]);
  const priced = QUESTIONS.autoscale.answer({ ...scaled, groups: [group, { ...group, name: "h", cost: 1.5 }] });
  assert.deepEqual(heads(priced)[0], ["Node groups", "Group", "Start", "Peak", "End", "Node hours", "Cost"]);
  assert.deepEqual(priced.tables[0].rows, [["g", "1", "1", "1", "2.35", "0.00"], ["h", "1", "1", "1", "2.35", "1.50"]]);
  assert.deepEqual(heads(QUESTIONS.autoscale.answer({ ...scaled, pods: [], groups: [] })), []);
  for (const maxSize of [3, null]) {
    const offer = { group: "g", helps: true, reasons: [], size: 1, maxSize };
    const { findings } = QUESTIONS.autoscale.answer({ ...scaled, pods: [{ pod: "p", node: "", groups: [offer], chosen: ["g"] }] });
    assert.equal(findings.some((text) => text.startsWith("The groups are the pools of the cluster; ")), maxSize === null);
  }
});

test("answers that change nothing have neither nodes nor a button", () => {
  for (const answer of [QUESTIONS.headroom.answer({ status: {} }), QUESTIONS.loss.answer({ status: {} }, { loss: ["zone"] })]) {
    assert.deepEqual([answer.nodes, answer.apply], [new Map(), null]);
  }
});

test("a move within a node is none, and others make a node's part in the plan", () => {
  const move = (node, to, cpu = 1) => ({ node, to, requests: { cpu, memory: 10 } });
  assert.deepEqual([...moveNodes([move("a", "a"), move("a", "b", 2), move("b", "c", 3), move("", "c", 4), move("d", "", 5), move("", "")])], [
    ["a", { requests: { cpu: -2, memory: -10 }, pods: -1, role: "loses pods" }],
    ["b", { requests: { cpu: -1, memory: 0 }, pods: 0, role: "exchanges pods" }],
    ["c", { requests: { cpu: 7, memory: 20 }, pods: 2, role: "gets pods" }],
    ["d", { requests: { cpu: -5, memory: -10 }, pods: -1, role: "loses pods" }],
  ]);
});

test("a drain says how many pods move, find no node, and which steps wait", () => {
  const step = (nodes, more = {}) => ({ nodes, moves: [], pending: [], gone: [], localData: [], seconds: 30, waitsFor: [], ...more });
  const move = { node: "a", to: "c", requests: {} };
  const steps = [step(["a", "b"], { moves: [move, move] }), step(["d"], { gone: ["x", "y"], waitsFor: ["p", "q"], seconds: 150 })];
  const found = QUESTIONS.drain.answer({ steps, blocked: [], isComplete: true });
  assert.deepEqual(found.findings, ["3 nodes can be drained, in 2 steps; 2 pods move.", "Nothing creates 2 pods again: x, y."]);
  assert.deepEqual(found.tables, [
    { title: "Steps", heads: ["Step", "Nodes", "Pods", "Takes", "One after the other for"], rows: [["1", "a, b", "2", "30s", ""], ["2", "d", "0", "2m30s", "p, q"]] },
  ]);
  assert.deepEqual(found.apply, { title: "Apply: drain 3 nodes in 2 steps", text: "The nodes are drained.", drains: [["a", "b"], ["d"]] });
  assert.deepEqual([...found.nodes].map(([name, { role, pods }]) => [name, role, pods]), [["a", "drained in step 1", -2], ["c", "gets pods", 2], ["b", "drained in step 1", 0], ["d", "drained in step 2", 0]]);
  const blocked = { node: "e", budgets: ["b1", "b2"], message: "", pods: ["p"], remedy: "r" };
  const pending = { pod: "p", message: "m", remedies: [] };
  const stuck = QUESTIONS.drain.answer({ steps: [step(["a"], { pending: [pending, pending] })], blocked: [blocked], isComplete: false });
  assert.deepEqual(stuck.findings, ["1 of 2 nodes can be drained; 2 pods find no node."]);
  assert.deepEqual(stuck.tables[1].rows, [["e", "b1, b2", "p", "r"]]);
});

test("nodes to buy and to add agree with their number", () => {
  const node = (name) => ({ metadata: { name } });
  const reply = { nodes: [{ type: "a", count: 1200, price: 0.0000012 }, { type: "b", count: 1, price: 2 }], price: 1234.5, bound: 1000, gap: 0.19, isCheapest: false, pending: 1, scheduled: 1, mixes: 1, unplaced: [], newNodes: [node("x"), node("y")], moves: [] };
  const found = QUESTIONS.buy.answer(reply);
  assert.deepEqual(found.findings, ["1,200 a, 1 b for 1,234.5: 1 of 1 pending pod has a node then.", "The lower bound is 1,000 (19% less); something cheaper may fit (1 combination tried)."]);
  assert.deepEqual(found.tables, [{ title: "Nodes", heads: ["Type", "Nodes", "Price", "Total"], rows: [["a", "1,200", "0.000001", "0.00144"], ["b", "1", "2", "2"]] }]);
  assert.deepEqual(found.apply, { title: "Apply: add 2 nodes", text: "2 nodes are added.", create: reply.newNodes });
  assert.deepEqual(found.added, reply.newNodes);
  assert.deepEqual([...found.nodes.values()].map(({ role }) => role), ["added", "added"]);
});

test("what keeps nodes is told, but for those that are in use, of no group, or not looked at", () => {
  const nodes = [
    { node: "gone", group: "g", moves: ["p"], reason: "", message: "" },
    ...["NotAutoscaled", "NotUnderutilized", "NotUnneededOtherReason"].map((reason) => ({ node: "n", group: "g", moves: [], reason, message: "" })),
    { node: "n1", group: "g", moves: [], reason: "NotReplicated", message: "default/web is not replicated" },
    { node: "n2", group: "", moves: [], reason: "ScaleDownDisabledAnnotation", message: "" },
  ];
  const { tables } = QUESTIONS.autoscale.answer({ pods: [], nodes, groups: [], newNodes: [], removedNodes: [], moves: [], pending: [] });
  assert.deepEqual(tables, [{ title: "What keeps nodes now", heads: ["Node", "Group", "Reason", "Why"], rows: [["n1", "g", "NotReplicated", "default/web is not replicated"], ["n2", "<none>", "ScaleDownDisabledAnnotation", ""]] }]);
});

test("an autoscaler's moves between nodes place no pending pod", () => {
  const moves = [{ node: "a", to: "b", requests: {} }, { node: "", to: "b", requests: {} }, { node: "a", to: "", requests: {} }];
  const found = QUESTIONS.autoscale.answer({ pods: [], nodes: [], groups: [{ name: "g", sizes: [{ size: 2 }, { size: 5 }, { size: 3 }], nodeHours: 1, cost: 0 }], newNodes: [], removedNodes: [], moves, pending: [] });
  assert.deepEqual(found.findings, ["The groups get 0 new nodes; 1 pending pod finds a node."]);
  assert.deepEqual(found.tables[0].rows, [["g", "2", "5", "3", "1.00"]]);
  assert.deepEqual([found.apply, found.added], [null, []]);
});

test("eight names are listed, and how many more there are", () => {
  const names = (count) => Array.from({ length: count }, (_, at) => `p${at}`);
  const evicted = (count) => QUESTIONS.capacity.answer({ spec: REQUIREMENTS, status: { ...COUNTED, evicted: names(count) } }, { pods: [pod({})] }).findings.at(-1);
  assert.equal(evicted(8), "8 pods would be evicted: p0, p1, p2, p3, p4, p5, p6, p7.");
  assert.equal(evicted(1010), "1,010 pods would be evicted: p0, p1, p2, p3, p4, p5, p6, p7 and 1,002 more.");
  assert.equal(evicted(1), "1 pod would be evicted: p0.");
});

function state(columns, names, slots = names.map((_, slot) => slot)) {
  return { names, fields: Object.keys(columns), slots: () => slots, column: (field) => columns[field] ?? [] };
}

test("a plan changes requests and pods of its nodes, and marks those that are drained", () => {
  const before = state({ "requested/cpu": [100, 200], "requested/pods": [1, 1], "requested/x/gpu": [0, 1], "allocatable/x/gpu": [2, 2], unschedulable: [0, 0], ready: [1, 1] }, ["a", "b"]);
  const changes = new Map([
    ["b", { requests: { cpu: -50, "x/gpu": 1 }, pods: -1, role: "drained in step 2" }],
    ["unknown", { requests: { cpu: 7 }, pods: 1, role: "added" }],
  ]);
  const after = stateAfter(before, changes);
  assert.deepEqual(before.fields.map((field) => [...after.column(field)]), [[100, 150], [1, 0], [0, 2], [2, 2], [0, 1], [1, 1]]);
  assert.deepEqual([after.names, after.fields, after.slots()], [["a", "b"], before.fields, [0, 1]]);
  assert.deepEqual([...before.column("requested/cpu")], [100, 200], "the present stays");
});

test("nodes that are added have what their manifests say", () => {
  const node = (name, allocatable) => ({ metadata: { name }, status: { allocatable } });
  const before = state({ present: [1], ready: [1], "allocatable/cpu": [4000], "allocatable/memory": [1], "allocatable/x/gpu": [], other: [3] }, ["m"]);
  const after = stateAfter(before, new Map(), [node("z", { cpu: "1500m", memory: "1Ki" }), node("a", { cpu: "2", "x/gpu": "4" })]);
  assert.deepEqual([after.names, after.slots()], [["m", "z", "a"], [2, 0, 1]]);
  assert.deepEqual(before.fields.map((field) => [...after.column(field)]), [[1, 1, 1], [1, 1, 1], [4000, 1500, 2000], [1, 1024, 0], [0, 0, 4], [3, 0, 0]]);
});

test("the requested shares before and after are a sentence, without those that stay", () => {
  const before = state({ "allocatable/cpu": [1000, 1000, 5], "requested/cpu": [500, 0, 5], "allocatable/memory": [8, 8], "requested/memory": [4, 4], "allocatable/pods": [0, 0] }, ["a", "b", "gone"], [0, 1]);
  const after = stateAfter(before, new Map([["b", { requests: { cpu: 1000, memory: 0 }, pods: 0, role: "" }]]));
  assert.equal(shareText(before, after), "Requested of all nodes: cpu 25% → 75%.");
  assert.equal(shareText(before, before), "");
  const more = stateAfter(before, new Map([["a", { requests: { cpu: -500, memory: 4 }, pods: 0, role: "" }]]));
  assert.equal(shareText(before, more), "Requested of all nodes: cpu 25% → 0%, memory 50% → 75%.");
});

test("how many pods more a node has is written with a sign", () => {
  assert.deepEqual([1, 12, -1, -12, 0].map((pods) => podsText({ pods })), ["+1", "+12", "−1", "−12", ""]);
  assert.equal(podsText(undefined), "");
});
