// What is selected and shown: addresses, selectors, groups and colors of nodes, cells of the heat map.

import assert from "node:assert/strict";
import { test } from "node:test";

import { KEYS, format, parse } from "../../pictures/data/address.js";
import { matches, parseSelector } from "../../pictures/data/selector.js";
import { cellAt, cellOf, edgeOf, heatLayout, neighbor } from "../../pictures/parts/heat_layout.js";
import { coloring, colorings, isInClass, isOfPod } from "../../pictures/parts/node_colors.js";
import { ZONE, groupingKeys, shownNodes } from "../../pictures/parts/node_filter.js";
import { NodeLabels, SOURCE_UID } from "../../pictures/parts/node_labels.js";
import { STEPS, inkOn, stepOf, steps } from "../../pictures/parts/palette.js";

test("an address has its keys in order, without empty ones, and names stay legible", () => {
  const state = { at: "2026-01-01T00:00:00Z", pod: "a/b c", view: "", why: null, unknown: "x" };
  assert.equal(format(state), "pod=a/b%20c&at=2026-01-01T00:00:00Z");
  assert.deepEqual(parse(`?${format(state)}&unknown=x&view=`), { pod: "a/b c", at: state.at });
  assert.equal(new Set(KEYS).size, KEYS.length);
});

test("selectors are read as kubectl reads them", () => {
  for (const [text, expected] of [
    ["", []],
    ["a", [["a", "exists", []]]],
    ["!a", [["a", "!", []]]],
    ["a=b", [["a", "in", ["b"]]]],
    ["a == b", [["a", "in", ["b"]]]],
    ["a!=b", [["a", "notin", ["b"]]]],
    ["a=", [["a", "in", [""]]]],
    ["a in (b, c),d notin (e)", [["a", "in", ["b", "c"]], ["d", "notin", ["e"]]]],
    ["example.com/a.b_c=d", [["example.com/a.b_c", "in", ["d"]]]],
  ]) {
    assert.deepEqual(parseSelector(text).map(({ key, operator, values }) => [key, operator, values]), expected, text);
  }
});

test("a selector that is not valid is refused with the part", () => {
  const form = "expected KEY, !KEY, KEY=VALUE, KEY!=VALUE, KEY in (A,B) or KEY notin (A,B)";
  for (const [text, message] of [
    ["a,", "a,: a comma without an expression"],
    [",a", ",a: a comma without an expression"],
    ["a in (b", "a in (b: a ) is missing"],
    ["a in b)", "a in b): the parentheses do not match"],
    ["a in ((b))", "a in ((b)): the parentheses do not match"],
    ["-a", `-a: ${form}`],
    ["a b", `a b: ${form}`],
    ["/a", `/a: ${form}`],
    ["a=-b", "a=-b: -b is not a label value"],
    [`a=${"x".repeat(64)}`, `a=${"x".repeat(64)}: ${"x".repeat(64)} is not a label value`],
    ["x".repeat(64), `${"x".repeat(64)}: ${form}`],
  ]) {
    assert.throws(() => parseSelector(text), { message }, text);
  }
  assert.equal(parseSelector(`a=${"x".repeat(63)}`).length, 1);
});

test("labels meet all requirements; a label that is absent is not among values", () => {
  const meets = (text, labels) => matches(parseSelector(text), labels);
  for (const [text, labels, expected] of [
    ["a", { a: "" }, true],
    ["a", {}, false],
    ["!a", { a: "" }, false],
    ["!a", {}, true],
    ["a=b", { a: "b" }, true],
    ["a=b", { a: "c" }, false],
    ["a=b", {}, false],
    ["a=", {}, false],
    ["a!=b", { a: "b" }, false],
    ["a!=b", { a: "c" }, true],
    ["a!=b", {}, true],
    ["a notin (b,c)", {}, true],
    ["a notin (b,c)", { a: "c" }, false],
    ["a,b", { a: "" }, false],
    ["toString", {}, false],
    ["", {}, true],
  ]) {
    assert.equal(meets(text, labels), expected, `${text} ${JSON.stringify(labels)}`);
  }
});

const NODES = { names: ["n10", "n2", "West"], slots: () => [0, 1, 2], fields: [], column: () => [] };
const LABELS = new Map([["n10", { zone: "b", size: "1" }], ["n2", { zone: "", size: "2" }], ["West", { size: "3" }]]);

test("nodes are found by a part of the name and an expression", () => {
  const slots = (options) => shownNodes(NODES, LABELS, options).groups.flatMap((group) => group.slots);
  assert.deepEqual(slots({}), [0, 1, 2]);
  assert.deepEqual(slots({ search: " N" }), [0, 1]);
  assert.deepEqual(slots({ search: "we" }), [2]);
  assert.deepEqual(slots({ filter: "zone" }), [0, 1]);
  assert.deepEqual(slots({ filter: "!zone", search: "n" }), []);
  const wrong = shownNodes(NODES, LABELS, { filter: "a b" });
  assert.match(wrong.error, /^a b: expected/);
  assert.deepEqual([wrong.count, shownNodes(NODES, new Map(), { filter: "zone" }).count], [3, 0]);
});

test("groups are the values of a label, numbers in their order", () => {
  const groups = (group) => shownNodes(NODES, LABELS, { group }).groups.map(({ title, slots }) => [title, slots]);
  assert.deepEqual(groups("zone"), [['""', [1]], ["b", [0]], ["without zone", [2]]]);
  const numbers = new Map([["n10", { n: "10" }], ["n2", { n: "9" }], ["West", { n: "10" }]]);
  assert.deepEqual(shownNodes(NODES, numbers, { group: "n" }).groups.map(({ title }) => title), ["9", "10"]);
  assert.equal(shownNodes(NODES, LABELS, { group: "zone" }).count, 3);
});

test("keys with fewer values than nodes group, that of zones always and first", () => {
  const labels = new Map([["a", { x: "1", name: "a", [ZONE]: "p", b: "1" }], ["b", { x: "1", name: "b", [ZONE]: "q", b: "2" }], ["c", { x: "1", name: "c", [ZONE]: "r", b: "2" }]]);
  assert.deepEqual(groupingKeys(labels), [ZONE, "b", "x"]);
  assert.deepEqual(groupingKeys(new Map([["a", { x: "1" }]])), ["x"]);
});

const item = (name, version, labels, annotations) => ({ metadata: { name, resourceVersion: String(version), labels, annotations } });
const watched = (name, version, labels, type = "MODIFIED") => ({ type, name, resourceVersion: String(version), labels, isCopied: false });

function nodeLabels(...pages) {
  const paths = [];
  const source = {
    paths,
    get: async (path) => {
      paths.push(path);
      return pages[paths.length - 1];
    },
  };
  return [new NodeLabels(source), paths];
}

test("labels are listed in pages, and copies are known", async () => {
  const [labels, paths] = nodeLabels(
    { items: [item("a", 1, { x: "1" })], metadata: { resourceVersion: "5", continue: "n&" } },
    { items: [item("b", 2, undefined, { [SOURCE_UID]: "u" })], metadata: { resourceVersion: "5" } },
  );
  await labels.load();
  assert.deepEqual([...labels.byNode], [["a", { x: "1" }], ["b", {}]]);
  assert.deepEqual([...labels.copied], ["b"]);
  assert.deepEqual(paths, ["/api/v1/nodes?limit=1000", "/api/v1/nodes?limit=1000&continue=n%26"]);
});

test("a watch changes labels; what the list already has is ignored", async () => {
  const [labels] = nodeLabels({ items: [item("a", 3, { x: "1" })], metadata: { resourceVersion: "5" } });
  await labels.load();
  assert.equal(labels.isFollowed, false);
  labels.take(watched("a", 5, { x: "old" }));
  assert.equal(labels.isFollowed, true);
  assert.equal(labels.publish(), false);
  labels.take(watched("a", 6, { x: "2" }));
  labels.take(watched("b", 7, {}));
  const before = labels.byNode;
  assert.deepEqual([labels.publish(), labels.byNode.get("a"), labels.byNode.has("b")], [true, { x: "2" }, true]);
  assert.notEqual(labels.byNode, before);
  labels.take(watched("a", 6, { x: "again" }));
  labels.take(watched("a", 8, { x: "2" }));
  assert.equal(labels.publish(), false);
  labels.take(watched("a", 9, {}, "DELETED"));
  assert.deepEqual([labels.publish(), [...labels.byNode.keys()]], [true, ["b"]]);
});

test("events that came while a list was loaded are kept if they are newer", async () => {
  const [labels] = nodeLabels({ items: [item("a", 3, { x: "1" }), item("b", 3, {})], metadata: { resourceVersion: "5" } });
  labels.take(watched("a", 6, { x: "new" }));
  labels.take(watched("b", 7, {}, "DELETED"));
  labels.take({ ...watched("c", 8, {}, "ADDED"), isCopied: true });
  labels.take(watched("d", 4, { x: "past" }, "ADDED"));
  await labels.load();
  assert.deepEqual([...labels.byNode], [["a", { x: "new" }], ["c", {}]]);
  assert.deepEqual([...labels.copied], ["c"]);
  labels.take(watched("a", 6, { x: "again" }));
  assert.equal(labels.publish(), false);
});

const GROUPS = [{ title: "a", slots: [5, 6, 7] }, { title: "b", slots: [8, 9] }];

test("cells are as large as the room allows, between limits", () => {
  const roomy = heatLayout(GROUPS, 80, 1000);
  assert.deepEqual([roomy.cellPx, roomy.columns, roomy.height], [40, 2, 22 + 80 + 6 + 22 + 40 + 6]);
  assert.deepEqual(roomy.blocks.map(({ top }) => top), [22, 130]);
  assert.deepEqual([heatLayout(GROUPS, 80, 136).cellPx, heatLayout(GROUPS, 80, 1).cellPx, heatLayout(GROUPS, 1, 1).columns], [26, 5, 1]);
  assert.deepEqual(heatLayout([{ title: "", slots: [1] }], 40, 40).height, 40);
});

test("a cell is found by its place and by its slot", () => {
  const layout = heatLayout(GROUPS, 80, 1000);
  assert.deepEqual(cellOf(layout, 9), { block: 1, index: 1 });
  assert.equal(cellOf(layout, 1), null);
  assert.deepEqual(edgeOf(layout, { block: 0, index: 2 }), [0, 62]);
  assert.deepEqual(edgeOf(layout, { block: 1, index: 1 }), [40, 130]);
  for (const slot of [5, 6, 7, 8, 9]) {
    const cell = cellOf(layout, slot);
    const [left, top] = edgeOf(layout, cell);
    assert.deepEqual(cellAt(layout, left, top), cell);
    assert.deepEqual(cellAt(layout, left + 39, top + 39), cell);
  }
  for (const [x, y] of [[80, 30], [-1, 30], [0, 21], [40, 62], [0, 102]]) assert.equal(cellAt(layout, x, y), null, `${x},${y}`);
});

test("arrow keys go to the cell beside, and over the edges of groups", () => {
  const layout = heatLayout([{ title: "a", slots: [1, 2, 3, 4, 5] }, { title: "b", slots: [6] }, { title: "c", slots: [7, 8] }], 80, 1000);
  const go = (block, index, key) => {
    const next = neighbor(layout, { block, index }, key);
    return [next.block, next.index];
  };
  for (const [block, index, key, expected] of [
    [0, 0, "ArrowRight", [0, 1]],
    [0, 1, "ArrowLeft", [0, 0]],
    [0, 0, "ArrowLeft", [0, 0]],
    [0, 1, "ArrowUp", [0, 1]],
    [0, 0, "ArrowDown", [0, 2]],
    [0, 3, "ArrowDown", [0, 4]],
    [0, 4, "ArrowDown", [1, 0]],
    [0, 4, "ArrowRight", [1, 0]],
    [1, 0, "ArrowLeft", [0, 4]],
    [1, 0, "ArrowUp", [0, 4]],
    [2, 1, "ArrowUp", [1, 0]],
    [2, 1, "ArrowRight", [2, 1]],
    [2, 0, "ArrowDown", [2, 0]],
    [0, 2, "End", [2, 1]],
    [2, 1, "Home", [0, 0]],
    [1, 0, "Enter", [1, 0]],
  ]) {
    assert.deepEqual(go(block, index, key), expected, `${block},${index} ${key}`);
  }
  // Down from the second column leads into the second column below.
  const wide = heatLayout([{ title: "a", slots: [1, 2] }, { title: "b", slots: [3, 4] }], 80, 1000);
  const down = (key) => neighbor(wide, { block: 0, index: 1 }, key);
  assert.deepEqual([down("ArrowDown"), down("ArrowRight")], [{ block: 1, index: 1 }, { block: 1, index: 0 }]);
});

test("steps of colors go from the background, and their ink is legible", () => {
  assert.deepEqual([stepOf(-1), stepOf(0), stepOf(0.1), stepOf(0.99), stepOf(1), stepOf(7)], [0, 0, 1, 9, 9, 9]);
  assert.deepEqual([steps(true)[0], steps(false)[0]], [STEPS[0], STEPS[9]]);
  assert.deepEqual(["#000000", "#ffffff", "#00224e", "#e69f00", "#0072b2", "#767676"].map(inkOn), ["#ffffff", "#000000", "#ffffff", "#000000", "#ffffff", "#000000"]);
});

const STATE = {
  names: ["a", "b", "c"],
  fields: ["allocatable/cpu", "allocatable/pods"],
  slots: () => [0, 1, 2],
  column: (field) => ({ "allocatable/cpu": [1000, 2000, 0], "requested/cpu": [500, 0, 0] })[field] ?? [],
};

test("nodes are colored by what they have, by the pod and by labels", () => {
  const keys = (...rest) => colorings(STATE, ...rest).map(({ key }) => key);
  assert.deepEqual(keys(false, [ZONE, "x"], null), ["cpu", "pods", "zone", "taints", "label:x"]);
  assert.deepEqual(keys(true, [], { plugins: new Map([["Fit", 1]]) }), ["cpu", "pods", "reason", "score", "score:Fit", "zone", "taints"]);
  assert.deepEqual(colorings(STATE, false, [], null).map(({ title }) => title).slice(0, 2), ["cpu requested", "pod count"]);
  assert.deepEqual(["reason", "score", "score:Fit", "cpu", "label:x"].map(isOfPod), [true, true, true, false, false]);
});

test("a share has a step, a text and a detail", () => {
  const { of, detail, legend } = coloring("cpu", STATE, new Map(), null, false);
  assert.deepEqual([of(0).text, of(0).step, of(1).step, of(2)], ["50%", 5, 0, { color: null, text: "–", step: -1 }]);
  assert.deepEqual([detail(0), legend.length, legend[9].text, legend[1].text], ["500m of 1", 10, "90%+", "10%"]);
});

test("scores are colored between the lowest and the highest", () => {
  const of = (...totals) => coloring("score", STATE, new Map(), { totals: new Map([["a", totals[0]], ["b", totals[1]], ["c", totals[2]]]) }, false);
  const found = of(10, 30, null);
  assert.deepEqual([found.of(0).step, found.of(1).step, found.of(2).text], [0, 9, "rejected"]);
  assert.deepEqual(found.legend.map(({ text }) => text), ["lowest 10", "highest 30"]);
  assert.deepEqual([of(7, 7, null).of(0).step, of(null, null, null).legend], [9, []]);
  assert.equal(coloring("score", STATE, new Map(), null, false).of(0).text, "–");
});

test("reasons are categories", () => {
  const results = { reasons: new Map([["a", ""], ["b", "Fit: cpu"], ["c", "Fit: cpu"]]) };
  const { of, legend } = coloring("reason", STATE, new Map(), results, false);
  assert.deepEqual([of(0).text, of(1).text, of(1).color === of(2).color, of(0).color === of(1).color], ["passes every filter", "Fit: cpu", true, false]);
  assert.deepEqual(legend.map(({ text }) => text), ["passes every filter", "Fit: cpu"]);
});

test("a node is in the class of its text, or of one of its reasons", () => {
  const results = { reasons: new Map([["a", ""], ["b", "Fit: cpu, memory"], ["c", "Taint: cpu"]]) };
  const colors = coloring("reason", STATE, new Map(), results, false);
  const classes = ["passes every filter", "Fit: cpu, memory", "Fit: cpu", "Fit: memory", "Fit: disk", "Fit", "cpu"];
  const found = classes.map((only) => [0, 1, 2].filter((slot) => isInClass(colors, slot, only)));
  assert.deepEqual(found, [[0], [1], [1], [1], [], [], []]);
});

test("labels are categories whose legend filters", () => {
  const labels = new Map([["a", { x: "1", [ZONE]: "z" }], ["b", { x: "2" }], ["c", {}]]);
  const { of, legend } = coloring("label:x", STATE, labels, null, false);
  assert.deepEqual([of(0).text, of(2).text], ["1", "none"]);
  assert.deepEqual(legend.map(({ filter }) => filter).sort(), ["!x", "x=1", "x=2"]);
  assert.equal(coloring("zone", STATE, labels, null, false).of(1).text, "no zone");
});
