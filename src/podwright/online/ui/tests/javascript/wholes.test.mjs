// Whole texts, legends, orders and drawings, of which the other tests look at parts.

import assert from "node:assert/strict";
import { test } from "node:test";

import { EmbeddedSource } from "../../pictures/data/embedded_source.js";
import { LiveState, presentSlots, resourcesOf } from "../../pictures/data/live_state.js";
import { listPods, podsOn } from "../../pictures/data/pods.js";
import * as resources from "../../pictures/data/resources.js";
import { RunSource } from "../../pictures/data/run_source.js";
import { matches, parseSelector } from "../../pictures/data/selector.js";
import { LISTED_MAX, NO_SCHEDULER, PLACES, groupsOf, waitingGroups } from "../../pictures/data/waiting.js";
import { applyChanges } from "../../pictures/parts/actions.js";
import { causeOf, eventText } from "../../pictures/parts/cause.js";
import * as comparison from "../../pictures/parts/comparison.js";
import { findingsOf } from "../../pictures/parts/findings.js";
import * as format from "../../pictures/parts/format.js";
import { TITLE_PX, heatLayout } from "../../pictures/parts/heat_layout.js";
import * as matrix from "../../pictures/parts/matrix_rows.js";
import { FITS, coloring, colorings } from "../../pictures/parts/node_colors.js";
import { CATEGORIES, STEPS, steps } from "../../pictures/parts/palette.js";
import { matrixOf, resultsByNode } from "../../pictures/parts/scores.js";
import * as sync from "../../pictures/parts/sync_text.js";
import { COLORS, drawMarks, marksOf, sized } from "../../pictures/parts/time_marks.js";
import * as whatIf from "../../pictures/parts/what_if.js";

test("what runs and reports do not have is said", async () => {
  const run = new RunSource("r");
  const report = new EmbeddedSource({ labels: { n: {} }, replies: {}, results: null, timeline: "" });
  for (const [request, message, status] of [
    [run.get("/podwright/v1/queue"), "A recorded run does not have it.", 404],
    [run.bytes("/podwright/v1/timelines"), "A recorded run does not have it.", 404],
    [run.send("POST", "/x"), "A recorded run cannot be changed.", 405],
    [report.get("/x"), "This report does not have it; write one with a greater --pods.", 404],
    [report.bytes("/x"), "This report does not have it.", 404],
    [report.send("POST", "/x"), "A report cannot be changed.", 405],
  ]) {
    await assert.rejects(request, { message, status });
  }
  assert.deepEqual([run.state()(), report.state()(), report.labels, run.labels], [undefined, undefined, { n: {} }, {}]);
});

test("without a scheduler, views say what is missing", () => {
  assert.equal(NO_SCHEDULER, "This server runs without podwright's scheduler (--no-scheduler), so it has no queue, explanations or past.");
  assert.deepEqual(PLACES, ["unschedulable", "backoff", "errorBackoff", "gated", "active", "inFlight"]);
  assert.equal(LISTED_MAX, 200);
});

// ---------------------------------------------------------------------------------- texts

test("each event of the queue is words", () => {
  for (const [label, text] of [
    ["PodAdd", "a pod is added"],
    ["NodeDelete", "a node is deleted"],
    ["AssignedPodUpdate", "a pod on a node changes"],
    ["UnschedulablePodUpdatePodSchedulingGatesEliminated", "this pod loses its last scheduling gate"],
    ["AssignedPodUpdatePodScaleDown", "a pod on a node reduces its requests"],
    ["podgroups.v1alpha1.scheduling.x-k8s.ioAdd", "a PodGroup is added"],
    ["NodeUpdateNodeLabel", "labels of a node change"],
    ["NodeUpdateNodeCondition", "conditions of a node change"],
    ["NodeUpdateNodeAnnotation", "annotations of a node change"],
    ["NodeUpdateNodeDeclaredFeature", "declared features of a node change"],
    ["AssignedPodUpdatePodLabel", "labels of a pod on a node change"],
    ["UnschedulablePodUpdatePodGeneratedResourceClaim", "generated claims of this pod change"],
    ["resource.k8s.io/ResourceClaimUpdate", "a ResourceClaim changes"],
    ["Add", " is added"],
  ]) {
    assert.equal(eventText(label), text, label);
  }
});

test("a cause is the most frequent reason, the first of equals", () => {
  for (const [message, text] of [
    ["0/3 nodes are available: 1 a, 1 b, 1 c.", "A on 1 of 3 nodes (and 2 more reasons)"],
    ["0/2000 nodes are available: 1500 node(s) had x, 500 y.", "X on 1,500 of 2,000 nodes (and 1 more reason)"],
    ["0/1 nodes are available: 1 node(s) were unschedulable.", "Unschedulable on the only node"],
    ["0/2 nodes are available: 2 node(s) was odd. no new claims to deallocate", "Odd on all 2 nodes"],
    ["0/2 nodes are available: 2 a, b, 1 c.", "A, b on all 2 nodes (and 1 more reason)"],
    ["0/2 nodes are available: pods are odd, 1 a.", "pods are odd, 1 a"],
    ["1/2 nodes", "1/2 nodes"],
  ]) {
    assert.equal(causeOf(message), text);
  }
});

test("the policies of a sync as a whole", () => {
  const flags = ["excludesRunning", "followsLabels", "followsResources", "mirrorsPodStatus", "hasExplicitSpread", "keepsOwners", "keepsAccounts", "ignoresDeletions", "restoresDeleted", "freezesNodeStatus"];
  assert.deepEqual(sync.policyTexts(Object.fromEntries([["bound", "initial"], ...flags.map((flag) => [flag, true])])), [
    "Pods that had a node in the first list keep it; later ones are scheduled here.",
    "Pods that had a node in the first list are left out.",
    "Changed labels of pods with a node are mirrored.",
    "Changed requests and limits of pods with a node are mirrored.",
    "The phase of pods is mirrored, so that finished pods free their resources.",
    "The spreading that Services and owners imply is written into the pods.",
    "Pods keep their owner references.",
    "Pods keep their service accounts and token volumes.",
    "Deletions at the source are ignored.",
    "A restart creates the pods again that were deleted here.",
    "Nodes keep the status with which they were created.",
  ]);
  assert.deepEqual(["kss", "source", "none"].flatMap((bound) => sync.policyTexts({ bound })), [
    "Pods that have a node when they are first seen keep it, as in kube-scheduler-simulator.",
    "Pods have the nodes of the source, which schedules them.",
    "No pod keeps its node: all are scheduled here.",
  ]);
  const flagged = flags.map((flag) => sync.policyTexts({ bound: "x", [flag]: true })[1]);
  assert.deepEqual(flagged, sync.policyTexts(Object.fromEntries([["bound", "x"], ...flags.map((flag) => [flag, true])])).slice(1));
  assert.deepEqual([sync.secondsText(0), sync.secondsText(9.996), sync.secondsText(123.4)], ["0.00 s", "10.00 s", "123 s"]);
});

test("differences are found in any case of their letters", () => {
  const differences = [{ pod: "a/web", nodes: ["N1"] }, { pod: "a/db", nodes: ["n2"] }];
  assert.deepEqual(sync.filteredDifferences(differences, "WEB"), [differences[0]]);
  assert.deepEqual(sync.filteredDifferences(differences, " n"), differences);
});

test("findings at their limits", () => {
  const COUNTS = { placed: 1, decisions: 1200, preemptions: 0, victims: 0, failed: 0 };
  const texts = (given) => findingsOf({ counts: COUNTS, ...given }).map(({ tone, text }) => `${tone}|${text}`);
  assert.deepEqual(texts({}), ["good|No pod is pending at the end; 1 placement in 1,200 decisions."]);
  const full = (peak, more) => ({ utilization: { cpu: { mean: 0.25, peak, ...more } } });
  assert.deepEqual([0.8999, 0.9].map((peak) => texts(full(peak)).length), [1, 2]);
  assert.equal(texts(full(1, { fragmentation: 0 }))[1], "|cpu was requested to 100% at its peak (25% on average, fragmentation 0%).");
  const waited = (p50Seconds, p99Seconds, maxSeconds) => texts({ waits: { count: 1, p50Seconds, p99Seconds, maxSeconds } })[1];
  assert.equal(waited(0, 0.9994, 1), "|A pod waited 0s at the median, 999ms at the 99th percentile and 1s at most.");
  assert.equal(texts({ waits: { count: 0, maxSeconds: 5 } }).length, 1);
  const down = (more) => ({ workload: "w", lowest: 0, lowestTarget: 1, belowTargetNs: 1e9, reachedNs: 0, ...more });
  const late = Array.from({ length: 6 }, (_, at) => down({ workload: `w${at}` }));
  assert.equal(texts({ report: { availability: late } })[1], "bad|6 workloads had too few ready pods for some time: " + [0, 1, 2, 3, 4].map((at) => `w${at} (0 of 1 at least, 1s in all)`).join(", ") + ".");
  assert.deepEqual([{ belowTargetNs: 0 }, { reachedNs: null }, { deleted: true }].map((more) => texts({ report: { availability: [down(more)] } }).length), [1, 1, 1]);
  const evicted = (evictions) => texts({ report: { evictions } }).slice(1);
  assert.deepEqual(evicted({ evicted: 1, byTaint: 0, rejected: 2 }), ["|1 pod was evicted; 2 evictions were rejected by budgets."]);
  assert.deepEqual(evicted({ evicted: 0, byTaint: 0, rejected: 2 }), []);
  assert.deepEqual(texts({ report: { drains: [{ node: "n", status: "blocked", blockedBy: ["a", "b"] }] } }).slice(1), ["bad|The drain of n is blocked, blocked by a, b."]);
  const failed = [["replicaset/d/web-1", "Pod"], ["pod/d/p", "Pod"], ["podgroup/d/p", "Pod"]].map(([owner, createdKind]) => ({ owner, createdKind, message: "no" }));
  assert.deepEqual(texts({ report: { failedCreations: failed } }).slice(1), ["bad|A Pod of replicaset/d/web-1 could not be created: no.", "bad|pod/d/p could not be created: no.", "bad|A Pod of podgroup/d/p could not be created: no."]);
  const rejected = (count) => texts({ report: { failedCreations: Array(count).fill(failed[1]) } }).slice(1);
  assert.deepEqual([rejected(5).length, rejected(6).at(-1), rejected(7).at(-1)], [5, "bad|Objects of 1 other owner could not be created.", "bad|Objects of 2 other owners could not be created."]);
  const some = { lostPods: ["a", "b"], neverTried: ["c"], missingOwners: { x: 1, y: 1 } };
  assert.deepEqual(texts({ report: some }).slice(1), ["bad|2 removed pods were not replaced by a controller.", "bad|1 pending pod was never tried.", "|The owners of 2 pods are not among the objects, so no controller replaces these pods."]);
  assert.deepEqual(texts({ counts: { ...COUNTS, victims: 1, preemptions: 2, failed: 3 } }).slice(1), ["bad|2 preemptions ended 1 pod.", "bad|3 pods failed."]);
});

test("times have digits, and a zone", () => {
  process.env.TZ = "UTC";
  const time = "2026-01-02T14:03:20.0567Z";
  assert.deepEqual([0, 1, 3, 6].map((digits) => format.clockText(time, digits)), ["14:03:20", "14:03:20.0", "14:03:20.056", "14:03:20.056700"]);
  assert.equal(format.clockText("2026-01-02T14:03:20Z", 2), "14:03:20.00");
  assert.deepEqual([format.utcText(time), format.utcText(""), format.utcText(null)], ["2026-01-02 14:03:20 UTC", "", ""]);
  for (const ns of [1n, 10n, 999_999_999n, 1_000_000_000n, 1_772_445_600_120_000_000n]) assert.equal(format.timeNs(format.timeText(ns)), ns);
  assert.equal(format.timeText(1_500_000_000n), "1970-01-01T00:00:01.5Z");
  assert.equal(format.timeText(-1n), "1970-01-01T00:00:00.999999999Z");
});

test("numbers are short, with separators", () => {
  assert.deepEqual([999, 1000, 1234567].map(format.numberText), ["999", "1,000", "1,234,567"]);
  assert.deepEqual([99.94, 99.95, 100.4, 1.04, 1.05, -99.96].map((value) => format.amountText("x", value)), ["99.9", "100", "100", "1", "1.1", "-100"]);
  assert.deepEqual([1023 * 2 ** 10, 1024 * 2 ** 10, 2 ** 40, 2 ** 50].map(format.bytesText), ["1023Ki", "1Mi", "1Ti", "1Pi"]);
  assert.equal(format.progressText({ done: 1, total: 3 }, "node", 60_000), "1 of 3 nodes, about 2m left");
  assert.equal(format.progressText({ done: 5, total: 5 }, "node", 60_000), "5 of 5 nodes, about 0s left");
  assert.deepEqual([0, 99, 100, 101, 200, 201, 401, 1000, 1001].map(format.roundAbove), [2, 100, 200, 200, 200, 400, 1000, 2000, 2000]);
});

// -------------------------------------------------------------------------------- selectors

test("values of labels begin and end with each letter and digit, and have each sign within", () => {
  const letters = "ABCXYZabcxyz0123456789";
  for (const letter of letters) {
    for (const value of [letter, `${letter}-_.${letter}`]) {
      assert.deepEqual(parseSelector(`a=${value}`), [{ key: "a", operator: "in", values: [value] }]);
      assert.deepEqual(parseSelector(value), [{ key: value, operator: "exists", values: [] }]);
    }
    if (letter !== letter.toUpperCase() || /\d/.test(letter)) assert.equal(parseSelector(`${letter}-.${letter}/a`)[0].key, `${letter}-.${letter}/a`);
  }
  for (const sign of "-_.") for (const value of [`${sign}a`, `a${sign}`]) assert.throws(() => parseSelector(`a=${value}`), { message: `a=${value}: ${value} is not a label value` });
  const form = "expected KEY, !KEY, KEY=VALUE, KEY!=VALUE, KEY in (A,B) or KEY notin (A,B)";
  for (const key of ["-a/b", "a-/b", "A/b", `${"x".repeat(254)}/a`, `a/${"x".repeat(64)}`]) assert.throws(() => parseSelector(key), { message: `${key}: ${form}` });
  assert.equal(parseSelector(`${"x".repeat(253)}/${"y".repeat(63)}`).length, 1);
});

test("sets and comparisons may have spaces", () => {
  assert.deepEqual(parseSelector("a in(b), ! c , d  notin  ( e , f ),g == h,i !=  j"), [
    { key: "a", operator: "in", values: ["b"] },
    { key: "c", operator: "!", values: [] },
    { key: "d", operator: "notin", values: ["e", "f"] },
    { key: "g", operator: "in", values: ["h"] },
    { key: "i", operator: "notin", values: ["j"] },
  ]);
  assert.throws(() => parseSelector("a in (b,c"), { message: "a in (b,c: a ) is missing" });
  assert.throws(() => parseSelector("a,,b"), { message: "a,,b: a comma without an expression" });
  assert.equal(matches(parseSelector("a in (b,c)"), { a: "c" }), true);
});

// ----------------------------------------------------------------------------------- lists

test("a group has the key by which its pods are alike", () => {
  const pod = (name, more) => ({ pod: `a/${name}`, place: "gated", workload: "Job/j", created: "2", ...more });
  const [group, other] = groupsOf([pod("1", { rejectedBy: ["X", "Y"], gatedBy: "G" }), pod("2", { rejectedBy: ["X", "Y"], gatedBy: "G", created: "3" }), pod("3")], 1);
  assert.deepEqual(group, { key: "gated a Job/j X Y G", place: "gated", workload: "Job/j", namespace: "a", count: 2, created: "2", pods: ["a/1"], first: pod("1", { rejectedBy: ["X", "Y"], gatedBy: "G" }) });
  assert.equal(other.key, "gated a Job/j ");
});

test("pods that wait are listed as a whole where there is no queue", async () => {
  const asked = [];
  const scheduled = { type: "PodScheduled", reason: "Unschedulable", message: "m" };
  const item = { metadata: { namespace: "a", name: "p", creationTimestamp: "t", ownerReferences: [{ kind: "Job", name: "j", controller: true }] }, status: { conditions: [scheduled] } };
  const get = async (path) => {
    asked.push(path);
    return { items: [item], metadata: {} };
  };
  const first = { pod: "a/p", place: "", workload: "Job/j", created: "t", message: "m", attempts: 0 };
  const found = await waitingGroups({ schedulers: async () => [], source: { get } });
  assert.deepEqual(found, { counts: { "": 1 }, groupCount: 1, groups: [{ key: " a Job/j ", place: "", workload: "Job/j", namespace: "a", count: 1, created: "t", pods: ["a/p"], first }] });
  for (const status of [403, 404, 409, 500]) {
    const source = { get: async (path) => (path.startsWith("/podwright") ? Promise.reject(Object.assign(new Error("no"), { status })) : get(path)) };
    const asking = waitingGroups({ schedulers: async () => null, source });
    await (status === 500 ? assert.rejects(asking, { message: "no" }) : asking);
  }
  assert.equal(asked.length, 4);
});

test("tables are requested in kubectl's form", async () => {
  const asked = [];
  const table = { columnDefinitions: [], rows: null };
  const source = { get: async (path, headers) => (asked.push([path, headers]), table) };
  await listPods(source, "/x");
  await podsOn(source, "n/1");
  const Accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
  assert.deepEqual(asked, [["/x", { Accept }], ["/api/v1/pods?fieldSelector=spec.nodeName%3Dn%2F1", { Accept }]]);
  asked.length = 0;
  await resources.listKinds({ get: async (path, headers) => (asked.push([path, headers]), { items: [] }) });
  const discovery = { Accept: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json" };
  assert.deepEqual(asked, [["/api", discovery], ["/apis", discovery]]);
  asked.length = 0;
  const kind = { group: "", version: "v1", resource: "nodes", isNamespaced: false };
  const part = { columnDefinitions: [{ name: "Name", priority: 0 }], rows: [{ cells: [0], object: { metadata: { name: "n", creationTimestamp: "t" } } }, { cells: [undefined], object: { metadata: { name: "m" } } }] };
  const tables = [];
  await resources.listTable({ get: async (path, headers) => (asked.push([path, headers]), part) }, kind, "", { labels: "", fields: "" }, async (one) => tables.push(one));
  assert.deepEqual(asked, [["/api/v1/nodes?limit=500", { Accept: "application/json;as=Table;v=v1;g=meta.k8s.io,application/json" }]]);
  assert.deepEqual(tables, [
    { columns: [{ title: "Name", isWide: false }], rows: [{ key: "/n", namespace: "", name: "n", created: "t", cells: ["0"] }, { key: "/m", namespace: "", name: "m", created: "", cells: ["<none>"] }], isComplete: true },
  ]);
});

test("kinds have what a list and a form need", async () => {
  const resource = { resource: "pods", responseKind: { kind: "Pod" }, scope: "Namespaced", verbs: ["list", "get"] };
  const document = (...names) => ({ items: names.map((name) => ({ metadata: name && { name }, versions: [{ version: "v1", resources: [resource, { ...resource, resource: "boxes", responseKind: { kind: "Box" }, scope: "Cluster" }] }] })) });
  const found = await resources.listKinds({ get: async (path) => (path === "/api" ? document("") : document("z", "a")) });
  assert.deepEqual(found.map(({ group, kind }) => `${group}/${kind}`), ["/Box", "/Pod", "a/Box", "a/Pod", "z/Box", "z/Pod"]);
  assert.deepEqual(found[1], { kind: "Pod", group: "", version: "v1", resource: "pods", isNamespaced: true, verbs: ["list", "get"] });
});

test("names come first where there is little room, then states, then the rest", () => {
  const columns = ["Name", "Age", "Phase", "Wide"].map((title) => ({ title, isWide: title === "Wide" }));
  const rows = [{ cells: ["n".repeat(15), "5m", "Bound", "w"] }];
  const shown = (room) => resources.shownColumns(columns, rows, room).map(({ title, width, index }) => [title, width, index]);
  assert.deepEqual(shown(100), [["Name", 16, 0], ["Age", 6, 1], ["Phase", 8, 2], ["Wide", 7, 3]]);
  assert.deepEqual(shown(36), [["Name", 16, 0], ["Age", 6, 1], ["Phase", 8, 2]]);
  assert.deepEqual(shown(30), [["Name", 16, 0], ["Phase", 8, 2]]);
  assert.deepEqual(shown(28), [["Name", 16, 0], ["Phase", 8, 2]]);
  assert.deepEqual(shown(27), [["Name", 16, 0], ["Age", 6, 1]]);
  assert.deepEqual(shown(5), [["Name", 16, 0]]);
  const long = { cells: ["n".repeat(90), "", "", ""] };
  assert.deepEqual([20, 40, 60, 73, 74, 200].map((room) => resources.shownColumns(columns, [long], room)[0].width), [20, 24, 36, 43, 44, 44]);
  const many = Array.from({ length: 302 }, (_, at) => ({ cells: ["x".repeat(at === 299 ? 12 : at > 299 ? 40 : 1), "", "", ""] }));
  assert.equal(resources.shownColumns(columns, many, 100)[0].width, 13, "the first 300 rows are measured");
});

test("each state has a color", () => {
  const tones = { good: ["Running", "Ready", "Bound", "Active", "Complete", "Completed", "Succeeded", "Available", "True", "Established"], bad: ["NotReady", "Failed", "Lost", "Unknown", "ImagePullErr", "ErrImagePull", "ImagePullBackOff", "OOMKilled", "Evicted", "False", "x,Failed", "Failed,x"], warn: ["Pending", "ContainerCreating", "Terminating", "SchedulingDisabled", "Released", "Suspended", "Init:0/2", "SchedulingGated", "Unschedulable", "x,Pending"], "": ["", "Runnings", "NotFailed"] };
  for (const [tone, texts] of Object.entries(tones)) for (const text of texts) assert.equal(resources.toneOf("Status", text), tone, text);
  assert.equal(resources.toneOf("Reason", "Failed"), "");
});

// --------------------------------------------------------------------------------- changes

test("an object that finalizers keep is not created again", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const sent = [];
  const collection = "/apis/g/v1/namespaces/a/boxes";
  let looks = 0;
  const source = {
    get: async (path) => {
      if (path === "/apis/g/v1") return { resources: [{ kind: "Box", name: "boxes", namespaced: true }] };
      assert.equal(path, `${collection}?fieldSelector=metadata.name%3Db`);
      looks += 1;
      return { items: [{}] };
    },
    send: async (...request) => sent.push(request),
  };
  const change = { action: "replace", apiVersion: "g/v1", kind: "Box", namespace: "a", name: "b", body: { x: 1 } };
  const failing = assert.rejects(applyChanges(source, [change]), { message: "The object was deleted, but finalizers keep it; it was not created again.", status: 0 });
  for (let each = 0; each < 50; each++) {
    for (let turn = 0; turn < 10; turn++) await new Promise((done) => setImmediate(done));
    assert.equal(looks, each + 1);
    context.mock.timers.tick(99);
    context.mock.timers.tick(1);
  }
  await failing;
  assert.deepEqual(sent, [["DELETE", `${collection}/b`, { gracePeriodSeconds: 0, propagationPolicy: "Background" }]]);
});

test("comparisons are requests with all that a form has", () => {
  assert.equal(whatIf.configurationText({ A: 5, B: 1 }), "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n- plugins:\n    multiPoint:\n      enabled:\n      - {name: A, weight: 5}\n      - {name: B, weight: 1}\n");
  const pod = { metadata: { namespace: "a", name: "p" }, spec: { containers: [{ name: "c" }] } };
  assert.deepEqual(whatIf.whatIfOfPod(pod, { toleration: "k:NoSchedule" }), { pod: "a/p", matrix: true, patches: [{ kind: "Pod", name: "a/p", patch: { spec: { tolerations: [{ key: "k", operator: "Exists", effect: "NoSchedule" }] } } }] });
  assert.deepEqual(whatIf.whatIfOfPod(pod, { requests: { cpu: "1" } }).patches[0].patch, { spec: { containers: [{ name: "c", resources: { requests: { cpu: "1" } } }] } });
  assert.equal(whatIf.becauseText({ rule: "Y", scores: [{ rule: "R", weighted: 0 }] }), "Y: R -0");
  assert.equal(whatIf.becauseText({ rule: "Y" }), "Y");
  assert.equal(whatIf.becauseText({ reasons: ["a"] }), "a");
  assert.throws(() => whatIf.parseToleration("=x"), { message: "=x: expected KEY, KEY=VALUE or KEY=VALUE:EFFECT" });
  assert.deepEqual(whatIf.parseToleration("a:PreferNoSchedule").effect, "PreferNoSchedule");
});

// ------------------------------------------------------------------------------------ colors

const NODES = ["a", "b", "c", "d"];
const state = (columns) => ({ names: NODES, fields: Object.keys(columns), slots: () => [0, 1, 2, 3], column: (field) => columns[field] ?? [] });

test("the colors of a share, its texts and its legend", () => {
  const shares = state({ "allocatable/cpu": [1000, 1000, 1000], "requested/cpu": [0, 950, 2000, 5] });
  for (const isDark of [true, false]) {
    const { of, legend } = coloring("cpu", shares, new Map(), null, isDark);
    const colors = steps(isDark);
    assert.deepEqual([0, 1, 2, 3].map(of), [
      { color: colors[0], text: "0%", step: 0 },
      { color: colors[9], text: "95%", step: 9 },
      { color: colors[9], text: "200%", step: 9 },
      { color: colors[9], text: "100%", step: 9 },
    ]);
    assert.deepEqual(legend, ["0%", "10%", "20%", "30%", "40%", "50%", "60%", "70%", "80%", "90%+"].map((text, at) => ({ color: colors[at], text })));
  }
  const { detail } = coloring("cpu", shares, new Map(), null, true);
  assert.deepEqual([detail(1), detail(3)], ["950m of 1", "5m of 0"]);
});

test("taints have four steps", () => {
  const { of, legend } = coloring("taints", state({ taints: [0, 2, 3] }), new Map(), null, true);
  const colors = [0, 4, 7, 9].map((step) => STEPS[step]);
  assert.deepEqual(legend, ["0", "1", "2", "3+"].map((text, at) => ({ color: colors[at], text })));
  assert.deepEqual([0, 1, 2, 3].map(of), [{ color: colors[0], text: "0", step: 0 }, { color: colors[2], text: "2", step: 2 }, { color: colors[3], text: "3", step: 3 }, { color: colors[0], text: "0", step: 0 }]);
  assert.equal(coloring("taints", state({ taints: [12] }), new Map(), null, false).of(0).step, 3);
});

test("scores have a range of colors, those of a plugin too", () => {
  const scores = new Map([["a", 10], ["b", 20], ["c", 0], ["d", null]]);
  const results = { totals: scores, plugins: new Map([["Fit", new Map([["a", 1], ["b", 2]])]]), reasons: new Map() };
  const total = coloring("score", state({}), new Map(), results, true);
  assert.deepEqual([0, 1, 2, 3].map(total.of), [
    { color: STEPS[5], text: "10", step: 5 },
    { color: STEPS[9], text: "20", step: 9 },
    { color: STEPS[0], text: "0", step: 0 },
    { color: null, text: "rejected", step: -1 },
  ]);
  assert.deepEqual([total.legend, total.isRange], [[{ color: STEPS[0], text: "lowest 0" }, { color: STEPS[9], text: "highest 20" }], true]);
  const own = coloring("score:Fit", state({}), new Map(), results, false);
  assert.deepEqual([own.of(0).step, own.of(1).step, own.of(2).text, own.legend[1].text, own.legend[1].color], [0, 9, "rejected", "highest 2", STEPS[0]]);
  const unknown = coloring("score:None", state({}), new Map(), results, false);
  assert.deepEqual([unknown.of(0), unknown.legend], [{ color: null, text: "–", step: -1 }, []]);
  assert.deepEqual(coloring("reason", state({}), new Map(), null, true).of(0), { color: null, text: "–", step: -1 });
  assert.equal(FITS, "passes every filter");
});

test("categories are sorted as people count, repeat their colors, and the legend has twelve", () => {
  const names = Array.from({ length: 14 }, (_, at) => `n${at}`);
  const labels = new Map(names.map((name, at) => [name, { x: `v${13 - at}` }]));
  const many = { names, fields: [], slots: () => names.map((_, slot) => slot), column: () => [] };
  const { of, legend } = coloring("label:x", many, labels, null, true);
  assert.deepEqual(legend.slice(0, 2), [{ color: CATEGORIES[0], text: "v0", filter: "x=v0" }, { color: CATEGORIES[1], text: "v1", filter: "x=v1" }]);
  assert.deepEqual([legend.length, legend[10].text, legend[8].color], [12, "v10", CATEGORIES[0]]);
  assert.deepEqual(of(0), { color: CATEGORIES[5], text: "v13", step: 13 });
  const zone = coloring("zone", many, new Map(), null, true);
  assert.deepEqual(zone.legend, [{ color: CATEGORIES[0], text: "no zone", filter: "!topology.kubernetes.io/zone" }]);
});

test("the choices of colors have their titles", () => {
  const shown = colorings(state({ "allocatable/pods": [1], "allocatable/cpu": [1] }), true, ["topology.kubernetes.io/zone", "x"], { plugins: new Map([["Fit", 1]]) });
  assert.deepEqual(shown, [
    { key: "cpu", title: "cpu requested" },
    { key: "pods", title: "pod count" },
    { key: "reason", title: "what rejects the pod" },
    { key: "score", title: "score for the pod" },
    { key: "score:Fit", title: "score of Fit" },
    { key: "zone", title: "zone" },
    { key: "taints", title: "taints" },
    { key: "label:x", title: "label x" },
  ]);
});

test("cells get smaller until they fit, five pixels at least", () => {
  const slots = (count) => Array.from({ length: count }, (_, at) => at);
  const layout = (groups, width, height) => heatLayout(groups, width, height);
  assert.equal(TITLE_PX, 22);
  assert.deepEqual(layout([{ title: "", slots: slots(4) }], 80, 80), { cellPx: 40, columns: 2, height: 80, blocks: [{ title: "", slots: slots(4), top: 0 }] });
  assert.deepEqual(layout([{ title: "", slots: slots(4) }], 80, 79).cellPx, 39);
  assert.deepEqual(layout([{ title: "t", slots: slots(2) }, { title: "u", slots: [] }], 40, 0), { cellPx: 5, columns: 8, height: 61, blocks: [{ title: "t", slots: slots(2), top: 22 }, { title: "u", slots: [], top: 55 }] });
  assert.equal(layout([{ title: "", slots: slots(3) }], 3, 0).columns, 1);
});

// ------------------------------------------------------------------------------------ matrix

const MATRIX = {
  node: "b",
  nodes: ["a", "b", "c"],
  totals: [10, 40, 10],
  rejectedBy: [null, null, null],
  results: [],
  filters: [],
  scores: ["W", "X", "Y", "Z"].map((plugin, at) => ({ plugin, weighted: [[5, 10, 5], [1, 20, 1], [4, 9, 4], [0, 1, null]][at] })),
  preFilter: null,
  notExaminedReason: "enough",
};

test("what decided is named by how much it decided", () => {
  assert.deepEqual(matrix.VALUES, ["weighted", "normalized", "raw"]);
  assert.equal(matrix.whyNot(MATRIX, 0), "b is 30 points ahead of a: X +19, W +5, Y +5, Z +1.");
  const behind = { ...MATRIX, totals: [40, 10, 0], scores: MATRIX.scores.map(({ plugin, weighted: [a, b, c] }) => ({ plugin, weighted: [b, a, c] })) };
  assert.equal(matrix.whyNot(behind, 0), "b is 30 points behind a: X -19, W -5, Y -5, Z -1.");
  const nodes = { ...MATRIX, rejectedBy: [null, null, "P"], filters: [{ plugin: "P", applies: false, results: [0, 0, 0] }, { plugin: "P", applies: true, results: [0, 0, 1] }], results: [{ kind: "passed" }, { kind: "rejected", reasons: ["r", "s"] }] };
  assert.deepEqual(matrix.filterResult(nodes, 2), { kind: "rejected", plugin: "P", reasons: ["r", "s"] });
  assert.equal(matrix.whyNot(nodes, 2), "c was rejected by P: r, s.");
  const excluded = { ...MATRIX, filters: [{ plugin: "P", applies: true, results: [0, 0, 0] }], results: [{ kind: "excluded" }] };
  assert.equal(matrix.whyNot(excluded, 0), "a was excluded: a plugin left only other nodes before the filters ran.");
  assert.equal(matrix.largestDifference(MATRIX, "weighted"), 19);
  assert.equal(matrix.largestDifference({ ...MATRIX, node: null, totals: [null, null, null] }, "weighted"), 20);
});

test("rows of one kind are by total, plugin and name", () => {
  const rejected = { node: null, nodes: ["d", "c", "b", "a", "e"], totals: [null, null, null, null, null], rejectedBy: ["Y", "X", "X", "Y", null], results: [{ kind: "passed" }], filters: [], scores: [], preFilter: null };
  assert.deepEqual(matrix.rowOrder(rejected), [4, 2, 1, 3, 0]);
  const scored = { ...rejected, rejectedBy: [null, null, null, null, null], totals: [1, 5, null, 5, 3] };
  assert.deepEqual(matrix.rowOrder(scored), [1, 3, 4, 0, 2]);
});

test("a matrix that could not be loaded is loaded again, and eight are kept", async () => {
  let isDown = true;
  const asked = [];
  const source = {
    get: async (path) => {
      asked.push(path);
      if (isDown) throw new Error("down");
      return MATRIX;
    },
  };
  await assert.rejects(matrixOf(source, "a/p", "", "1"), { message: "down" });
  isDown = false;
  for (let version = 1; version <= 9; version++) await matrixOf(source, "a/p", "", String(version));
  assert.equal(asked.length, 10);
  await matrixOf(source, "a/p", "", "9");
  await matrixOf(source, "a/p", "", "2");
  assert.equal(asked.length, 10, "these are kept");
  await matrixOf(source, "a/p", "", "1");
  assert.equal(asked.length, 11, "the first is not");
  assert.deepEqual(new Set(asked), new Set(["/podwright/v1/pods/a/p/explanation?view=matrix"]));
  const { totals, reasons, plugins } = resultsByNode(MATRIX);
  assert.deepEqual([[...totals], [...reasons], [...plugins.get("X")]], [[["a", 10], ["b", 40], ["c", 10]], [["a", ""], ["b", ""], ["c", ""]], [["a", 1], ["b", 20], ["c", 1]]]);
});

// ------------------------------------------------------------------------------------- states

test("cpu, memory and pods come first", () => {
  const fields = ["a", "pods", "memory", "cpu"].map((name) => `allocatable/${name}`);
  assert.deepEqual(resourcesOf({ fields: ["present", ...fields, "requested/b"], column: () => [1] }), ["cpu", "memory", "pods", "a"]);
});

test("slots of one name stay in their order, and columns grow with the nodes", () => {
  assert.deepEqual(presentSlots(["b", "a", "b", "a"], [1, 1, 1, 1]), [1, 3, 0, 2]);
  const live = new LiveState();
  assert.deepEqual([live.names, live.fields, live.columns, live.time, live.pods, live.isKnown, live.nodesVersion], [[], [], [], "", {}, false, 0]);
  live.apply("snapshot", { nodes: ["a"], fields: ["present"], columns: [[1]], time: "t", pods: {} });
  const nodes = Array.from({ length: 40 }, (_, at) => `n${at}`);
  live.apply("changes", { nodes, fields: [], slotIndex: [40], fieldIndex: [0], values: [1], time: "u", pods: {} });
  assert.deepEqual([live.column("present").length, live.slots(), live.column("present")[40]], [41, [0, 40], 1]);
  live.clear();
  assert.deepEqual([live.names, live.isKnown, live.slots()], [[], false, []]);
});

// -------------------------------------------------------------------------------------- marks

/** A timeline of rows of time, subject, field and delta. */
function timelineOf(subjects, fields, rows) {
  return { subjects, fields, firstNs: 0n, timesNs: BigInt64Array.from(rows.map(([time]) => BigInt(time))), subjectIndex: rows.map(([, subject]) => subject), fieldIndex: rows.map(([, , field]) => fields.indexOf(field)), deltas: BigInt64Array.from(rows.map((row) => BigInt(row[3]))) };
}

const SUBJECTS = [["node", "n1"], ["node", "n2"], ["pod", "a/p"], ["reason", "PreemptionByScheduler"], ["reason", "DeletionByTaintManager"]];
const FIELDS = ["present", "ready", "node", "disruptedBy"];

test("marks are what happened to pods and nodes that are there", () => {
  const rows = [
    [1, 0, "ready", -1], // before it is there
    [2, 0, "present", 1],
    [3, 0, "ready", 1],
    [4, 0, "ready", -1],
    [5, 2, "node", 1],
    [6, 2, "node", -1],
    [7, 2, "node", 2],
    [8, 2, "disruptedBy", 5],
    [9, 2, "disruptedBy", -1],
    [10, 2, "disruptedBy", -1],
    [11, 2, "disruptedBy", 1],
    [12, 0, "present", -1], // later than its failure
    [13, 1, "present", 1],
    [14, 1, "ready", -1],
    [14, 1, "present", -1], // a node that is deleted
  ]; // prettier-ignore
  const marks = marksOf(timelineOf(SUBJECTS, FIELDS, rows));
  assert.deepEqual(marks, [
    { kind: "failure", timeNs: 4n, name: "n1" },
    { kind: "binding", timeNs: 5n, name: "a/p" },
    { kind: "binding", timeNs: 7n, name: "a/p" },
    { kind: "preemption", timeNs: 11n, name: "a/p" },
  ]);
});

test("marks are drawn in their colors, bindings as a histogram", () => {
  globalThis.devicePixelRatio = 1.5;
  const calls = [];
  const context = new Proxy({}, {
    get: (_, name) => (...values) => calls.push([name, ...values]),
    set: (_, name, value) => calls.push([`${name} =`, value]),
  }); // prettier-ignore
  const canvas = { width: 0, height: 0, getContext: (kind) => (assert.equal(kind, "2d"), context) };
  const rows = [[5, 0, "present", 1], [10, 2, "node", 1], [10, 2, "node", 1], [10, 2, "node", 1], [60, 2, "node", 1], [61, 2, "node", 1], [60, 2, "disruptedBy", 4], [110, 0, "ready", -1]];
  const past = { beginNs: 5n, timeline: timelineOf(SUBJECTS, FIELDS, rows) };
  assert.deepEqual(COLORS, ["--pw-line-strong", "--pw-accent", "--pw-bad", "--pw-warning", "--pw-muted"]);
  drawMarks(canvas, past, { begin: 10n, end: 110n, width: 108, height: 31 }, 27, ["l", "accent", "bad", "warning"]);
  const tall = 3 + (Math.log1p(2) / Math.log1p(3)) * 20;
  assert.deepEqual(calls, [
    ["setTransform", 1.5, 0, 0, 1.5, 0, 0],
    ["clearRect", 0, 0, 108, 31],
    ["fillStyle =", "accent"],
    ["globalAlpha =", 0.55],
    ["fillRect", 4, 4, 2, 23],
    ["fillRect", 54, 27 - tall, 2, tall],
    ["globalAlpha =", 1],
    ["fillStyle =", "warning"],
    ["beginPath"], ["moveTo", 54, 31], ["lineTo", 50, 37], ["lineTo", 58, 37], ["fill"],
    ["strokeStyle =", "bad"],
    ["lineWidth =", 2],
    ["beginPath"], ["moveTo", 101, 31], ["lineTo", 107, 37], ["moveTo", 107, 31], ["lineTo", 101, 37], ["stroke"],
  ]); // prettier-ignore
  assert.deepEqual([canvas.width, canvas.height], [162, 47]);
});

test("a canvas is resized only where its size differs: that would clear it twice", () => {
  globalThis.devicePixelRatio = 2;
  const sizes = [];
  const canvas = {
    get width() { return 20; },
    set width(value) { sizes.push(["width", value]); },
    get height() { return 10; },
    set height(value) { sizes.push(["height", value]); },
    getContext: () => ({ setTransform: () => {}, clearRect: () => {} }),
  }; // prettier-ignore
  sized(canvas, 10, 5);
  assert.deepEqual(sizes, []);
  sized(canvas, 10, 6);
  sized(canvas, 11, 5);
  assert.deepEqual(sizes, [["height", 12], ["width", 22]]);
});

// --------------------------------------------------------------------------------- comparison

test("a curve ends with the last change in its range", () => {
  const fields = ["allocatable/cpu", "requested/cpu", "queue"];
  const subjects = [["node", "n"], ["pod", "a/p"], ["pod", "a/q"]];
  const rows = [[0, 0, "allocatable/cpu", 4], [10, 0, "requested/cpu", 1], [10, 1, "queue", 1], [20, 1, "queue", 2], [20, 2, "queue", 4], [30, 1, "queue", -3], [40, 0, "requested/cpu", 1], [50, 0, "requested/cpu", 1]];
  const curves = comparison.usageCurves(timelineOf(subjects, fields, rows), 0n, 40n);
  const at = (name) => curves.get(name).map(({ seconds, share }) => [Math.round(seconds * 1e9), share]);
  assert.deepEqual(at("cpu"), [[0, 0], [9, 0], [11, 0.25], [19, 0.25], [21, 0.25], [29, 0.25], [31, 0.25], [39, 0.25], [40, 0.5]]);
  assert.deepEqual(at(comparison.PENDING), [[0, 0], [9, 0], [11, 1], [19, 1], [21, 2], [29, 2], [31, 1], [39, 1], [40, 1]]);
  assert.deepEqual([comparison.PENDING, comparison.POINTS_MAX], ["pending pods", 300]);
});

test("what nothing requests is nothing of what there is", () => {
  const subjects = [["node", "n"]];
  const rows = [[0, 0, "allocatable/cpu", 4], [0, 0, "allocatable/memory", 2], [0, 0, "requested/cpu", 1]];
  const curves = comparison.usageCurves(timelineOf(subjects, ["allocatable/cpu", "allocatable/memory", "requested/cpu"], rows), 0n, 10n);
  assert.deepEqual([...curves.keys()], ["cpu"]);
});

test("the points of a curve are at multiples of a step, whenever values change", () => {
  const rows = [[0, 0, "allocatable/cpu", 4], [25, 0, "requested/cpu", 1], [27, 0, "requested/cpu", 1], [44, 0, "requested/cpu", 1]];
  const curves = comparison.usageCurves(timelineOf([["node", "n"]], ["allocatable/cpu", "requested/cpu"], rows), 0n, 3000n);
  assert.deepEqual(curves.get("cpu").map(({ seconds, share }) => [Math.round(seconds * 1e9), share]), [[0, 0], [24, 0], [30, 0.5], [43, 0.5], [50, 0.75], [3000, 0.75]]);
});

test("ranges are aligned by the longer run where the clocks do not overlap", () => {
  const range = (beginNs, endNs) => ({ beginNs, endNs });
  assert.deepEqual(comparison.alignedRanges(range(20n, 30n), range(0n, 5n)), { isClock: false, ranges: [range(20n, 30n), range(0n, 10n)] });
  assert.deepEqual(comparison.alignedRanges(range(0n, 5n), range(5n, 30n)), { isClock: false, ranges: [range(0n, 25n), range(5n, 30n)] });
  assert.deepEqual(comparison.alignedRanges(range(4n, 6n), range(0n, 30n)), { isClock: true, ranges: [range(0n, 30n), range(0n, 30n)] });
});
