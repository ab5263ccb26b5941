// States of a cluster: streamed, and played from a timeline.

import assert from "node:assert/strict";
import { test } from "node:test";

import { LiveState, presentSlots, resourcesOf, shareOf } from "../../pictures/data/live_state.js";
import { PastState } from "../../pictures/data/past_state.js";
import { Player, readTimeline } from "../../pictures/data/timeline_reader.js";
import { PENDING, alignedRanges, counterparts, differences, usageCurves } from "../../pictures/parts/comparison.js";
import { axisBegin, drawMarks, marksOf, placeOf, stepped } from "../../pictures/parts/time_marks.js";

const SNAPSHOT = {
  nodes: ["n2", "n1", "gone"],
  fields: ["present", "allocatable/cpu", "requested/cpu"],
  columns: [[1, 1, 0], [4000, 0], [1000, 5]],
  time: "2026-01-01T00:00:00Z",
  pods: { active: 1 },
};

function live(...changes) {
  const state = new LiveState();
  state.apply("snapshot", structuredClone(SNAPSHOT));
  for (const change of changes) state.apply("changes", { nodes: [], fields: [], slotIndex: [], fieldIndex: [], values: [], time: "t", pods: {}, ...change });
  return state;
}

test("a snapshot is the whole state, nodes by name", () => {
  const state = live();
  assert.equal(state.isKnown, true);
  assert.equal(new LiveState().isKnown, false);
  assert.deepEqual(state.slots(), [1, 0]);
  assert.deepEqual([...state.column("allocatable/cpu")], [4000, 0]);
  assert.equal(state.column("unknown").length, 0);
  assert.deepEqual(state.pods, { active: 1 });
  assert.equal(state.time, "2026-01-01T00:00:00Z");
});

test("changes set values, and add nodes and fields", () => {
  const state = live({ nodes: ["n0"], fields: ["allocatable/x"], slotIndex: [3, 3, 0], fieldIndex: [0, 3, 1], values: [1, 7, 8000], time: "later", pods: { placed: 2 } });
  assert.deepEqual(state.slots(), [3, 1, 0]);
  assert.equal(state.column("allocatable/x")[3], 7);
  assert.equal(state.column("allocatable/cpu")[0], 8000);
  assert.equal(state.column("requested/cpu")[0], 1000);
  assert.equal(state.time, "later");
  assert.deepEqual(state.pods, { placed: 2 });
});

test("only changes of which nodes are present count as such", () => {
  assert.equal(live({ slotIndex: [0], fieldIndex: [1], values: [1] }).nodesVersion, live().nodesVersion);
  const state = live({ slotIndex: [0], fieldIndex: [0], values: [0] });
  assert.equal(state.nodesVersion, live().nodesVersion + 1);
  assert.deepEqual(state.slots(), [1]);
});

test("a second snapshot replaces the first", () => {
  const state = live();
  state.apply("snapshot", { nodes: ["a"], fields: ["present"], columns: [[1]], time: "t", pods: {} });
  assert.deepEqual([state.names, state.slots(), state.column("allocatable/cpu").length], [["a"], [0], 0]);
});

test("slots of absent nodes are left out", () => {
  assert.deepEqual(presentSlots(["b", "a", "b"], [1, 0, 1]), [0, 2]);
});

test("resources are cpu, memory and pods, then those that nodes have", () => {
  const fields = ["allocatable/z", "allocatable/pods", "allocatable/empty", "allocatable/a", "allocatable/cpu", "requested/q"];
  const state = { fields, column: (field) => (field === "allocatable/empty" ? [0, 0] : [0, 1]) };
  assert.deepEqual(resourcesOf(state), ["cpu", "pods", "a", "z"]);
});

test("the share of what is requested without any allocatable is whole", () => {
  const state = live();
  assert.equal(shareOf(state, "cpu", 0), 0.25);
  assert.equal(shareOf(state, "cpu", 1), 1);
  assert.equal(shareOf(state, "cpu", 2), 0);
  assert.equal(shareOf(state, "memory", 0), 0);
  const few = { column: (field) => (field === "allocatable/x" ? [1, 10, 0] : [2, 5, 3]) };
  assert.deepEqual([0, 1, 2, 3].map((slot) => shareOf(few, "x", slot)), [2, 0.5, 1, 0]);
});

// ----------------------------------------------------------------------------- timelines

const FIELDS = ["present", "queue", "node", "phase", "attempts", "waitsFor", "workload", "deleting", "ready", "disruptedBy", "allocatable/cpu", "requested/cpu"];
const SUBJECTS = [["node", "n1"], ["node", "n2"], ["pod", "a/p1"], ["pod", "a/p2"], ["reason", "Fit, Taint"], ["workload", "Job a/train"], ["reason", "PreemptionByScheduler"]];

function chunk(rows, { subjects = SUBJECTS, fields = FIELDS, firstNs = 0 } = {}) {
  const json = JSON.stringify({ subjects, fields, firstNs: String(firstNs), rows: rows.length });
  const header = new TextEncoder().encode(json.padEnd(Math.ceil(json.length / 8) * 8));
  const bytes = new Uint8Array(16 + header.length + rows.length * 22 + ((8 - ((rows.length * 22) % 8)) % 8));
  const view = new DataView(bytes.buffer);
  bytes.set(new TextEncoder().encode("PWT1"));
  view.setUint32(4, header.length, true);
  view.setBigUint64(8, BigInt(bytes.length - 16 - header.length), true);
  bytes.set(header, 16);
  let at = 16 + header.length;
  for (const [time] of rows) view.setBigInt64((at += 8) - 8, BigInt(time), true);
  for (const row of rows) view.setBigInt64((at += 8) - 8, BigInt(row[3]), true);
  for (const [, subject] of rows) view.setUint32((at += 4) - 4, subject, true);
  for (const row of rows) view.setUint16((at += 2) - 2, FIELDS.indexOf(row[2]), true);
  return bytes;
}

function timeline(...parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return readTimeline(whole.buffer);
}

const ROWS = [
  [0, 0, "present", 1], [0, 1, "present", 1], [0, 0, "ready", 1], [0, 1, "ready", 1],
  [0, 0, "allocatable/cpu", 4], [0, 1, "allocatable/cpu", 4],
  [10, 2, "phase", 1], [10, 2, "queue", 1], [10, 3, "phase", 1], [10, 3, "queue", 4], [10, 3, "attempts", 2], [10, 3, "waitsFor", 5], [10, 3, "workload", 6],
  [20, 2, "queue", -1], [20, 2, "node", 1], [20, 0, "requested/cpu", 1],
  [30, 2, "phase", 1], [30, 2, "workload", 6],
  [40, 1, "ready", -1],
  [50, 2, "disruptedBy", 7], [50, 2, "deleting", 1],
  [60, 0, "ready", -1], [60, 0, "present", -1], [60, 2, "phase", 1], [60, 0, "allocatable/cpu", -4], [60, 0, "requested/cpu", -1],
]; // prettier-ignore

test("a timeline of chunks is read as a whole", () => {
  const found = timeline(chunk(ROWS.slice(0, 7)), chunk(ROWS.slice(7), { subjects: [["pod", "later"]], fields: ["more"] }));
  assert.deepEqual(found.subjects, [...SUBJECTS, ["pod", "later"]]);
  assert.deepEqual(found.fields, [...FIELDS, "more"]);
  assert.deepEqual([...found.timesNs], ROWS.map(([time]) => BigInt(time)));
  assert.deepEqual([...found.deltas], ROWS.map((row) => BigInt(row[3])));
  assert.deepEqual([...found.subjectIndex], ROWS.map(([, subject]) => subject));
  assert.deepEqual([...found.fieldIndex], ROWS.map((row) => FIELDS.indexOf(row[2])));
});

test("bytes that are no timeline, or end early, are refused with their place", () => {
  const whole = chunk(ROWS);
  assert.throws(() => readTimeline(new ArrayBuffer(15)), { message: "byte 0: must be the start of a chunk of a timeline" });
  assert.throws(() => readTimeline(whole.slice().fill(0, 0, 1).buffer), { message: "byte 0: must be the start of a chunk of a timeline" });
  assert.throws(() => readTimeline(whole.slice(0, -1).buffer), { message: "byte 0: the timeline ends within a chunk" });
  assert.throws(() => timeline(whole, whole.slice(0, 10)), { message: `byte ${whole.length}: must be the start of a chunk of a timeline` });
});

test("a player goes forwards and back, and includes the changes of a moment", () => {
  const player = new Player(timeline(chunk(ROWS)));
  const queue = FIELDS.indexOf("queue");
  const seen = [10n, 9n, 20n, 100n, 10n, 0n].map((time) => {
    player.seek(time);
    return [player.value(2, queue), player.value(3, queue)];
  });
  assert.deepEqual(seen, [[1, 4], [0, 0], [0, 4], [0, 4], [1, 4], [0, 0]]);
});

const past = () => new PastState(timeline(chunk(ROWS)));

test("the past begins at its first time and ends at its last change", () => {
  const state = past();
  assert.deepEqual([state.beginNs, state.endNs, state.time], [0n, 60n, "1970-01-01T00:00:00Z"]);
  assert.deepEqual(state.slots(), [0, 1]);
  assert.equal(new PastState(timeline(chunk([], { firstNs: 7 }))).endNs, 7n);
});

test("the past counts pods by place", () => {
  const state = past();
  state.seek(10n);
  assert.deepEqual(state.pods, { unschedulable: 1, backoff: 0, gated: 0, active: 1, in_flight: 0, placed: 0 });
  state.seek(20n);
  assert.deepEqual(state.pods.placed, 1);
  assert.deepEqual([...state.column("requested/cpu")], [1, 0]);
  assert.equal(state.column("none").length, 0);
});

test("waiting pods of the past have their reasons, the rejected first", () => {
  const state = past();
  state.seek(10n);
  const { pods, counts } = state.waiting(1);
  assert.deepEqual(pods.map(({ pod }) => pod), ["a/p2", "a/p1"]);
  assert.deepEqual(pods[0], { pod: "a/p2", place: "unschedulable", workload: "Job/train", created: "", attempts: 2, rejectedBy: ["Fit", "Taint"] });
  assert.deepEqual([pods[1].workload, pods[1].rejectedBy], ["", []]);
  assert.deepEqual(state.waiting(0).pods, []);
  assert.equal(state.waiting(0).counts.active, counts.active);
  const groups = state.waitingGroups(1);
  assert.deepEqual([groups.groupCount, groups.groups[0].pods, groups.counts.inFlight, groups.counts.errorBackoff], [2, ["a/p2"], 0, 0]);
  assert.deepEqual(groups.groups.map(({ place }) => place), ["unschedulable", "active"]);
});

test("pods of the past are where they were, until they end", () => {
  const state = past();
  state.seek(10n);
  assert.deepEqual(state.podsBySlot().size, 0);
  state.seek(20n);
  assert.deepEqual([...state.podsBySlot()], [[0, [{ pod: "a/p1", status: "Pending" }]]]);
  state.seek(30n);
  assert.deepEqual(state.pod("a/p1"), { pod: "a/p1", status: "Running", node: "n1", place: "", attempts: 0 });
  state.seek(50n);
  assert.deepEqual([...state.podsBySlot().values()], [[{ pod: "a/p1", status: "Terminating" }]]);
  state.seek(60n);
  assert.deepEqual([state.podsBySlot().size, state.pods.placed, state.slots()], [0, 0, [1]]);
  state.seek(0n);
  assert.equal(state.pod("a/p1"), null);
});

test("only moves that change which nodes are present make another version of the nodes", () => {
  const state = past();
  state.slots();
  const version = state.nodesVersion;
  state.seek(50n);
  assert.equal(state.nodesVersion, version);
  state.seek(60n);
  assert.equal(state.nodesVersion, version + 1);
});

test("places have the node and the workload of pods that exist", () => {
  const state = past();
  assert.equal(state.places().size, 0);
  state.seek(30n);
  assert.deepEqual([...state.places()], [["a/p1", { node: "n1", workload: "Job a/train" }], ["a/p2", { node: "", workload: "Job a/train" }]]);
});

test("marks are bindings, preemptions, and nodes that fail but are not deleted", () => {
  const marks = marksOf(timeline(chunk(ROWS)));
  assert.deepEqual(marks.map(({ kind, timeNs, name }) => [kind, timeNs, name]), [
    ["binding", 20n, "a/p1"],
    ["failure", 40n, "n2"],
    ["preemption", 50n, "a/p1"],
  ]);
});

test("a moment has a place on the bar, and the end moves in steps of a pixel", () => {
  assert.deepEqual([placeOf(0, 10, 108), placeOf(10, 10, 108), placeOf(5, 10, 108), placeOf(0, 0, 108)], [4, 104, 54, 4]);
  assert.equal(stepped({ begin: 0n, end: 1000n }, 10), 1000n);
  assert.equal(stepped({ begin: 0n, end: 1005n }, 10), 1100n);
  assert.equal(stepped({ begin: 5n, end: 5n }, 10), 5n);
  assert.equal(stepped({ begin: 0n, end: 5n }, 10), 5n, "shorter than its pixels");
  assert.equal(stepped({ begin: 0n, end: 7n }, 0), 7n, "no pixels");
});

test("marks are drawn where they are in the range of the bar", () => {
  globalThis.devicePixelRatio = 2;
  const calls = [];
  const note = (name) => (...values) => calls.push([name, ...values]);
  const names = ["setTransform", "clearRect", "fillRect", "beginPath", "moveTo", "lineTo", "fill", "stroke"];
  const context = Object.fromEntries(names.map((name) => [name, note(name)]));
  const canvas = { width: 0, height: 0, getContext: () => context };
  drawMarks(canvas, past(), { begin: 10n, end: 60n, width: 108, height: 30 }, 20, ["line", "accent", "bad", "warning"]);
  assert.deepEqual([canvas.width, canvas.height], [216, 60]);
  const drawn = (name) => calls.filter(([each]) => each === name).map(([, ...values]) => values);
  // A fifth of the bar for the binding at 20, four fifths for the preemption at 50.
  assert.deepEqual(drawn("fillRect"), [[24, 4, 2, 16]]);
  assert.deepEqual(drawn("moveTo"), [[84, 24], [61, 24], [67, 24]]);
  assert.deepEqual(drawn("lineTo"), [[80, 30], [88, 30], [67, 30], [61, 30]]);
  assert.deepEqual([drawn("fill").length, drawn("stroke").length], [1, 1]);
  // What precedes the range is at its edge.
  calls.length = 0;
  drawMarks(canvas, past(), { begin: 30n, end: 60n, width: 108, height: 30 }, 20, ["line", "accent", "bad", "warning"]);
  assert.deepEqual(drawn("fillRect"), [[4, 4, 2, 16]]);
});

test("the axis begins shortly before the first change if nothing precedes it for long", () => {
  const at = (beginNs, ...timesNs) => ({ beginNs, timeline: { timesNs } });
  assert.equal(axisBegin(at(0n, 0n, 800n), 1000n), 790n);
  assert.equal(axisBegin(at(0n, 0n, 5n), 1000n), 0n, "it begins before the past");
  assert.equal(axisBegin(at(0n, 0n, 1000n), 1000n), 0n, "the change is at the end");
  assert.equal(axisBegin(at(0n, 0n), 1000n), 0n, "nothing changes");
});

// ---------------------------------------------------------------------------- comparison

const places = (entries) => new Map(Object.entries(entries).map(([pod, [node, workload = ""]]) => [pod, { node, workload }]));

test("pods that only one side has are paired by workload in order", () => {
  const here = places({ a1: ["n", "W"], same: ["n", "W"], a2: ["n", "W"], x: ["n"], y: ["n", "V"] });
  const there = places({ b1: ["n", "W"], same: ["n", "W"], b2: ["m", "W"], b3: ["n", "W"], z: ["n"] });
  assert.deepEqual([...counterparts(here, there)], [["a1", "b1"], ["a2", "b2"]]);
  assert.deepEqual(differences(here, there), {
    both: 3,
    paired: 2,
    different: [{ pod: "a2", counterpart: "b2", here: "n", there: "m" }],
    onlyHere: ["x", "y"],
    onlyThere: ["b3", "z"],
  });
});

test("differences are in alphabetic order", () => {
  const found = differences(places({ c: ["1"], a: ["1"], z: ["1"], b: ["1"] }), places({ a: ["2"], c: ["2"], y: [""], x: [""] }));
  assert.deepEqual(found.different.map(({ pod }) => pod), ["a", "c"]);
  assert.deepEqual([found.onlyHere, found.onlyThere], [["b", "z"], ["x", "y"]]);
});

test("curves have the share before and after a change, up to the end", () => {
  const curves = usageCurves(timeline(chunk(ROWS)), 0n, 100n);
  assert.deepEqual([...curves.keys()], ["cpu", PENDING]);
  const points = curves.get("cpu");
  assert.deepEqual(points.at(-1), { seconds: 1e-7, share: 0 });
  assert.deepEqual(points.filter(({ share }) => share > 0).map(({ share }) => share)[0], 0.125);
  assert.equal(points.find(({ seconds }) => seconds === 2.9e-8).share, 0.125);
  assert.deepEqual([...usageCurves(timeline(chunk(ROWS)), 0n, 15n).keys()], [PENDING]);
  const early = usageCurves(timeline(chunk([...ROWS.slice(0, 6), [0, 0, "requested/cpu", 1]])), 0n, 100n);
  assert.deepEqual(early.get("cpu"), [{ seconds: 0, share: 0.125 }, { seconds: 1e-7, share: 0.125 }], "a line needs two points");
  assert.deepEqual([...new Set(curves.get(PENDING).map(({ share }) => share))], [0, 2, 1]);
});

test("the points of a curve are times since its begin", () => {
  const curves = usageCurves(timeline(chunk(ROWS)), 10n, 90n);
  for (const points of curves.values()) {
    const seconds = points.map((point) => point.seconds);
    assert.deepEqual(seconds, [...seconds].sort((one, other) => one - other));
    assert.deepEqual([seconds[0] >= 0, seconds.at(-1)], [true, 8e-8]);
  }
  // The last change is at 60, and the next point a step later.
  assert.deepEqual(curves.get(PENDING).slice(-3).map(({ seconds }) => seconds), [4.9e-8, 5.1e-8, 8e-8]);
});

test("two timelines are aligned by the clock if they overlap, else by their starts", () => {
  assert.deepEqual(alignedRanges({ beginNs: 0n, endNs: 10n }, { beginNs: 5n, endNs: 20n }), {
    isClock: true,
    ranges: [{ beginNs: 0n, endNs: 20n }, { beginNs: 0n, endNs: 20n }],
  });
  assert.deepEqual(alignedRanges({ beginNs: 0n, endNs: 10n }, { beginNs: 10n, endNs: 15n }), {
    isClock: false,
    ranges: [{ beginNs: 0n, endNs: 10n }, { beginNs: 10n, endNs: 20n }],
  });
});
