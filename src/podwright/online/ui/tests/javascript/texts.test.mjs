// Texts of values, causes and findings.

import assert from "node:assert/strict";
import { test } from "node:test";

import { QUESTIONS } from "../../pictures/parts/plan.js";
import { causeOf, eventText } from "../../pictures/parts/cause.js";
import { findingsOf } from "../../pictures/parts/findings.js";
import * as format from "../../pictures/parts/format.js";
import * as sync from "../../pictures/parts/sync_text.js";

function table(name, call, rows) {
  test(name, () => {
    for (const [given, expected] of rows) assert.deepEqual(call(given), expected, String(given));
  });
}

const [MINUTE, HOUR, DAY] = [60, 3600, 86400];

table("bytes are short binary quantities", format.bytesText, [
  [0, "0"],
  [1023, "1023"],
  [1024, "1Ki"],
  [-2048, "-2Ki"],
  [1536, "1.5Ki"],
  [100.4 * 1024, "100Ki"],
  [99.96 * 1024, "100Ki"],
  [15.5 * 2 ** 30, "15.5Gi"],
  [1024 * 2 ** 40, "1Pi"],
  [5000 * 2 ** 50, "5000Pi"],
]);

table("quantities of the API have values", format.quantityValue, [
  ["1.5Ki", 1536],
  ["2", 2],
  ["-3k", -3000],
  ["+1", 1],
  ["500m", 0.5],
  ["1e3", 1000],
  ["2E-1", 0.2],
  ["1n", 1e-9],
  ["4u", 4e-6],
  ["1M", 1e6],
  ["1G", 1e9],
  ["1T", 1e12],
  ["1P", 1e15],
  ["1E", 1e18],
  ["1Mi", 2 ** 20],
  ["1Gi", 2 ** 30],
  ["1Ti", 2 ** 40],
  ["1Pi", 2 ** 50],
  ["1Ei", 2 ** 60],
  [7, 7],
  ["x", NaN],
  ["1 Gi", NaN],
  ["", NaN],
]);

table("milli-CPU is a quantity", format.cpuText, [
  [0, "0"],
  [500, "500m"],
  [0.4, "0m"],
  [999, "999m"],
  [-999, "-999m"],
  [1000, "1"],
  [2500, "2.5"],
  [-1000, "-1"],
  [123456, "123"],
]);

test("an amount has the unit of its resource", () => {
  assert.equal(format.amountText("cpu", 1500), "1.5");
  assert.equal(format.amountText("memory", 1024), "1Ki");
  assert.equal(format.amountText("ephemeral-storage", 2048), "2Ki");
  assert.equal(format.amountText("hugepages-2Mi", 2 ** 21), "2Mi");
  assert.equal(format.amountText("pods", 1024), "1,024");
  assert.equal(format.amountText("cpu", 10_000_000), "10,000");
  assert.equal(format.amountText("example.com/gpu", 1.25), "1.3");
});

table("shares are rounded percentages", format.percentText, [
  [0, "0%"],
  [0.125, "13%"],
  [0.994, "99%"],
  [1.5, "150%"],
]);

table("durations are those of kubectl's ages", (seconds) => format.durationText(seconds * 1000), [
  [-5, "0s"],
  [0.9, "0s"],
  [119, "119s"],
  [120, "2m"],
  [200, "3m20s"],
  [10 * MINUTE - 1, "9m59s"],
  [10 * MINUTE, "10m"],
  [3 * HOUR - 1, "179m"],
  [3 * HOUR, "3h"],
  [3 * HOUR + MINUTE, "3h1m"],
  [8 * HOUR - 1, "7h59m"],
  [8 * HOUR + 59 * MINUTE, "8h"],
  [2 * DAY - 1, "47h"],
  [2 * DAY, "2d"],
  [3 * DAY + 23 * HOUR, "3d23h"],
  [8 * DAY - 1, "7d23h"],
  [8 * DAY + HOUR, "8d"],
  [730 * DAY - 1, "729d"],
  [730 * DAY, "2y"],
  [731 * DAY, "2y1d"],
  [8 * 365 * DAY - 1, "7y364d"],
  [8 * 365 * DAY + DAY, "8y"],
]);

process.env.TZ = "UTC";
table("a clock has the time of day", (time) => format.clockText(time), [
  ["2026-01-02T14:03:20.5Z", "14:03:20"],
  ["", ""],
  [null, ""],
]);

const DAY_NS = 86_400_000_000_000n;
const NEW_YEAR_NS = format.timeNs("2026-01-01T00:00:00Z");
table("a moment of a range of several days has its day", ([begin, end]) => format.momentText(NEW_YEAR_NS + DAY_NS, NEW_YEAR_NS + begin, NEW_YEAR_NS + end), [
  [[DAY_NS, 2n * DAY_NS - 1n], "00:00:00"],
  [[DAY_NS, 2n * DAY_NS], "01-02 00:00:00"],
  [[0n, 40n * DAY_NS], "01-02 00:00:00"],
]);

test("times are nanoseconds since 1970, both ways", () => {
  for (const [text, ns] of [
    ["1970-01-01T00:00:00Z", 0n],
    ["1970-01-01T00:00:01.5Z", 1_500_000_000n],
    ["1970-01-01T00:00:00.000000001Z", 1n],
    ["1969-12-31T23:59:59.999999999Z", -1n],
    ["2026-03-02T10:00:00Z", 1_772_445_600_000_000_000n],
  ]) {
    assert.equal(format.timeNs(text), ns, text);
    if (ns >= 0n) assert.equal(format.timeText(ns), text);
  }
  assert.equal(format.timeNs("1970-01-01T00:00:00"), 0n);
  assert.equal(format.timeNs("1970-01-01T00:00:00.1234567899Z"), 123_456_789n);
  assert.throws(() => format.timeNs("soon"), { message: "soon: must be a time such as 2026-01-01T00:00:00Z" });
});

test("a count agrees with its noun", () => {
  assert.equal(format.countText(1, "node"), "1 node");
  assert.equal(format.countText(0, "node"), "0 nodes");
  assert.equal(format.countText(12345, "pod"), "12,345 pods");
});

table("the most frequent reason stands for a message", causeOf, [
  ["0/5000 nodes are available: 5000 Insufficient cpu.", "Insufficient cpu on all 5,000 nodes"],
  ["0/1 nodes are available: 1 Insufficient cpu.", "Insufficient cpu on the only node"],
  ["0/4 nodes are available: 4 Insufficient cpu. preemption: 0/4 nodes are available", "Insufficient cpu on all 4 nodes"],
  ["0/4 nodes are available: 1 Insufficient memory, 3 node(s) had untolerated taint {a: b}.", "Untolerated taint {a: b} on 3 of 4 nodes (and 1 more reason)"],
  ["0/9 nodes are available: 4 Too many pods, 4 node(s) were unschedulable, 1 node(s) was x.", "Too many pods on 4 of 9 nodes (and 2 more reasons)"],
  ["0/2 nodes are available: 2 node(s) didn't match pod(s), 1 too.", "Didn't match pods on all 2 nodes (and 1 more reason)"],
  ["0/2 nodes are available: pods are odd. not found", "pods are odd"],
  ["waits for a gate", "waits for a gate"],
]);

table("events of the queue are words", eventText, [
  ["*", "any event"],
  ["ForceActivate", "a plugin activates it"],
  ["UnschedulableTimeout", "its time in the queue ends"],
  ["NodeAdd", "a node is added"],
  ["AssignedPodDelete", "a pod on a node is deleted"],
  ["UnschedulablePodUpdatePodScaleDown", "this pod reduces its requests"],
  ["PodUpdate", "a pod changes"],
  ["NodeUpdateNodeTaint", "taints of a node change"],
  ["NodeUpdateNodeAllocatable", "allocatable resources of a node change"],
  ["UnschedulablePodUpdatePodToleration", "tolerations of this pod change"],
  ["storage.k8s.io/CSINodeAdd", "a CSINode is added"],
  ["NodeUpdateNodeFuture", "NodeUpdateNodeFuture"],
  ["Restart", "Restart"],
]);

const COUNTS = { placed: 2, decisions: 1, preemptions: 0, victims: 0, failed: 0 };
const texts = (results) => findingsOf({ counts: COUNTS, ...results }).map(({ tone, text }) => `${tone}|${text}`);

test("a run without pending pods is good", () => {
  assert.deepEqual(texts({}), ["good|No pod is pending at the end; 2 placements in 1 decision."]);
});

test("pending pods come first, their causes by frequency, five of them", () => {
  const pending = { a: 1, b: 7, c: 2, d: 2, e: 2, f: 2 };
  assert.deepEqual(texts({ pending }), ["bad|16 pods are pending at the end: b (7), c (2), d (2), e (2), f (2), …."]);
  assert.deepEqual(texts({ pending: { a: 1 } }), ["bad|1 pod is pending at the end: a (1)."]);
  assert.equal(texts({ pending: { a: 1, b: 1, c: 1, d: 1, e: 1 } })[0].includes("…"), false);
});

test("findings say what went wrong in a run", () => {
  const found = texts({
    counts: { ...COUNTS, preemptions: 1, victims: 3, failed: 1 },
    waits: { count: 2, p50Seconds: 0.25, p99Seconds: 3, maxSeconds: 200 },
    utilization: { cpu: { mean: 0.5, peak: 0.9, fragmentation: 0.1 }, memory: { mean: 0.5, peak: 0.95 }, pods: { mean: 0.1, peak: 0.89 } },
    report: {
      estimate: { requested: 9, allocatable: 8, resource: "cpu" },
      evictions: { evicted: 1, byTaint: 1, rejected: 1 },
      drains: [{ node: "n1", status: "blocked", blockedBy: ["a/b"] }, { node: "n2", status: "done" }, { node: "n3", status: "complete" }, { node: "n4", status: "late" }],
      availability: [
        { workload: "w", lowest: 1, lowestTarget: 2, belowTargetNs: 5e9, reachedNs: 1 },
        { workload: "never", lowest: 1, lowestTarget: 2, belowTargetNs: 5e9, reachedNs: null },
        { workload: "deleted", lowest: 1, lowestTarget: 2, belowTargetNs: 5e9, reachedNs: 1, deleted: true },
        { workload: "fine", lowest: 2, lowestTarget: 2, belowTargetNs: 0, reachedNs: 1 },
      ],
      lostPods: ["a"],
      neverTried: ["b", "c"],
      missingOwners: { x: 1 },
    },
  });
  assert.deepEqual(found.slice(1), [
    "bad|The initial pods cannot all fit: they request 9 of cpu, of which the nodes have 8.",
    "|A pod waited 250ms at the median, 3s at the 99th percentile and 3m20s at most.",
    "bad|1 preemption ended 3 pods.",
    "|2 pods were evicted; 1 eviction was rejected by budgets.",
    "bad|The drain of n1 is blocked, blocked by a/b.",
    "bad|The drain of n4 is late.",
    "bad|1 workload had too few ready pods for some time: w (1 of 2 at least, 5s in all).",
    "|cpu was requested to 90% at its peak (50% on average, fragmentation 10%).",
    "|memory was requested to 95% at its peak (50% on average).",
    "bad|1 pod failed.",
    "bad|1 removed pod was not replaced by a controller.",
    "bad|2 pending pods were never tried.",
    "|The owners of 1 pod are not among the objects, so no controller replaces these pods.",
  ]);
  assert.deepEqual(texts({ waits: { count: 1, maxSeconds: 0 } }).length, 1);
  assert.deepEqual(texts({ report: { evictions: { evicted: 0, byTaint: 1, rejected: 0 } } })[1], "|1 pod was evicted.");
});

test("a sync is overdue after fifteen seconds", () => {
  assert.equal(sync.isOverdue(15), false);
  assert.equal(sync.isOverdue(15.001), true);
});

test("the policies of a sync are one text each", () => {
  assert.deepEqual(sync.policyTexts({ bound: "later" }), ["later"]);
  assert.deepEqual(sync.policyTexts({ bound: "none" }), ["No pod keeps its node: all are scheduled here."]);
  const flags = ["excludesRunning", "followsLabels", "followsResources", "mirrorsPodStatus", "hasExplicitSpread", "keepsOwners", "keepsAccounts", "ignoresDeletions", "restoresDeleted", "freezesNodeStatus"];
  const each = flags.map((flag) => sync.policyTexts({ bound: "", [flag]: true }));
  assert.deepEqual(each.map((found) => found.length), flags.map(() => 1));
  assert.deepEqual(sync.policyTexts({ bound: "", ...Object.fromEntries(flags.map((flag) => [flag, true])) }), each.flat());
});

test("a sync says what it follows and how much pods occupy", () => {
  assert.equal(sync.scopeText({ kinds: ["pods", "nodes"], namespaces: [], selector: "" }), "Followed: pods, nodes.");
  assert.equal(sync.scopeText({ kinds: ["pods"], namespaces: ["a", "b"], selector: "x=y" }), "Followed: pods in a, b, with the labels x=y.");
  assert.equal(sync.amountsText({ milliCpu: 1500, memoryBytes: 1024 }), "1.5 cpu and 1Ki of memory");
  assert.equal(sync.secondsText(9.994), "9.99 s");
  assert.equal(sync.secondsText(10), "10 s");
});

test("differences are found by a part of a pod's or a node's name", () => {
  const differences = [{ pod: "a/Web", nodes: ["n1"] }, { pod: "a/db", nodes: ["n2", "WEST"] }];
  assert.deepEqual(sync.filteredDifferences(differences, " we "), differences);
  assert.deepEqual(sync.filteredDifferences(differences, "west"), [differences[1]]);
  assert.deepEqual(sync.filteredDifferences(differences, " "), differences);
});

test("the remaining time follows from what is done", () => {
  assert.equal(format.progressText({ done: 1000, total: 4000 }, "decision", 30_000), "1,000 of 4,000 decisions, about 90s left");
  assert.equal(format.progressText({ done: 0, total: 1 }, "node", 2000), "0 of 1 node, about 2s left");
  assert.equal(format.progressText({ done: 7 }, "pod", 1), "7 pods");
});

table("an axis of counts ends at a round number", format.roundAbove, [
  [0.05, 2], [1, 2], [2, 2], [3, 4], [4, 4], [5, 10], [10, 20], [39, 40], [9000, 10_000],
]);

test("prices are shown without the digits that adding draws in", () => {
  const answer = QUESTIONS.buy.answer({ status: undefined, nodes: [{ type: "a", count: 3, price: 0.1 }], price: 3 * 0.1, bound: 1501, gap: 0, isCheapest: true, pending: 1501, scheduled: 1501, mixes: 1, unplaced: [], newNodes: [], moves: [] });
  assert.equal(answer.findings[0], "3 a for 0.3: 1,501 of 1,501 pending pods have a node then.");
  assert.deepEqual(answer.tables[0].rows, [["a", "3", "0.1", "0.3"]]);
});

test("the steps of a drain name what waits for what where it does", () => {
  const step = { nodes: ["n1"], moves: [], seconds: 70, waitsFor: [], pending: [], gone: [], localData: [] };
  const heads = (steps) => QUESTIONS.drain.answer({ isComplete: true, steps, moves: [], blocked: [] }).tables[0].heads.length;
  assert.deepEqual([heads([step]), heads([step, { ...step, waitsFor: ["budget b"] }])], [4, 5]);
});
