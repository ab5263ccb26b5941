// Causes in words: why pods wait, and which events may move them.

import { numberText } from "./format.js";

const MESSAGE = /^\d+\/(\d+) nodes are available: (.*?)\.(?: |$)/;

/**
 * Returns the most frequent reason of a message of the scheduler, such as "Insufficient cpu on 3 of
 * 4 nodes (and 1 more reason)"; another message is returned as it is.
 *
 * @param {string} message of the condition PodScheduled
 */
export function causeOf(message) {
  const [, digits, listed] = MESSAGE.exec(message) ?? [];
  if (!listed) return message;
  const nodes = Number(digits);
  const reasons = listed.split(/, (?=\d+ )/).map((text) => [Number.parseInt(text, 10), text.replace(/^\d+ /, "")]);
  if (reasons.some(([count]) => Number.isNaN(count))) return listed; // one reason for all nodes
  const [count, reason] = reasons.reduce((most, each) => (each[0] > most[0] ? each : most));
  const rest = reasons.length - 1;
  const others = rest ? ` (and ${rest} more reason${rest === 1 ? "" : "s"})` : "";
  return `${inWords(reason)} on ${count === nodes ? (count === 1 ? "the only node" : `all ${numberText(nodes)} nodes`) : `${numberText(count)} of ${numberText(nodes)} nodes`}${others}`;
}

function inWords(reason) {
  const text = reason.replace(/^node\(s\) (had |were |was )?/, "").replaceAll("(s)", "s");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const RESOURCES = {
  AssignedPod: "a pod on a node",
  UnschedulablePod: "this pod",
  Pod: "a pod",
  Node: "a node",
  "podgroups.v1alpha1.scheduling.x-k8s.io": "a PodGroup",
};
const PARTS = {
  NodeAllocatable: "allocatable resources",
  NodeLabel: "labels",
  NodeTaint: "taints",
  NodeCondition: "conditions",
  NodeAnnotation: "annotations",
  NodeDeclaredFeature: "declared features",
  PodLabel: "labels",
  PodToleration: "tolerations",
  PodGeneratedResourceClaim: "generated claims",
};
const WHOLE = {
  "*": "any event",
  ForceActivate: "a plugin activates it",
  UnschedulableTimeout: "its time in the queue ends",
  UpdatePodScaleDown: " reduces its requests",
  UpdatePodSchedulingGatesEliminated: " loses its last scheduling gate",
  Add: " is added",
  Delete: " is deleted",
  Update: " changes",
};

/**
 * Returns an event of the queue in words, such as "taints of a node change" for NodeUpdateNodeTaint.
 *
 * @param {string} label as in the metric scheduler_queue_incoming_pods_total
 */
export function eventText(label) {
  if (label in WHOLE) return WHOLE[label];
  const [, resource, action] = /^(.+?)(Add|Delete|Update\w*)$/.exec(label) ?? [];
  if (!resource) return label;
  const name = RESOURCES[resource] ?? `a ${resource.split("/").at(-1)}`;
  if (action in WHOLE) return name + WHOLE[action];
  const part = PARTS[action.slice("Update".length)];
  return part ? `${part} of ${name} change` : label;
}
