// What a user may do, which devices a node has, and what an editor offers.

import assert from "node:assert/strict";
import { test } from "node:test";

import { isAllowed, nodeRights } from "../../pictures/data/access.js";
import { devicesOf, deviceRows } from "../../pictures/parts/node_devices.js";
import { addCompletion, fieldAt, propertiesAt } from "../../pictures/parts/yaml_completion.js";

const REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

/** A source that allows what a function says, and has replies by path. */
function source(allows, replies = {}) {
  const sent = [];
  return {
    isLive: true,
    sent,
    get: async (path) => {
      sent.push(path);
      if (replies[path] instanceof Error) throw replies[path];
      return replies[path];
    },
    send: async (method, path, body) => {
      assert.deepEqual([method, path, body.apiVersion, body.kind], ["POST", REVIEWS, "authorization.k8s.io/v1", "SelfSubjectAccessReview"]);
      const { resourceAttributes: resource, nonResourceAttributes: other } = body.spec;
      const asked = other ? `${other.verb} ${other.path}` : [resource.verb, resource.group, resource.resource, resource.subresource, resource.namespace].join("|");
      sent.push(asked);
      return { status: { allowed: allows(asked) } };
    },
  };
}

test("the rights for nodes are four, and a drain needs two of them", async () => {
  const asked = ["patch||nodes||", "delete||nodes||", "create||pods|eviction|", "post /podwright/v1/nodes/any/fail"];
  const all = source(() => true);
  assert.deepEqual(await nodeRights(all), { cordon: true, drain: true, remove: true, fail: true });
  assert.deepEqual(all.sent, asked);
  const rights = (index) => nodeRights(source((each) => each === asked[index]));
  assert.deepEqual(await rights(0), { cordon: true, drain: false, remove: false, fail: false });
  assert.deepEqual(await rights(1), { cordon: false, drain: false, remove: true, fail: false });
  assert.deepEqual(await rights(2), { cordon: false, drain: false, remove: false, fail: false });
  assert.deepEqual(await rights(3), { cordon: false, drain: false, remove: false, fail: true });
});

test("an answer is kept for ten seconds", async (context) => {
  let now = 1000;
  context.mock.method(Date, "now", () => now);
  const server = source(() => true);
  const ask = () => isAllowed(server, { verb: "get", group: "g", resource: "r", subresource: "s", namespace: "n" });
  await ask();
  now += 9_999;
  await ask();
  assert.deepEqual(server.sent, ["get|g|r|s|n"]);
  now += 1;
  await ask();
  assert.deepEqual(server.sent, ["get|g|r|s|n", "get|g|r|s|n"]);
  assert.equal(await isAllowed(source(() => undefined), { verb: "get" }), false);
  assert.equal(await isAllowed(source(() => "true"), { verb: "get" }), false);
});

// ------------------------------------------------------------------------------- devices

const SLICES = "/apis/resource.k8s.io/v1/resourceslices?fieldSelector=spec.nodeName%3Dn%2F1";
const CLAIMS = "/apis/resource.k8s.io/v1/resourceclaims";
const slice = (devices, more = {}) => ({ spec: { driver: "d", pool: { name: "p", generation: 1 }, devices, ...more } });
const claim = (name, results, reservedFor = []) => ({ metadata: { namespace: "n", name }, status: { reservedFor, allocation: { devices: { results } } } });
const result = (device, more = {}) => ({ driver: "d", pool: "p", device, ...more });

test("devices are listed with the claims that the user may see", async () => {
  const replies = { [SLICES]: { items: [slice([{ name: "a" }])] }, [CLAIMS]: { items: [claim("c", [result("a")])] } };
  const asked = ["list|resource.k8s.io|resourceslices||", "list|resource.k8s.io|resourceclaims||"];
  const all = source(() => true, replies);
  const [row] = await devicesOf(all, "n/1");
  assert.deepEqual(row, { name: "a", pool: "p", driver: "d", details: "", taints: [], claims: [{ claim: "n/c", pods: [] }], isFree: false });
  assert.deepEqual(all.sent, [asked[0], SLICES, asked[1], CLAIMS]);
  const some = source((each) => each === asked[0], replies);
  assert.deepEqual((await devicesOf(some, "n/1"))[0].claims, []);
  assert.deepEqual(some.sent, [asked[0], SLICES, asked[1]]);
  assert.equal(await devicesOf(source((each) => each !== asked[0], replies), "n/1"), null);
  const none = source(() => true, { [SLICES]: { items: [] } });
  assert.deepEqual(await devicesOf(none, "n/1"), []);
  assert.deepEqual(none.sent, [asked[0], SLICES]);
});

test("a device has its attributes, capacities, taints, and the pods of each of its claims", () => {
  const device = {
    name: "a",
    attributes: { model: { string: "x" }, count: { int: 3 }, on: { bool: true } },
    capacity: { memory: { value: "1Gi" }, cores: { value: "4" } },
    taints: [{ key: "k", effect: "NoSchedule" }, { key: "l", value: "v", effect: "NoExecute" }],
  };
  const pods = (...names) => names.map((name) => ({ resource: "pods", name }));
  const claims = [claim("one", [result("a"), result("b")], [...pods("p", "q"), { resource: "jobs", name: "r" }]), claim("two", [result("a", { adminAccess: true })], pods("s")), { metadata: { namespace: "n", name: "three" } }];
  assert.deepEqual(deviceRows([slice([device, { name: "b" }, { name: "c" }])], claims), [
    {
      name: "a",
      pool: "p",
      driver: "d",
      details: "model=x, count=3, on=true, memory=1Gi, cores=4",
      taints: ["k:NoSchedule", "l=v:NoExecute"],
      claims: [{ claim: "n/one", pods: ["n/p", "n/q"] }, { claim: "n/two", pods: ["n/s"] }],
      isFree: false,
    },
    { name: "b", pool: "p", driver: "d", details: "", taints: [], claims: [{ claim: "n/one", pods: ["n/p", "n/q"] }], isFree: false },
    { name: "c", pool: "p", driver: "d", details: "", taints: [], claims: [], isFree: true },
  ]);
});

test("only the newest generation of each pool counts, and devices of one name are apart", () => {
  const of = (driver, name, generation, device) => ({ spec: { driver, pool: { name, generation }, devices: [{ name: device }] } });
  const slices = [of("d", "p", 3, "new"), of("d", "p", 2, "old"), of("d", "q", 1, "x"), of("e", "p", 1, "x")];
  const rows = deviceRows(slices, [claim("c", [{ driver: "e", pool: "p", device: "x" }])]);
  assert.deepEqual(rows.map(({ driver, pool, name, isFree }) => [driver, pool, name, isFree]), [["d", "p", "new", true], ["d", "q", "x", true], ["e", "p", "x", false]]);
});

test("a partition is free while the counters that it shares suffice exactly", () => {
  const uses = (...amounts) => amounts.map(([counterSet, memory]) => ({ counterSet, counters: { memory: { value: memory } } }));
  const device = (name, ...amounts) => ({ name, consumesCounters: uses(...amounts) });
  const sets = [{ name: "s", counters: { memory: { value: "10" } } }, { name: "t", counters: { memory: { value: "1" } } }];
  const slices = [slice([device("taken", ["s", "6"]), device("fits", ["s", "4"]), device("more", ["s", "5"]), device("both", ["s", "1"], ["t", "2"]), device("none", ["u", "1"]), device("zero", ["u", "0"])], { sharedCounters: sets })];
  const free = (...claims) => deviceRows(slices, claims).filter(({ isFree }) => isFree).map(({ name }) => name);
  assert.deepEqual(free(claim("c", [result("taken")])), ["fits", "zero"]);
  assert.deepEqual(free(), ["taken", "fits", "more", "zero"]);
  assert.deepEqual(free(claim("c", [result("taken"), result("fits")])), ["zero"]);
  assert.deepEqual(free(claim("c", [result("fits")])), ["taken", "more", "zero"], "one that is free precedes it");
  assert.deepEqual(free(claim("c", [result("none")])), ["taken", "fits", "more"], "of a counter that no slice shares");
  // A claim with administrative access takes nothing of the counters, but its device is not free.
  assert.deepEqual(free(claim("c", [result("taken", { adminAccess: true })])), ["fits", "more", "zero"]);
});

// ---------------------------------------------------------------------------- completion

/** What an editor offers at the end of a text. */
function editorOf(server) {
  const given = [];
  const CM = {
    EditorState: { languageData: { of: (make) => ({ make }) } },
    StateEffect: { appendConfig: { of: (data) => ({ data }) } },
  };
  addCompletion({ dispatch: (transaction) => given.push(transaction) }, CM, server);
  const [{ autocomplete }] = given[0].effects.data.make();
  return (text, { explicit = false, rest = "" } = {}) => autocomplete({ pos: text.length, explicit, state: { doc: text + rest } });
}

const SCHEMAS = {
  "io.k8s.api.core.v1.Pod": {
    "x-kubernetes-group-version-kind": [{ group: "", version: "v1", kind: "Pod" }],
    properties: {
      spec: { allOf: [{ $ref: "#/components/schemas/io.k8s.api.core.v1.PodSpec" }], description: "what is wanted" },
      status: { $ref: "#/components/schemas/io.k8s.api.core.v1.PodStatus" },
      kind: { type: "string" },
    },
  },
  "io.k8s.api.core.v1.PodSpec": {
    properties: {
      containers: { type: "array", items: { allOf: [{ $ref: "#/components/schemas/io.k8s.api.core.v1.Container" }] } },
      names: { type: "array", items: { type: "string" } },
      any: { type: "array" },
      odd: {},
    },
  },
  "io.k8s.api.core.v1.Container": { properties: { image: { type: "string" } } },
  Deployment: { "x-kubernetes-group-version-kind": [{ group: "apps", version: "v1", kind: "Deployment" }], properties: { apps: {} } },
};
const OPENAPI = { paths: { "api/v1": { serverRelativeURL: "/core" }, "apis/apps/v1": { serverRelativeURL: "/apps" } } };
const HEAD = "apiVersion: v1\nkind: Pod\n";

test("fields are offered with types and descriptions, from documents that are read once", async () => {
  const server = source(() => true, { "/openapi/v3": OPENAPI, "/core": { components: { schemas: SCHEMAS } }, "/apps": { components: { schemas: SCHEMAS } } });
  const offered = editorOf(server);
  const found = await offered(`${HEAD}sp`, { rest: "ec: {}\nx: y" });
  assert.deepEqual(found, {
    from: HEAD.length,
    options: [
      { label: "spec", type: "property", detail: "PodSpec", info: "what is wanted", apply: "spec: " },
      { label: "status", type: "property", detail: "PodStatus", info: undefined, apply: "status: " },
      { label: "kind", type: "property", detail: "string", info: undefined, apply: "kind: " },
    ],
    validFor: /^[\w-]*$/,
  });
  const inside = await offered(`${HEAD}spec:\n  `, { explicit: true });
  assert.deepEqual(inside.options.map(({ label, detail }) => [label, detail]), [["containers", "[]Container"], ["names", "[]string"], ["any", "[]"], ["odd", ""]]);
  assert.equal(inside.from, `${HEAD}spec:\n  `.length);
  assert.equal(await offered(`${HEAD}spec:\n  `), null, "nothing is written yet");
  assert.equal(await offered(`${HEAD}a: b`), null, "a value");
  assert.equal(await offered("kind: Pod\nsp"), null, "no version");
  assert.equal(await offered("apiVersion: v1\nkind: Box\nsp"), null, "no such kind");
  assert.deepEqual(server.sent, ["/openapi/v3", "/core"]);
  const deployment = await offered("apiVersion: apps/v1\nkind: Deployment\nap");
  assert.deepEqual(deployment.options.map(({ label }) => label), ["apps"]);
  assert.equal(await offered("apiVersion: other/v1\nkind: Box\nsp"), null, "no such group");
  assert.deepEqual(server.sent, ["/openapi/v3", "/core", "/openapi/v3", "/apps", "/openapi/v3"]);
});

test("a document that could not be read is requested again", async () => {
  const replies = { "/openapi/v3": new Error("busy"), "/batch": { components: { schemas: { Job: { "x-kubernetes-group-version-kind": [{ group: "batch", version: "v1", kind: "Job" }], properties: { spec: {} } } } } } };
  const offered = editorOf(source(() => true, replies));
  const text = "apiVersion: batch/v1\nkind: Job\nsp";
  assert.equal(await offered(text), null);
  replies["/openapi/v3"] = { paths: { "apis/batch/v1": { serverRelativeURL: "/batch" } } };
  assert.deepEqual((await offered(text)).options.map(({ label }) => label), ["spec"]);
});

test("where a text ends is found by the indentation of the lines before", () => {
  const at = (text) => fieldAt(text.split("\n"));
  const place = (path, partial = "", kind = "Pod") => ({ apiVersion: "v1", kind, path, partial });
  for (const [text, expected] of [
    ["a", { apiVersion: "", kind: "", path: [], partial: "a" }],
    ["apiVersion:  v1 \nkind: Pod", null],
    [`${HEAD}metadata:\n  labels:\n    x: y\n  na`, place(["metadata"], "na")],
    [`${HEAD}metadata:\n  labels:\n    x: y\nsp`, place([], "sp")],
    [`${HEAD}spec:\n  containers:\n  - name: a\n    ports:\n    - containerPort: 1\n      pro`, place(["spec", "containers", "ports"], "pro")],
    [`${HEAD}spec:\n  containers:\n  - na`, place(["spec", "containers"], "na")],
    [`${HEAD}spec:\n  - - na`, place(["spec"], "na")],
    [`${HEAD}metadata:\n  annotations:\n    "a.b/c-d":\n      x`, place(["metadata", "annotations", "a.b/c-d"], "x")],
    [`${HEAD}spec: {}\n  ho`, place(["spec"], "ho")],
    [`${HEAD}spec:x\n  ho`, place(["kind"], "ho")],
    [`${HEAD}spec:\n\n  # a comment\n  ho`, place(["spec"], "ho")],
    [`spec:\n---\n${HEAD}  ho`, place(["kind"], "ho")],
    [`spec:\n--- # next\n  ho`, { apiVersion: "", kind: "", path: [], partial: "ho" }],
    [`${HEAD}spec:\n  host-na`, place(["spec"], "host-na")],
    [`${HEAD}spec:\n  a b`, null],
  ]) {
    assert.deepEqual(at(text), expected, text);
  }
});

test("properties are those of the kind, its group and its version", () => {
  const kinds = (...given) => given.map(([group, version, kind]) => ({ group, version, kind }));
  const schemas = {
    none: { properties: { none: {} } },
    a: { "x-kubernetes-group-version-kind": kinds(["", "v1", "Box"], ["g", "v2", "Box"]), properties: { a: {} } },
    b: { "x-kubernetes-group-version-kind": kinds(["g", "v1", "Box"]), properties: { b: { additionalProperties: { type: "string" } }, c: { type: "array", items: { type: "array", items: { properties: { deep: {} } } } } } },
    c: { "x-kubernetes-group-version-kind": kinds(["g", "v1", "Ref"]), $ref: "#/x/b" },
  };
  const at = (apiVersion, kind, ...path) => Object.keys(propertiesAt(schemas, { apiVersion, kind, path }) ?? { null: 1 });
  assert.deepEqual(at("v1", "Box"), ["a"]);
  assert.deepEqual(at("g/v2", "Box"), ["a"]);
  assert.deepEqual(at("g/v1", "Box"), ["b", "c"]);
  assert.deepEqual(at("g/v1", "Ref"), ["b", "c"]);
  assert.deepEqual(at("g/v1", "Box", "c"), ["deep"]);
  assert.deepEqual(at("g/v1", "Box", "b", "any"), ["null"]);
  assert.deepEqual(at("g/v1", "Box", "b", "any", "more"), ["null"]);
  for (const [version, kind] of [["v2", "Box"], ["h/v1", "Box"], ["g/v1", "Bag"]]) assert.deepEqual(at(version, kind), ["null"]);
});
