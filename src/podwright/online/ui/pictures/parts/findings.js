// The findings of a run, in sentences, from its results (summary.json).

import { countText, durationText, percentText } from "./format.js";

const LISTED_MAX = 5;
const FULL_SHARE = 0.9; // of a resource that is reported as nearly full

/**
 * Returns what a reader should know first: `tone` is good, bad or "".
 *
 * @param {any} results
 * @returns {{tone: string, text: string}[]}
 */
export function findingsOf({ counts, pending, waits, utilization, report = {} }) {
  const found = [];
  const add = (tone, text) => found.push({ tone, text });
  const causes = Object.entries(pending ?? {}).sort(([, a], [, b]) => b - a);
  const waiting = causes.reduce((sum, [, count]) => sum + count, 0);
  if (waiting) add("bad", `${countText(waiting, "pod")} ${are(waiting)} pending at the end: ${causes.slice(0, LISTED_MAX).map(([cause, count]) => `${cause} (${count})`).join(", ")}${causes.length > LISTED_MAX ? ", …" : ""}.`);
  else add("good", `No pod is pending at the end; ${countText(counts.placed, "placement")} in ${countText(counts.decisions, "decision")}.`);
  const { estimate, evictions = {}, availability = [], drains = [], failedCreations = [], lostPods = [], neverTried = [], missingOwners = {} } = report;
  if (estimate) add("bad", `The initial pods cannot all fit: they request ${estimate.requested} of ${estimate.resource}, of which the nodes have ${estimate.allocatable}.`);
  if (waits?.count && waits.maxSeconds > 0) add("", `A pod waited ${seconds(waits.p50Seconds)} at the median, ${seconds(waits.p99Seconds)} at the 99th percentile and ${seconds(waits.maxSeconds)} at most.`);
  if (counts.victims) add("bad", `${countText(counts.preemptions, "preemption")} ended ${countText(counts.victims, "pod")}.`);
  if (evictions.evicted || evictions.byTaint) add("", `${countText(evictions.evicted + evictions.byTaint, "pod")} ${was(evictions.evicted + evictions.byTaint)} evicted${evictions.rejected ? `; ${countText(evictions.rejected, "eviction")} ${was(evictions.rejected)} rejected by budgets` : ""}.`);
  for (const { node, status, blockedBy = [] } of drains.filter((drain) => drain.status !== "complete" && drain.status !== "done")) add("bad", `The drain of ${node} is ${status}${blockedBy.length ? `, blocked by ${blockedBy.join(", ")}` : ""}.`);
  const down = availability.filter(({ belowTargetNs, reachedNs, deleted }) => belowTargetNs > 0 && reachedNs !== null && !deleted);
  if (down.length) add("bad", `${countText(down.length, "workload")} had too few ready pods for some time: ${down.slice(0, LISTED_MAX).map(({ workload, lowest, lowestTarget, belowTargetNs }) => `${workload} (${lowest} of ${lowestTarget} at least, ${durationText(belowTargetNs / 1e6)} in all)`).join(", ")}.`);
  for (const [resource, { mean, peak, fragmentation }] of Object.entries(utilization ?? {})) {
    if (peak >= FULL_SHARE) add("", `${resource} was requested to ${percentText(peak)} at its peak (${percentText(mean)} on average${fragmentation === undefined ? "" : `, fragmentation ${percentText(fragmentation)}`}).`);
  }
  if (counts.failed) add("bad", `${countText(counts.failed, "pod")} failed.`);
  for (const { owner, createdKind, message } of failedCreations.slice(0, LISTED_MAX)) {
    const isOwn = owner.startsWith(`${createdKind.toLowerCase()}/`);
    add("bad", `${isOwn ? owner : `A ${createdKind} of ${owner}`} could not be created: ${message}.`);
  }
  const others = failedCreations.length - LISTED_MAX;
  if (others > 0) add("bad", `Objects of ${countText(others, "other owner")} could not be created.`);
  if (lostPods.length) add("bad", `${countText(lostPods.length, "removed pod")} ${was(lostPods.length)} not replaced by a controller.`);
  if (neverTried.length) add("bad", `${countText(neverTried.length, "pending pod")} ${was(neverTried.length)} never tried.`);
  const owners = Object.keys(missingOwners).length;
  if (owners) add("", `The owners of ${countText(owners, "pod")} are not among the objects, so no controller replaces these pods.`);
  return found;
}

function seconds(value) {
  return value < 1 && value > 0 ? `${Math.round(value * 1000)}ms` : durationText(value * 1000);
}

function are(count) {
  return count === 1 ? "is" : "are";
}

function was(count) {
  return count === 1 ? "was" : "were";
}
