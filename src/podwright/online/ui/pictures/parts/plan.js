// Questions about the future of the cluster: their forms, requests and answers.

import { countText, durationText, numberText, percentText, quantityValue } from "./format.js";
import { presentSlots, resourcesOf } from "../data/live_state.js";

/**
 * What a plan does to a node: the resources that are requested more (or less), how many pods more, and
 * what it is to the plan.
 *
 * @typedef {{requests: Object<string, number>, pods: number, role: string}} NodeChange
 */

/**
 * @typedef {Object} Answer
 * @property {string[]} findings sentences, the most important first
 * @property {Map<string, NodeChange>} nodes those that change
 * @property {any[]} [added] manifests of the nodes that there are not yet
 * @property {{title: string, heads: string[], rows: string[][]}[]} tables
 * @property {null | {title: string, text: string, create?: any[], drains?: string[][]}} apply the text of
 *   its button and what it does: objects to create, or steps of nodes to drain
 */

/**
 * @typedef {Object} Question
 * @property {string} title
 * @property {string} path of POST
 * @property {{key: string, title: string, kind: "text" | "number" | "check" | "area" | "choice",
 *   initial?: string, hint?: string, choices?: string[]}[]} fields
 * @property {(values: Object<string, string>, manifest: any) => any} body the request; `manifest` is the
 *   field of this name as data
 * @property {(reply: any, body: any) => Answer} answer
 * @property {string} counted what the progress of an answer counts
 */

const CAPACITY = "/podwright/v1/capacity";

/** @type {Object<string, Question>} */
export const QUESTIONS = {
  capacity: {
    title: "How many more pods fit",
    path: CAPACITY,
    fields: [
      { key: "cpu", title: "CPU of a pod", kind: "text", initial: "500m" },
      { key: "memory", title: "Memory of a pod", kind: "text", initial: "512Mi" },
      { key: "most", title: "At most", kind: "number", hint: "no limit" },
      { key: "preemption", title: "Evict pods of lower priority", kind: "check" },
      { key: "manifest", title: "Or a manifest", kind: "area", hint: "A pod or a workload, as YAML or JSON" },
    ],
    body: ({ cpu, memory, most, preemption }, manifest) => ({ pods: [manifest ?? podOf({ cpu, memory })], maxLimit: Number(most || 0), preemption: Boolean(preemption) }),
    answer: capacityAnswer,
    counted: "pod",
  },
  headroom: {
    title: "Room of each workload",
    path: CAPACITY,
    fields: [],
    body: () => ({ headroom: true }),
    answer: ({ status }) => ({
      ...NOTHING,
      findings: [status.headroom?.length ? `${countText(status.headroom.filter(({ replicas }) => !replicas).length, "workload")} of ${status.headroom.length} cannot grow by one pod.` : "No workload has pods on nodes."],
      tables: [{ title: "More pods that fit, of each workload alone", heads: ["Workload", "Running", "More", "What stops the next one"], rows: (status.headroom ?? []).map(({ kind, workload, running, replicas, failReason }) => [`${kind} ${workload}`, String(running), String(replicas), failReason.failMessage]) }],
    }),
    counted: "workload",
  },
  loss: {
    title: "Loss of nodes",
    path: CAPACITY,
    fields: [{ key: "of", title: "Of each", kind: "choice", choices: ["node", "zone", "pool"] }],
    body: ({ of }) => ({ loss: [of || "node"] }),
    answer: lossAnswer,
    counted: "loss",
  },
  buy: {
    title: "Nodes to buy",
    path: "/podwright/v1/purchase",
    fields: [{ key: "manifest", title: "Types of nodes, with prices; none: the pools of the cluster", kind: "area", hint: 'types:\n- {name: small, price: 0.1, allocatable: {cpu: "4", memory: 16Gi}}' }],
    body: (_, manifest) => (Array.isArray(manifest) ? { types: manifest } : { types: [], ...manifest }),
    answer: purchaseAnswer,
    counted: "combination",
  },
  autoscale: {
    title: "Autoscaling",
    path: "/podwright/v1/autoscaling",
    fields: [
      { key: "duration", title: "How long", kind: "text", initial: "30m", hint: "30m" },
      { key: "manifest", title: "Node groups; none: those of up --node-groups, or the pools of the cluster", kind: "area", hint: 'groups:\n- {name: small, maxSize: 5, template: {allocatable: {cpu: "4", memory: 16Gi}}}' },
    ],
    body: ({ duration }, manifest) => ({ ...(Array.isArray(manifest) ? { groups: manifest } : manifest), ...(duration ? { duration } : {}) }),
    answer: scalingAnswer,
    counted: "part",
  },
  drain: {
    title: "Drain nodes",
    path: "/podwright/v1/drain-plan",
    fields: [
      { key: "nodes", title: "Nodes to drain", kind: "text", hint: "node-1, node-2" },
      { key: "selector", title: "Or by labels", kind: "text", hint: "zone=a,!spot" },
      { key: "most", title: "At a time, at most", kind: "number", hint: "no limit" },
    ],
    body: ({ nodes = "", selector = "", most }) => ({ nodes: nodes.split(/[\s,]+/).filter(Boolean), selector, mostNodes: Number(most || 0) }),
    answer: drainAnswer,
    counted: "node",
  },
};

const NOTHING = { findings: [], nodes: new Map(), tables: [], apply: null };
const NAMES_SHOWN = 8;
const ORDINARY = new Set(["NotAutoscaled", "NotUnderutilized", "NotUnneededOtherReason"]); // what keeps most nodes

/** Returns a pod that requests amounts. */
function podOf(requests) {
  const given = Object.fromEntries(Object.entries(requests).filter(([, amount]) => amount));
  return { apiVersion: "v1", kind: "Pod", metadata: { name: "planned", namespace: "default" }, spec: { containers: [{ name: "main", image: "registry.k8s.io/pause:3.10", resources: { requests: given } }] } };
}

function capacityAnswer({ spec, status }, { pods: [given] }) {
  const nodes = new Map();
  status.pods.forEach(({ replicasOnNodes }, index) => {
    const { primaryResources, scalarResources } = spec.podRequirements[index].resources;
    const requests = Object.entries({ ...primaryResources, ...scalarResources }).map(([name, amount]) => [name, quantityValue(amount) * (name === "cpu" ? 1000 : 1)]);
    for (const { nodeName, replicas } of replicasOnNodes) add(nodes, nodeName, requests, replicas, "gets pods");
  });
  const [{ replicasInZones, failSummary }] = status.pods;
  const count = status.replicas;
  const zones = Object.entries(replicasInZones).filter(([zone]) => zone);
  const reasons = (failSummary ?? []).map(({ reason, count: of }) => `${reason} on ${countText(of, "node")}`);
  const { failType, failMessage } = status.failReason;
  return {
    findings: [
      `${countText(count, "more pod")} ${count === 1 ? "fits" : "fit"}, on ${countText(nodes.size, "node")} of ${numberText(status.nodes)}.`,
      failType === "LimitReached" ? failMessage : `The next one does not fit: ${reasons.join(", ") || failMessage}.`,
      ...(zones.length > 1 ? [`By zone: ${zones.map(([zone, of]) => `${zone} ${numberText(of)}`).join(", ")}.`] : []),
      ...(status.pending.scheduled ? [`${countText(status.pending.scheduled, "pending pod")} ${status.pending.scheduled === 1 ? "was" : "were"} placed before; the picture does not have them.`] : []),
      ...(status.pending.unscheduled ? [`${countText(status.pending.unscheduled, "pending pod")} of the cluster ${status.pending.unscheduled === 1 ? "fits" : "fit"} nowhere.`] : []),
      ...(status.evicted ? [`${countText(status.evicted.length, "pod")} would be evicted: ${listed(status.evicted)}.`] : []),
      ...(status.preemption ? [`Preemption on ${status.preemption.node} would make room for the next one, by evicting ${listed(status.preemption.victims)}.`] : []),
    ],
    nodes,
    tables: [],
    apply: count ? applyOf(given, count) : null,
  };
}

/** Returns the Deployment with as many pods as fit, or the workload with so many more. */
function applyOf(given, count) {
  const template = given.kind === "Pod" ? { metadata: { labels: given.metadata.labels }, spec: given.spec } : given.kind === "Deployment" ? given.spec.template : null;
  if (!template) return null;
  const { name, namespace = "default" } = given.metadata;
  const labels = { ...template.metadata?.labels, "app.kubernetes.io/instance": name };
  const create = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace },
    spec: { replicas: count, selector: { matchLabels: { "app.kubernetes.io/instance": name } }, template: { ...template, metadata: { ...template.metadata, labels } } },
  };
  return { title: `Apply: create Deployment ${name} with ${countText(count, "pod")}`, text: `Deployment ${namespace}/${name} is created.`, create: [create] };
}

function lossAnswer({ status: { losses = [] } }, { loss: [of] }) {
  const hurting = losses.filter(({ pending }) => pending.length);
  const [worst] = hurting;
  return {
    ...NOTHING,
    findings: [
      hurting.length ? `After the loss of ${numberText(hurting.length)} of ${countText(losses.length, of)}, pods stay pending; worst is ${worst.name}, with ${countText(worst.pending.length, "pod")}.` : `After the loss of any one ${of}, all pods that are created again find a node.`,
    ],
    // The picture of nodes that are lost one at a time: how many pods have no node after it.
    nodes: of === "node" ? new Map(hurting.map(({ name, pending }) => [name, { requests: {}, pods: -pending.length, role: "its loss leaves pods pending" }])) : NOTHING.nodes,
    tables: [{ title: `After the loss of each ${of}`, heads: [of, "Nodes", "Created again", "Pending", "Gone for good", "Why"], rows: losses.map(({ name, nodes, recreated, pending, gone }) => [name, String(nodes), String(recreated), String(pending.length), String(gone.length), pending[0]?.failMessage ?? ""]) }],
  };
}

function drainAnswer({ steps, blocked, isComplete, idleBudgets = [] }) {
  const moves = steps.flatMap((step) => step.moves);
  const nodes = moveNodes(moves);
  steps.forEach((step, index) => step.nodes.forEach((node) => (add(nodes, node, [], 0, "").role = `drained in step ${index + 1}`)));
  for (const { node } of blocked) add(nodes, node, [], 0, "").role = "blocked";
  const [pending, gone, local, kept] = ["pending", "gone", "localData", "protected"].map((key) => steps.flatMap((step) => step[key] ?? []));
  const drained = steps.flatMap((step) => step.nodes);
  const waits = steps.some(({ waitsFor }) => waitsFor.length);
  return {
    findings: [
      isComplete ? `${countText(drained.length, "node")} can be drained, in ${countText(steps.length, "step")}; ${countText(moves.length, "pod")} ${moves.length === 1 ? "moves" : "move"}.` : `${numberText(drained.length)} of ${countText(drained.length + blocked.length, "node")} can be drained; ${countText(pending.length, "pod")} ${pending.length === 1 ? "finds" : "find"} no node.`,
      ...(gone.length ? [`Nothing creates ${countText(gone.length, "pod")} again: ${listed(gone)}.`] : []),
      ...(local.length ? [`${countText(local.length, "pod")} ${local.length === 1 ? "loses its" : "lose their"} local data: ${listed(local)}.`] : []),
      ...(kept.length ? [`${countText(kept.length, "pod")} ${kept.length === 1 ? "asks" : "ask"} autoscalers not to evict ${kept.length === 1 ? "it" : "them"}: ${listed(kept)}.`] : []),
      ...(idleBudgets.length ? [`${countText(idleBudgets.length, "budget")} ${idleBudgets.length === 1 ? "selects" : "select"} no pod: ${listed(idleBudgets)}.`] : []),
    ],
    nodes,
    tables: [
      { title: "Steps", heads: ["Step", "Nodes", "Pods", "Takes", ...(waits ? ["One after the other for"] : [])], rows: steps.map((step, index) => [String(index + 1), listed(step.nodes), numberText(step.moves.length), durationText(step.seconds * 1000), ...(waits ? [step.waitsFor.join(", ")] : [])]) },
      { title: "Blocked", heads: ["Node", "By budget", "Pods", "What would allow it"], rows: blocked.map((each) => [each.node, each.budgets.join(", ") || each.message, listed(each.pods), each.remedy]) },
      { title: "Pods that find no node", heads: ["Pod", "Why", "What would help"], rows: pending.map(({ pod, message, remedies }) => [pod, message, remedies.join("; or ")]) },
    ].filter(({ rows }) => rows.length),
    apply: drained.length ? { title: `Apply: drain ${countText(drained.length, "node")} in ${countText(steps.length, "step")}`, text: "The nodes are drained.", drains: steps.map((step) => step.nodes) } : null,
  };
}

/** Returns a price, without the digits that adding has drawn in. */
function priceText(price) {
  return price.toLocaleString("en-US", { maximumFractionDigits: 6 });
}

function purchaseAnswer({ nodes: bought, price, bound, gap, isCheapest, pending, scheduled, mixes, unplaced, newNodes, moves }) {
  const types = bought.map(({ type, count }) => `${numberText(count)} ${type}`);
  return {
    ...additions(newNodes, moves),
    findings: [
      `${bought.length ? `${listed(types)} for ${priceText(price)}` : "No new node"}: ${numberText(scheduled)} of ${countText(pending, "pending pod")} ${pending === 1 ? "has" : "have"} a node then.`,
      `The lower bound is ${priceText(bound)} (${percentText(gap)} less); ${isCheapest ? "nothing cheaper fits" : "something cheaper may fit"} (${countText(mixes, "combination")} tried).`,
    ],
    tables: [
      { title: "Nodes", heads: ["Type", "Nodes", "Price", "Total"], rows: bought.map(({ type, count, price: each }) => [type, numberText(count), priceText(each), priceText(count * each)]) },
      { title: "Pods that find no node", heads: ["Pod", "Why"], rows: unplaced.map(({ pod, failMessage }) => [pod, failMessage]) },
    ].filter(({ rows }) => rows.length),
  };
}

function scalingAnswer({ pods, nodes, groups, newNodes, removedNodes, moves, pending }) {
  const found = additions(newNodes, moves);
  for (const node of removedNodes) add(found.nodes, node, [], 0, "").role = "removed";
  const placed = moves.filter(({ node, to }) => !node && to).length;
  const isPriced = groups.some(({ cost }) => cost);
  const rows = pods.flatMap(({ pod, node, groups: offers, chosen }) => (node ? [[pod, "", "", `fits on ${node}`]] : offers.map(({ group, helps, reasons }) => [pod, group, helps ? "yes" : "no", chosen.includes(group) ? "chosen by the expander" : reasons.join(", ")])));
  return {
    ...found,
    findings: [
      `The groups get ${countText(newNodes.length, "new node")}; ${countText(placed, "pending pod")} ${placed === 1 ? "finds" : "find"} a node.`,
      ...(removedNodes.length ? [`${countText(removedNodes.length, "node")} ${removedNodes.length === 1 ? "is" : "are"} not needed and removed: ${listed(removedNodes)}.`] : []),
      ...(pending.length ? [`${countText(pending.length, "pod")} ${pending.length === 1 ? "has" : "have"} no node at the end: ${listed(pending)}.`] : []),
      ...(pods.some(({ groups: offers }) => offers.some(({ maxSize }) => maxSize === null)) ? ["The groups are the pools of the cluster; how many nodes they may have is not known: at least none, and any number."] : []),
    ],
    tables: [
      { title: "Node groups", heads: ["Group", "Start", "Peak", "End", "Node hours", ...(isPriced ? ["Cost"] : [])], rows: groups.map(({ name, sizes, nodeHours, cost }) => [name, ...[sizes[0].size, Math.max(...sizes.map(({ size }) => size)), sizes.at(-1).size].map(String), nodeHours.toFixed(2), ...(isPriced ? [cost.toFixed(2)] : [])]) },
      { title: "Which group would help", heads: ["Pod", "Group", "Helps", "Why"], rows },
      { title: "What keeps nodes now", heads: ["Node", "Group", "Reason", "Why"], rows: nodes.filter(({ reason }) => reason && !ORDINARY.has(reason)).map(({ node, group, reason, message }) => [node, group || "<none>", reason, message]) },
    ].filter(({ rows: each }) => each.length),
  };
}

/** Returns the part of an answer that adds nodes to the cluster. */
function additions(newNodes, moves) {
  const nodes = moveNodes(moves);
  for (const { metadata } of newNodes) add(nodes, metadata.name, [], 0, "").role = "added";
  const text = countText(newNodes.length, "node");
  return { nodes, added: newNodes, apply: newNodes.length ? { title: `Apply: add ${text}`, text: `${text} ${newNodes.length === 1 ? "is" : "are"} added.`, create: newNodes } : null };
}

/**
 * Returns what moves of pods do to nodes.
 *
 * @param {{node?: string, to?: string, requests: Object<string, number>}[]} moves
 * @returns {Map<string, NodeChange>}
 */
export function moveNodes(moves) {
  const nodes = new Map();
  for (const { node, to, requests } of moves) {
    if (node === to) continue;
    if (node) add(nodes, node, Object.entries(requests), -1, "");
    if (to) add(nodes, to, Object.entries(requests), 1, "");
  }
  for (const change of nodes.values()) change.role = change.pods > 0 ? "gets pods" : change.pods < 0 ? "loses pods" : "exchanges pods";
  return nodes;
}

function add(nodes, node, amounts, pods, role) {
  if (!nodes.has(node)) nodes.set(node, { requests: {}, pods: 0, role: "" });
  const change = nodes.get(node);
  for (const [name, amount] of amounts) change.requests[name] = (change.requests[name] ?? 0) + amount * pods;
  change.pods += pods;
  change.role ||= role;
  return change;
}

function listed(names) {
  const rest = names.length - NAMES_SHOWN;
  return `${names.slice(0, NAMES_SHOWN).join(", ")}${rest > 0 ? ` and ${numberText(rest)} more` : ""}`;
}

/**
 * Returns the state of the cluster after a plan.
 *
 * @param {import("../data/live_state.js").ClusterState} state
 * @param {Map<string, NodeChange>} nodes
 * @param {any[]} [added] manifests of nodes that there are not yet
 * @returns {import("../data/live_state.js").ClusterState}
 */
export function stateAfter(state, nodes, added = []) {
  const columns = new Map();
  const names = [...state.names, ...added.map(({ metadata }) => metadata.name)];
  const slots = names.flatMap((name, slot) => (nodes.has(name) ? [slot] : []));
  for (const field of state.fields) {
    const [kind, resource] = field.split(/\/(.*)/);
    const before = state.column(field);
    const column = Float64Array.from({ length: Math.max(before.length, names.length) }, (_, slot) => before[slot] ?? 0);
    added.forEach(({ status }, index) => {
      const amount = quantityValue(status.allocatable[resource] ?? "0") * (resource === "cpu" ? 1000 : 1);
      if (kind === "allocatable") column[state.names.length + index] = amount;
      if (field === "present" || field === "ready") column[state.names.length + index] = 1;
    });
    for (const slot of slots) {
      const { requests, pods, role } = nodes.get(names[slot]);
      if (kind === "requested") column[slot] += resource === "pods" ? pods : (requests[resource] ?? 0);
      if (field === "unschedulable" && role.startsWith("drained")) column[slot] = 1;
    }
    columns.set(field, column);
  }
  const column = (field) => columns.get(field) ?? [];
  const shown = added.length ? presentSlots(names, column("present")) : state.slots();
  return { names, fields: state.fields, column, slots: () => shown };
}

/** Returns how many pods more a node has, as its cell shows it; "" for none. */
export function podsText({ pods } = { pods: 0 }) {
  return pods ? `${pods > 0 ? "+" : "−"}${Math.abs(pods)}` : "";
}

/** Returns the requested share of each resource before and after, over all nodes, as a sentence. */
export function shareText(before, after) {
  const shares = resourcesOf(before).map((resource) => {
    const [was, is] = [before, after].map((state) => {
      const sum = (kind) => state.slots().reduce((total, slot) => total + (state.column(`${kind}/${resource}`)[slot] ?? 0), 0);
      return sum("requested") / (sum("allocatable") || 1);
    });
    return was === is ? null : `${resource} ${percentText(was)} → ${percentText(is)}`;
  });
  const changed = shares.filter(Boolean);
  return changed.length ? `Requested of all nodes: ${changed.join(", ")}.` : "";
}
