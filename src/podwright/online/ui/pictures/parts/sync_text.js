// The report of a sync in words.

import { bytesText, cpuText } from "./format.js";

const OVERDUE_S = 15;

const BOUND = {
  initial: "Pods that had a node in the first list keep it; later ones are scheduled here.",
  none: "No pod keeps its node: all are scheduled here.",
  kss: "Pods that have a node when they are first seen keep it, as in kube-scheduler-simulator.",
  source: "Pods have the nodes of the source, which schedules them.",
};

/** Returns whether a sync that reports each second has ended without saying so. */
export function isOverdue(secondsSinceReport) {
  return secondsSinceReport > OVERDUE_S;
}

/** Returns the policies that are at work, one text each. */
export function policyTexts(policies) {
  const { excludesRunning, followsLabels, followsResources, mirrorsPodStatus, hasExplicitSpread } = policies;
  const { keepsOwners, keepsAccounts, ignoresDeletions, restoresDeleted, freezesNodeStatus } = policies;
  return [
    BOUND[policies.bound] ?? policies.bound,
    excludesRunning ? "Pods that had a node in the first list are left out." : "",
    followsLabels ? "Changed labels of pods with a node are mirrored." : "",
    followsResources ? "Changed requests and limits of pods with a node are mirrored." : "",
    mirrorsPodStatus ? "The phase of pods is mirrored, so that finished pods free their resources." : "",
    hasExplicitSpread ? "The spreading that Services and owners imply is written into the pods." : "",
    keepsOwners ? "Pods keep their owner references." : "",
    keepsAccounts ? "Pods keep their service accounts and token volumes." : "",
    ignoresDeletions ? "Deletions at the source are ignored." : "",
    restoresDeleted ? "A restart creates the pods again that were deleted here." : "",
    freezesNodeStatus ? "Nodes keep the status with which they were created." : "",
  ].filter(Boolean);
}

/** Returns which objects are followed. */
export function scopeText({ kinds, namespaces, selector }) {
  const where = namespaces.length ? ` in ${namespaces.join(", ")}` : "";
  return `Followed: ${kinds.join(", ")}${where}${selector ? `, with the labels ${selector}` : ""}.`;
}

/** Returns what pods occupy. */
export function amountsText({ milliCpu, memoryBytes }) {
  return `${cpuText(milliCpu)} cpu and ${bytesText(memoryBytes)} of memory`;
}

/** Returns seconds with as many digits as are of use. */
export function secondsText(seconds) {
  return `${seconds < 10 ? seconds.toFixed(2) : seconds.toFixed(0)} s`;
}

/** Returns the differences whose pod or node has a text in its name. */
export function filteredDifferences(differences, text) {
  const query = text.trim().toLowerCase();
  if (!query) return differences;
  return differences.filter(({ pod, nodes }) => [pod, ...nodes].some((name) => name.toLowerCase().includes(query)));
}
