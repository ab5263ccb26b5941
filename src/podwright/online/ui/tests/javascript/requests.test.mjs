// What is requested of a server, and what its answers say.

import assert from "node:assert/strict";
import { test } from "node:test";

import { isAllowed } from "../../pictures/data/access.js";
import { ClusterClock } from "../../pictures/data/cluster_clock.js";
import { EmbeddedSource } from "../../pictures/data/embedded_source.js";
import { pauseAfter, throttled } from "../../pictures/data/model.js";
import { findPod, groupOf, listPods, ownPodPath, podPath } from "../../pictures/data/pods.js";
import * as resources from "../../pictures/data/resources.js";
import { errorMessage } from "../../pictures/data/source.js";
import { groupsOf, reasonOf, titleOf, waitingGroups } from "../../pictures/data/waiting.js";
import * as actions from "../../pictures/parts/actions.js";
import * as matrix from "../../pictures/parts/matrix_rows.js";
import { deviceRows } from "../../pictures/parts/node_devices.js";
import { matrixOf, resultsByNode } from "../../pictures/parts/scores.js";
import * as whatIf from "../../pictures/parts/what_if.js";
import { fieldAt, propertiesAt } from "../../pictures/parts/yaml_completion.js";

/** A source with replies by path, which notes what is requested. */
function source(replies, { isLive = true } = {}) {
  const sent = [];
  const reply = (path) => {
    const found = replies[path];
    if (found === undefined) throw Object.assign(new Error(path), { status: 404 });
    if (found instanceof Error) throw found;
    return found;
  };
  return {
    isLive,
    sent,
    get: async (path) => (sent.push(path), reply(path)),
    send: async (method, path, body, type) => {
      sent.push([method, path, ...(body === undefined ? [] : [body]), ...(type ? [type] : [])]);
      return path in replies ? reply(path) : null;
    },
  };
}

test("paths have encoded names", () => {
  assert.equal(podPath("a b/c?", "/log"), "/api/v1/namespaces/a%20b/pods/c%3F/log");
  assert.equal(ownPodPath("a/c?", "/x"), "/podwright/v1/pods/a/c%3F/x");
  assert.equal(actions.nodePath("a/b"), "/api/v1/nodes/a%2Fb");
});

const TABLE = {
  columnDefinitions: ["Name", "Ready", "Status", "Age", "Node"].map((name) => ({ name })),
  rows: [["p", "0/1", "Pending", "5s", "<none>"], ["q", "1/1", "Running", "1d", "n1"]].map((cells) => ({ cells, object: { metadata: { namespace: "a", name: cells[0] } } })),
};

test("pods are rows of a Table by the names of its columns", async () => {
  const found = await listPods(source({ "/x": TABLE }), "/x");
  assert.deepEqual(found.map(({ metadata, ...rest }) => rest), [
    { pod: "a/p", status: "Pending", node: "", ready: "0/1", age: "5s" },
    { pod: "a/q", status: "Running", node: "n1", ready: "1/1", age: "1d" },
  ]);
  assert.deepEqual(await listPods(source({ "/x": { columnDefinitions: [], rows: null } }), "/x"), []);
});

test("a pod is looked for in a list", async () => {
  const path = "/api/v1/namespaces/a/pods?fieldSelector=metadata.name%3Dp";
  assert.deepEqual(await findPod(source({ [path]: { items: ["found"] } }), "a/p"), "found");
  assert.equal(await findPod(source({ [path]: { items: [] } }), "a/p"), null);
});

test("the members of a group have its label, or its field", async () => {
  const pods = "/api/v1/namespaces/a/pods";
  const labeled = { metadata: { namespace: "a", labels: { "scheduling.x-k8s.io/pod-group": "g" } }, spec: {} };
  const byLabel = await groupOf(source({ [`${pods}?labelSelector=scheduling.x-k8s.io%2Fpod-group%3Dg`]: TABLE }), labeled);
  assert.deepEqual([byLabel.name, byLabel.members.length], ["g", 2]);
  const items = [["p", "g"], ["q", "h"]].map(([name, group]) => ({ metadata: { name }, spec: { schedulingGroup: { podGroupName: group } } }));
  const both = { ...TABLE, items };
  const byField = await groupOf(source({ [pods]: both }), { metadata: { namespace: "a" }, spec: { schedulingGroup: { podGroupName: "g" } } });
  assert.deepEqual(byField.members.map(({ pod }) => pod), ["a/p"]);
  assert.equal(await groupOf(source({}), { metadata: { namespace: "a" }, spec: {} }), null);
});

// ------------------------------------------------------------------------------- waiting

const waitingPod = (pod, extra = {}) => ({ pod, place: "unschedulable", workload: "Job/j", created: "2", ...extra });

test("pods of one workload, place and cause are a group", () => {
  const groups = groupsOf(
    [waitingPod("a/1"), waitingPod("a/2", { created: "1" }), waitingPod("a/3", { created: "" }), waitingPod("b/1"), waitingPod("a/4", { rejectedBy: ["Fit"] }), waitingPod("a/5", { gatedBy: "G" }), waitingPod("a/6", { place: "active" }), waitingPod("a/7", { workload: "" })],
    2,
  );
  assert.deepEqual(groups.map(({ namespace, count, pods, created }) => [namespace, count, pods, created]), [
    ["a", 3, ["a/1", "a/2"], "1"],
    ["b", 1, ["b/1"], "2"],
    ["a", 1, ["a/4"], "2"],
    ["a", 1, ["a/5"], "2"],
    ["a", 1, ["a/6"], "2"],
    ["a", 1, ["a/7"], "2"],
  ]);
  assert.deepEqual([titleOf(groups[0]), titleOf(groups[1]), titleOf({ ...groups[0], workload: "" })], ["a/Job/j", "b/1", "a: pods without a controller"]);
});

test("a reason is a line", () => {
  for (const [each, place, expected] of [
    [{ message: "m" }, "gated", "m"],
    [{ gatedBy: "G", reasons: ["x", "y"] }, "gated", "Gated by G: x: y"],
    [{ rejectedBy: ["A", "B"] }, "unschedulable", "Rejected by A, B"],
    [{ rejectedBy: [] }, "active", "Waits for its turn"],
    [{}, "inFlight", "Is being scheduled"],
    [{}, "backoff", ""],
  ]) {
    assert.equal(reasonOf(each, place), expected);
  }
});

test("the queues of several schedulers are one, the rejected first", async () => {
  const queue = (place, count) => ({ counts: { [place]: count, active: 1 }, groupCount: 1, groups: [{ place, namespace: "a", workload: "", first: {} }] });
  const path = (name) => `/podwright/v1/queue/groups?limit=200&pods=3&schedulerName=${name}`;
  const data = { schedulers: async () => ["x", "y"], source: source({ [path("x")]: queue("gated", 2), [path("y")]: queue("unschedulable", 3) }) };
  const found = await waitingGroups(data, 3);
  assert.deepEqual([found.counts, found.groupCount, found.groups.map(({ place }) => place)], [{ gated: 2, active: 2, unschedulable: 3 }, 2, ["unschedulable", "gated"]]);
});

test("without the queue, pending pods are listed", async () => {
  const list = "/api/v1/pods?fieldSelector=spec.nodeName%3D%2Cstatus.phase%3DPending&limit=200";
  const pod = (name, status, ownerReferences) => ({ metadata: { namespace: "a", name, creationTimestamp: "t", ownerReferences }, status });
  const items = [
    pod("1", { conditions: [{ type: "Ready" }, { type: "PodScheduled", reason: "SchedulingGated", message: "m" }] }, [{ kind: "X", name: "x" }, { kind: "Job", name: "j", controller: true }]),
    pod("2", {}),
  ];
  const replies = { [list]: { items, metadata: { remainingItemCount: 4 } } };
  for (const schedulers of [async () => [], async () => null]) {
    const found = await waitingGroups({ schedulers, source: source(replies) });
    assert.deepEqual([found.counts, found.groupCount], [{ "": 6 }, 2]);
    assert.deepEqual(found.groups.map(({ place, workload, first }) => [place, workload, first.message]), [["gated", "Job/j", "m"], ["", "", "No scheduler has tried it yet"]]);
  }
  const failing = source({ ...replies, "/podwright/v1/queue/groups?limit=200&pods=1": Object.assign(new Error("gone"), { status: 500 }) });
  await assert.rejects(waitingGroups({ schedulers: async () => null, source: failing }), { message: "gone" });
});

// ------------------------------------------------------------------------------- tables

test("kinds are those that can be listed, in their preferred versions, by group and name", async () => {
  const resource = (kind, verbs = ["list"], scope = "Namespaced") => ({ resource: `${kind.toLowerCase()}s`, responseKind: { kind }, scope, verbs });
  const core = { items: [{ versions: [{ version: "v1", resources: [resource("Pod"), resource("Node", ["list"], "Cluster"), resource("Binding", ["create"])] }] }] };
  const groups = { items: [{ metadata: { name: "z" }, versions: [{ version: "v2", resources: [resource("Box")] }, { version: "v1", resources: [resource("Box"), resource("Old")] }, { version: "v0" }] }, { metadata: { name: "a" }, versions: [] }] };
  const found = await resources.listKinds(source({ "/api": core, "/apis": groups }));
  assert.deepEqual(found.map((kind) => [resources.nameOf(kind), resources.apiVersionOf(kind), kind.isNamespaced]), [
    ["nodes", "v1", false],
    ["pods", "v1", true],
    ["boxs.z", "z/v2", true],
    ["olds.z", "z/v1", true],
  ]);
  const named = (name) => resources.kindNamed(found, name)?.kind;
  assert.deepEqual(["pods", "boxs.z", "boxs", "boxs.a", "box"].map(named), ["Pod", "Box", "Box", undefined, undefined]);
});

test("objects have paths by group, namespace and name", () => {
  const pods = { group: "", version: "v1", resource: "pods", isNamespaced: true };
  const boxes = { group: "g", version: "v2", resource: "boxes", isNamespaced: false };
  assert.equal(resources.collectionPath(pods, "a b"), "/api/v1/namespaces/a%20b/pods");
  assert.equal(resources.collectionPath(pods, ""), "/api/v1/pods");
  assert.equal(resources.collectionPath(boxes, "a"), "/apis/g/v2/boxes");
  assert.equal(resources.objectPath(boxes, "", "x/y"), "/apis/g/v2/boxes/x%2Fy");
});

test("filters are selectors as kubectl takes them, and other text", () => {
  for (const [filter, labels, fields, text] of [
    ["Web", "", "", "web"],
    ["app=web", "app=web", "", ""],
    ["app!=web", "app!=web", "", ""],
    ["a in (b, c)", "a in (b, c)", "", ""],
    ["-l app=web,tier!=db", "app=web,tier!=db", "", ""],
    ["--selector=app=web Front", "app=web", "", "front"],
    ["--field-selector spec.nodeName=a", "", "spec.nodeName=a", ""],
    ["-l a=b --field-selector x=y rest", "a=b", "x=y", "rest"],
  ]) {
    assert.deepEqual(resources.parseFilter(filter), { labels, fields, text }, filter);
  }
});

test("a Table comes in parts, with the namespace where all are listed", async () => {
  const kind = { group: "", version: "v1", resource: "pods", isNamespaced: true };
  const part = (name, next) => ({ columnDefinitions: [{ name: "Name", priority: 0 }, { name: "IP", priority: 1 }], rows: [{ cells: [name, null], object: { metadata: { namespace: "a", name } } }], metadata: { continue: next } });
  const server = source({ "/api/v1/pods?limit=500&labelSelector=x%3Dy": part("p", "n"), "/api/v1/pods?limit=500&labelSelector=x%3Dy&continue=n": part("q", "") });
  const seen = [];
  await resources.listTable(server, kind, "", { labels: "x=y", fields: "" }, (table) => (seen.push([table.rows.length, table.isComplete, table]), true));
  assert.deepEqual(seen.map(([count, isComplete]) => [count, isComplete]), [[1, false], [2, true]]);
  assert.deepEqual(seen[1][2].columns, [{ title: "Namespace", isWide: false }, { title: "Name", isWide: false }, { title: "IP", isWide: true }]);
  assert.deepEqual(seen[1][2].rows[0], { key: "a/p", namespace: "a", name: "p", created: "", cells: ["a", "p", "<none>"] });
  const stopped = source({ "/api/v1/namespaces/a/pods?limit=500&fieldSelector=f": part("p", "n") });
  await resources.listTable(stopped, kind, "a", { labels: "", fields: "f" }, ({ rows }) => (assert.deepEqual(rows[0].cells, ["p", "<none>"]), false));
  assert.equal(stopped.sent.length, 1);
});

test("rows are sorted by numbers, ages by creation", () => {
  const columns = [{ title: "Name" }, { title: "Age" }];
  const rows = [["n10", "1"], ["n2", "3"], ["n1", "2"]].map(([name, created]) => ({ cells: [name, ""], created }));
  const names = (...given) => resources.sortedRows(rows, columns, ...given).map(({ cells }) => cells[0]);
  assert.deepEqual(names("Name", false), ["n1", "n2", "n10"]);
  assert.deepEqual(names("Name", true), ["n10", "n2", "n1"]);
  assert.deepEqual(names("Age", false), ["n2", "n1", "n10"]);
  assert.deepEqual(names("None", false), ["n10", "n2", "n1"]);
});

test("a status has a color", () => {
  for (const [title, text, tone] of [
    ["Status", "Running", "good"],
    ["Phase", "Bound", "good"],
    ["Status", "CrashLoopBackOff", "bad"],
    ["Status", "NotReady,SchedulingDisabled", "bad"],
    ["Status", "Ready,SchedulingDisabled", "warn"],
    ["Status", "Init:0/1", "warn"],
    ["Status", "Odd", ""],
    ["Name", "Running", ""],
  ]) {
    assert.equal(resources.toneOf(title, text), tone, text);
  }
});

test("wide columns are shown while there is room, the node always", () => {
  const columns = [{ title: "Name", isWide: false }, { title: "IP", isWide: true }, { title: "Node", isWide: true }];
  const rows = [{ cells: ["x".repeat(60), "10.0.0.1", "n1"] }];
  const shown = (room) => resources.shownColumns(columns, rows, room).map(({ title, width }) => [title, width]);
  assert.deepEqual(shown(100), [["Name", 44], ["IP", 9], ["Node", 7]]);
  assert.deepEqual(shown(55), [["Name", 33], ["IP", 9], ["Node", 7]]);
  assert.deepEqual(shown(30), [["Name", 20], ["Node", 7]]);
});

test("the message of an event has the rest of the room, its name little value", () => {
  const columns = [["Reason", 5], ["Object", 60], ["Message", 90], ["Name", 60]].map(([title]) => ({ title, isWide: title === "Name" }));
  const rows = [{ cells: ["Pulled", "x".repeat(60), "y".repeat(90), "z".repeat(60)] }];
  const shown = (room) => resources.shownColumns(columns, rows, room).map(({ title, width }) => [title, width]);
  assert.deepEqual(shown(90), [["Reason", 9], ["Object", 31], ["Message", 44]]);
  assert.deepEqual(shown(30), [["Message", 20]]);
});

test("devices have their claims, and are free while counters suffice", () => {
  const counters = (value) => [{ counterSet: "s", counters: { memory: { value } } }];
  const slice = (generation, devices, more = {}) => ({ spec: { driver: "d", pool: { name: "p", generation }, devices, ...more } });
  const slices = [
    slice(1, [{ name: "old" }]),
    slice(2, [
      { name: "a", attributes: { model: { string: "x" } }, capacity: { memory: { value: "1Gi" } }, taints: [{ key: "k", value: "v", effect: "NoExecute" }, { key: "l", effect: "NoSchedule" }], consumesCounters: counters("6") },
      { name: "b", consumesCounters: counters("4") },
      { name: "c", consumesCounters: counters("5") },
    ]),
    slice(2, undefined, { sharedCounters: [{ name: "s", counters: { memory: { value: "10" } } }] }),
  ];
  const claim = (device, adminAccess) => ({ metadata: { namespace: "n", name: `c-${device}` }, status: { reservedFor: [{ resource: "pods", name: "p" }, { resource: "other", name: "q" }], allocation: { devices: { results: [{ driver: "d", pool: "p", device, adminAccess }] } } } });
  const rows = deviceRows(slices, [claim("a", false), { metadata: {}, status: undefined }]);
  assert.deepEqual(rows.map(({ name, isFree }) => [name, isFree]), [["a", false], ["b", true], ["c", false]]);
  assert.deepEqual(rows[0], { name: "a", pool: "p", driver: "d", details: "model=x, memory=1Gi", taints: ["k=v:NoExecute", "l:NoSchedule"], claims: [{ claim: "n/c-a", pods: ["n/p"] }], isFree: false });
  assert.deepEqual(deviceRows(slices, [claim("a", true)]).map(({ isFree }) => isFree), [false, true, true]);
});

// ------------------------------------------------------------------------------- matrix

const filters = [{ plugin: "Fit", applies: true, results: [0, 1, 0, 2] }, { plugin: "Off", applies: false, results: [2, 2, 2, 2] }];
const MATRIX = {
  node: "a",
  nodes: ["a", "b", "c", "d"],
  totals: [30, null, 28, null],
  rejectedBy: [null, "Fit", null, null],
  results: [{ kind: "passed" }, { kind: "rejected", reasons: ["cpu"] }, { kind: "notEvaluated" }],
  filters,
  scores: [{ plugin: "X", weighted: [20, null, 15, null], raw: [2, null, 1, null] }, { plugin: "Y", weighted: [10, null, 13, null] }],
  preFilter: null,
  notExaminedReason: "enough",
};

test("the winner is the chosen node, else the first with the highest total", () => {
  assert.equal(matrix.winnerOf(MATRIX), 0);
  assert.equal(matrix.winnerOf({ ...MATRIX, node: "c" }), 2);
  assert.equal(matrix.winnerOf({ ...MATRIX, node: null, totals: [null, 5, 7, 7] }), 2);
  assert.equal(matrix.winnerOf({ ...MATRIX, node: "gone", totals: [null, null] }), -1);
});

test("filters together pass, reject, exclude or do not evaluate a node", () => {
  const kinds = [0, 1, 2, 3].map((index) => matrix.filterResult(MATRIX, index));
  assert.deepEqual(kinds.map(({ kind }) => kind), ["passed", "rejected", "passed", "notEvaluated"]);
  assert.deepEqual(kinds[1], { kind: "rejected", plugin: "Fit", reasons: ["cpu"] });
  assert.deepEqual(matrix.filterResult({ ...MATRIX, preFilter: { reasons: ["r"] } }, 0), { kind: "rejected", plugin: "PreFilter", reasons: ["r"] });
  assert.deepEqual(matrix.filterResult({ ...MATRIX, rejectedBy: ["Ext"] }, 0).reasons, []);
});

test("rows have the winner first, then totals, the rejected, the not evaluated", () => {
  assert.deepEqual(matrix.rowOrder(MATRIX), [0, 2, 1, 3]);
  assert.deepEqual(matrix.rowOrder({ ...MATRIX, node: "c" }), [2, 0, 1, 3]);
  assert.deepEqual(matrix.rowOrder({ ...MATRIX, node: null, nodes: ["d", "b", "c", "a"], totals: [1, 1, 2, 1], rejectedBy: [null, null, null, null], filters: [] }), [2, 3, 1, 0]);
});

test("differences are to the winner; extenders have weighted values only", () => {
  assert.equal(matrix.largestDifference(MATRIX, "weighted"), 5);
  assert.equal(matrix.largestDifference(MATRIX, "raw"), 3);
  assert.deepEqual(matrix.valuesOf(MATRIX.scores[1], "raw"), MATRIX.scores[1].weighted);
});

test("why a node was not chosen is a sentence", () => {
  const why = (changes, index) => matrix.whyNot({ ...MATRIX, ...changes }, index);
  assert.equal(why({}, 0), "a was chosen.");
  assert.equal(why({}, 1), "b was rejected by Fit: cpu.");
  assert.equal(why({}, 2), "a is 2 points ahead of c: X +5, Y -3.");
  assert.equal(why({}, 3), "d was not evaluated: enough feasible nodes had been found before.");
  assert.equal(why({ notExaminedReason: "nominatedNodeFits" }, 3), "d was not evaluated: the nominated node, which is evaluated first, passes every filter.");
  assert.equal(why({ totals: [29, null, 30, null] }, 2), "a is 1 point behind c: Y -3, X +5.");
  assert.equal(why({ totals: [30, null, 30, null] }, 2), "c has the same score as a; the draw decided.");
  assert.equal(why({ node: null, totals: [30, null, 30, null] }, 2), "c has the same score as a; they are tied.");
  assert.equal(why({ scores: [] }, 2), "c passed all filters; there was no score to compare.");
  assert.equal(why({ rejectedBy: [null, "Ext", null, null] }, 1), "b was rejected by Ext: no reason given.");
  assert.deepEqual([matrix.signed(2), matrix.signed(-2), matrix.signed(0)], ["+2", "-2", "0"]);
});

test("rows in view have some to spare", () => {
  assert.deepEqual(matrix.rowsInView(0, 100, 20, 50), { first: 0, end: 11 });
  assert.deepEqual(matrix.rowsInView(410, 100, 20, 50), { first: 14, end: 32 });
  assert.deepEqual(matrix.rowsInView(900, 100, 20, 50, 0), { first: 45, end: 50 });
});

test("a matrix is loaded once, and its results are by node", async () => {
  const server = source({ "/podwright/v1/pods/a/p/explanation?view=matrix": MATRIX, "/podwright/v1/pods/a/p/explanation?attempt=1&view=matrix": MATRIX });
  const found = await matrixOf(server, "a/p", "", "1");
  await matrixOf(server, "a/p", "", "1");
  await matrixOf(server, "a/p", "", "2");
  await matrixOf(server, "a/p", "?attempt=1", "1");
  assert.equal(server.sent.length, 3);
  const { totals, reasons, plugins } = resultsByNode(found);
  assert.deepEqual([totals.get("c"), [...reasons.values()], plugins.get("Y").get("c")], [28, ["", "Fit: cpu", "", "not evaluated"], 13]);
});

// ------------------------------------------------------------------------------ requests

test("messages of errors are those of a Status or a problem", () => {
  for (const [text, expected] of [
    ['{"kind":"Status","message":"m"}', "m"],
    ['{"detail":"d","field":"f"}', "f: d"],
    ['{"detail":"d"}', "d"],
    ['{"title":"t"}', "t"],
    ['{"message":"m","title":"t"}', "m"],
    ["null", "x"],
    ["plain", "plain"],
    ["<html>", "x"],
    ["", "x"],
    ["y".repeat(500), "x"],
    ["y".repeat(499), "y".repeat(499)],
  ]) {
    assert.equal(errorMessage(text, "x"), expected);
  }
});

test("what is forbidden is asked once", async () => {
  const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
  const allowing = source({ [path]: { status: { allowed: true } } });
  assert.equal(await isAllowed(allowing, { verb: "list", resource: "pods" }), true);
  assert.equal(await isAllowed(allowing, { verb: "list", resource: "pods" }), true);
  assert.equal(allowing.sent.length, 1);
  assert.deepEqual(allowing.sent[0][2].spec, { resourceAttributes: { verb: "list", group: "", resource: "pods", subresource: undefined, namespace: undefined } });
  await isAllowed(allowing, { verb: "get", path: "/x" });
  assert.deepEqual(allowing.sent[1][2].spec, { nonResourceAttributes: { verb: "get", path: "/x" } });
  assert.equal(await isAllowed(source({ [path]: { status: {} } }), { verb: "list" }), false);
  assert.equal(await isAllowed(source({ [path]: new Error() }), { verb: "list" }), false);
  assert.equal(await isAllowed(source({ [path]: { status: { allowed: true } } }, { isLive: false }), { verb: "list" }), false);
});

test("changes of a remedy are requests in order", async () => {
  const server = source({
    "/api/v1": { resources: [{ kind: "Pod", name: "pods/log", namespaced: true }, { kind: "Pod", name: "pods", namespaced: true }, { kind: "Node", name: "nodes", namespaced: false }] },
    "/api/v1/namespaces/a/pods?fieldSelector=metadata.name%3Dp": { items: [] },
  });
  const change = (action, more) => ({ action, apiVersion: "v1", kind: "Pod", namespace: "a", name: "p", body: { b: 1 }, ...more });
  await actions.applyChanges(server, [change("patch", { kind: "Node", name: "n/1" }), change("create"), change("delete"), change("replace")]);
  assert.deepEqual(server.sent.slice(1), [
    ["PATCH", "/api/v1/nodes/n%2F1", { b: 1 }, "application/merge-patch+json"],
    ["POST", "/api/v1/namespaces/a/pods", { b: 1 }],
    ["DELETE", "/api/v1/namespaces/a/pods/p"],
    ["DELETE", "/api/v1/namespaces/a/pods/p", { gracePeriodSeconds: 0, propagationPolicy: "Background" }],
    "/api/v1/namespaces/a/pods?fieldSelector=metadata.name%3Dp",
    ["POST", "/api/v1/namespaces/a/pods", { b: 1 }],
  ]);
  await assert.rejects(actions.applyChanges(server, [change("create", { kind: "Box" })]), { message: "The server has no kind Box in v1.", status: 404 });
});

test("requests are a text that can be checked, and the button names what goes", () => {
  const change = (action, more) => ({ action, kind: "Pod", namespace: "a", name: "p", body: { b: 1 }, ...more });
  assert.equal(actions.changeText(change("patch")), 'patch Pod a/p: {"b":1}');
  assert.equal(actions.changeText(change("delete", { kind: "Node", namespace: "" })), "delete Node p");
  assert.equal(actions.changeText(change("replace")), "delete Pod a/p and create it with the change");
  assert.equal(actions.applyText([change("create")]), "Apply");
  const template = { spec: { template: {} } };
  const changes = [change("replace"), change("delete"), change("delete", { kind: "Node" }), change("patch", { kind: "Deployment", body: template }), change("patch", { kind: "Deployment", body: template }), change("patch", { kind: "CronJob", body: { spec: { jobTemplate: {} } } }), change("patch")];
  assert.equal(actions.applyText(changes), "Apply: delete and recreate Pod, delete Pod, change Deployment and replace its pods, change CronJob");
});

test("a drain cordons, leaves daemons and static pods, and says what was refused", async () => {
  const pod = (name, metadata = {}) => ({ pod: `a/${name}`, metadata });
  const server = source({ "/api/v1/namespaces/a/pods/q/eviction": new Error("budget") });
  const refused = await actions.drain(server, "n", [pod("p"), pod("q"), pod("d", { ownerReferences: [{ kind: "DaemonSet", controller: true }] }), pod("s", { annotations: { "kubernetes.io/config.mirror": "x" } }), pod("r", { ownerReferences: [{ kind: "DaemonSet" }, { kind: "Job", controller: true }] })]);
  assert.deepEqual(refused, ["a/q: budget"]);
  assert.deepEqual(server.sent.map(([method, path]) => [method, path]), [["PATCH", "/api/v1/nodes/n"], ...["p", "q", "r"].map((name) => ["POST", `/api/v1/namespaces/a/pods/${name}/eviction`])]);
  assert.deepEqual([server.sent[0][2], server.sent[1][2]], [{ spec: { unschedulable: true } }, { apiVersion: "policy/v1", kind: "Eviction", metadata: { namespace: "a", name: "p" } }]);
  await actions.cordon(server, "n", false);
  assert.deepEqual(server.sent.at(-1)[2], { spec: { unschedulable: null } });
});

test("nodes fail where kubelets are simulated", async () => {
  const path = "/podwright/v1/nodes/silent";
  assert.deepEqual(await actions.silentNodes(source({ [path]: { hasKubelets: true, nodes: ["n"] } })), ["n"]);
  assert.equal(await actions.silentNodes(source({ [path]: { hasKubelets: false, nodes: [] } })), null);
  assert.equal(await actions.silentNodes(source({})), null);
  const server = source({});
  await actions.failNode(server, "n/1", true);
  await actions.failNode(server, "n", false);
  await actions.movePod(server, "a/p?");
  await actions.deletePod(server, "a/p");
  await actions.deleteNode(server, "n");
  assert.deepEqual(server.sent, [
    ["POST", "/podwright/v1/nodes/n%2F1/fail"],
    ["POST", "/podwright/v1/nodes/n/restore"],
    ["POST", "/podwright/v1/queue/a/p%3F/move"],
    ["DELETE", "/api/v1/namespaces/a/pods/p"],
    ["DELETE", "/api/v1/nodes/n"],
  ]);
});

test("tolerations are written as kubectl writes taints", () => {
  for (const [text, expected] of [
    ["a", { key: "a", operator: "Exists" }],
    [" a=b ", { key: "a", operator: "Equal", value: "b" }],
    ["a=", { key: "a", operator: "Equal", value: "" }],
    ["a:NoSchedule", { key: "a", operator: "Exists", effect: "NoSchedule" }],
    ["a=b:NoExecute", { key: "a", operator: "Equal", value: "b", effect: "NoExecute" }],
  ]) {
    assert.deepEqual(whatIf.parseToleration(text), expected);
  }
  assert.throws(() => whatIf.parseToleration("a:Never"), { message: "a:Never: Never is not one of NoSchedule, PreferNoSchedule, NoExecute" });
  assert.throws(() => whatIf.parseToleration(""), /expected KEY/);
});

test("weights go into the address and a configuration, and come back", () => {
  assert.deepEqual(whatIf.parseWeights("A:5, B : 2,"), { A: 5, B: 2 });
  assert.equal(whatIf.weightsText({ A: 5, B: 2 }), "A:5,B:2");
  for (const text of ["A", "A:0", "A:-1", "A:1.5"]) assert.throws(() => whatIf.parseWeights(text), { message: `${text}: expected PLUGIN:WEIGHT, with a weight of 1 or more` });
  assert.deepEqual(whatIf.parseWeights("A:1"), { A: 1 });
  assert.equal(whatIf.configurationText({}), "");
  assert.match(whatIf.configurationText({ A: 5 }), /enabled:\n {6}- \{name: A, weight: 5\}\n$/);
  const fields = { name: "a b", empty: "", value: "x&y" };
  assert.deepEqual(whatIf.parseFields(whatIf.fieldsText(fields)), { name: "a b", value: "x&y" });
});

test("a changed pod is a request with only what is changed", () => {
  const pod = { metadata: { namespace: "a", name: "p" }, spec: { tolerations: [{ key: "t" }], containers: [{ name: "c" }, { name: "d" }] } };
  assert.deepEqual(whatIf.whatIfOfPod(pod, {}), { pod: "a/p", matrix: true });
  const all = whatIf.whatIfOfPod(pod, { weights: { A: 1 }, toleration: "x", requests: { cpu: "1" }, configuration: { k: 1 } });
  assert.deepEqual(all, {
    pod: "a/p",
    matrix: true,
    weights: { A: 1 },
    configuration: { k: 1 },
    patches: [{ kind: "Pod", name: "a/p", patch: { spec: { tolerations: [{ key: "t" }, { key: "x", operator: "Exists" }], containers: [{ name: "c", resources: { requests: { cpu: "1" } } }] } } }],
  });
});

test("replies of comparisons are words", () => {
  assert.deepEqual(whatIf.weightsOf({ plugins: [{ name: "A", profiles: [{ weight: null }, { weight: 2 }] }, { name: "B", profiles: [{ weight: null }] }] }), { A: 2 });
  assert.deepEqual([null, { node: "n" }, { nominatedNode: "m" }, {}].map(whatIf.placeText), ["does not exist", "n", "pending, nominated to m", "pending"]);
  assert.equal(whatIf.becauseText(null), "");
  assert.equal(whatIf.becauseText({ scores: [1, -2, 3, 4].map((weighted) => ({ rule: "R", weighted })) }), "Score: R +1, R -2, R +3");
  assert.equal(whatIf.becauseText({ rule: "Fit", reasons: ["a", "b"] }), "Fit: a, b");
  assert.equal(whatIf.becauseText({ kind: "k", scores: [] }), "k");
});

const CLOCK = { time: "1970-01-01T00:00:01Z", speed: 1000, isPaused: true };

test("a paused clock stands, another runs at its speed, an unknown has no time", async () => {
  const clock = new ClusterClock(source({ "/podwright/v1/clock": CLOCK }));
  assert.equal(clock.nowNs(), null);
  await clock.look();
  assert.equal(clock.nowNs(), 1_000_000_000n);
  clock.take({ ...CLOCK, isPaused: false });
  clock.readMs -= 2;
  const now = clock.nowNs();
  assert.ok(now >= 3_000_000_000n && now < 60_000_000_000n, String(now));
  clock.source = source({});
  await clock.look();
  assert.equal(clock.nowNs(), null);
});

test("a report has its replies, and cannot be changed", async () => {
  const report = new EmbeddedSource({ labels: {}, replies: { "/a": 1 }, results: 2, timeline: "H4sIAAAAAAAAA0tMBAA2ye+BAgAAAA==" });
  assert.deepEqual([await report.get("/a"), (await report.results()).summary, report.isLive], [1, 2, false]);
  await assert.rejects(report.get("/b"), { status: 404 });
  await assert.rejects(report.bytes("/b"), { status: 404 });
  await assert.rejects(report.send(), { status: 405 });
});

test("work is done at once, once at a time, and again if it was due meanwhile", async () => {
  assert.deepEqual([pauseAfter(10, 500), pauseAfter(400, 500)], [500, 800]);
  let [runs, running] = [0, 0];
  const work = throttled(5, async () => {
    runs += 1;
    assert.equal(++running, 1);
    await new Promise((done) => setTimeout(done, 2));
    running -= 1;
  });
  for (let call = 0; call < 5; call++) work();
  assert.equal(runs, 1);
  const until = Date.now() + 10_000;
  while (runs < 2 && Date.now() < until) await new Promise((done) => setTimeout(done, 5));
  assert.equal(runs, 2);
  await new Promise((done) => setTimeout(done, 40));
  assert.equal(runs, 2);
});

test("a field of YAML is found by its indentation", () => {
  const at = (text) => fieldAt(text.split("\n"));
  const head = "apiVersion: v1\nkind: Pod\nspec:\n";
  assert.deepEqual(at(`${head}  cont`), { apiVersion: "v1", kind: "Pod", path: ["spec"], partial: "cont" });
  assert.deepEqual(at(`${head}  containers:\n  - name: a\n    im`), { apiVersion: "v1", kind: "Pod", path: ["spec", "containers"], partial: "im" });
  assert.deepEqual(at(`kind: Node\n---\n${head}a`).path, []);
  assert.deepEqual(at(`kind: Node\n---\n${head}a`).kind, "Pod");
  assert.equal(at("a: b"), null);
});

test("properties are those of the schema at a path, through references and lists", () => {
  const schemas = {
    Pod: { "x-kubernetes-group-version-kind": [{ group: "", version: "v1", kind: "Pod" }], properties: { spec: { allOf: [{ $ref: "#/c/Spec" }] } } },
    Spec: { properties: { containers: { type: "array", items: { $ref: "#/c/Box" } }, labels: { additionalProperties: { properties: { deep: {} } } } } },
    Box: { properties: { image: {} } },
  };
  const at = (path, kind = "Pod") => propertiesAt(schemas, { apiVersion: "v1", kind, path });
  assert.deepEqual(Object.keys(at(["spec"])), ["containers", "labels"]);
  assert.deepEqual(Object.keys(at(["spec", "containers"])), ["image"]);
  assert.deepEqual(Object.keys(at(["spec", "labels", "any"])), ["deep"]);
  assert.deepEqual([at(["none"]), at([], "Box")], [null, null]);
});
