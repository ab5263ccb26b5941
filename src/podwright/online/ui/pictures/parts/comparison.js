// Two clusters side by side: where the same pods are, and how much is requested over time.

/** How many points a curve has at most. */
export const POINTS_MAX = 300;

/**
 * @typedef {Object} Place
 * @property {string} node empty without one
 * @property {string} workload the kind and the name of what controls the pod; empty without one
 */

/**
 * Returns the pods that have another name on the other side, as `podwright diff` pairs them.
 *
 * Names that controllers generate differ between clusters. So the pods of a workload that only one
 * side has are paired: the first with the first, in the order in which they were created.
 *
 * @param {Map<string, Place>} here by pod, in order of creation
 * @param {Map<string, Place>} there
 * @returns {Map<string, string>} by pod here, the pod there
 */
export function counterparts(here, there) {
  const unmatched = new Map();
  for (const [pod, { workload }] of here) {
    if (!workload || there.has(pod)) continue;
    if (!unmatched.has(workload)) unmatched.set(workload, []);
    unmatched.get(workload).push(pod);
  }
  const found = new Map();
  for (const [pod, { workload }] of there) {
    const first = here.has(pod) ? undefined : unmatched.get(workload)?.shift();
    if (first !== undefined) found.set(first, pod);
  }
  return found;
}

/**
 * Returns the pods that are in different places.
 *
 * @param {Map<string, Place>} here by pod, in order of creation
 * @param {Map<string, Place>} there
 * @returns {{both: number, paired: number, different: {pod: string, counterpart: string, here: string,
 *   there: string}[], onlyHere: string[], onlyThere: string[]}} the number of pods that both have, and
 *   of those among them that have another name there; `counterpart` is that name, or empty; names in
 *   alphabetic order
 */
export function differences(here, there) {
  const pairs = counterparts(here, there);
  const found = { both: 0, paired: pairs.size, different: [], onlyHere: [], onlyThere: [] };
  for (const [pod, { node }] of here) {
    const counterpart = pairs.get(pod) ?? "";
    const other = there.get(counterpart || pod);
    if (other === undefined) found.onlyHere.push(pod);
    else found.both += 1;
    if (other !== undefined && other.node !== node) found.different.push({ pod, counterpart, here: node, there: other.node });
  }
  const paired = new Set(pairs.values());
  for (const pod of there.keys()) if (!here.has(pod) && !paired.has(pod)) found.onlyThere.push(pod);
  found.different.sort((a, b) => (a.pod < b.pod ? -1 : 1));
  found.onlyHere.sort();
  found.onlyThere.sort();
  return found;
}

/** The name of the curve of how many pods are in the queue. */
export const PENDING = "pending pods";

/**
 * Returns the requested share of each resource over time, over all nodes, and the number of pending pods.
 *
 * @param {ReturnType<import("../data/timeline_reader.js").readTimeline>} timeline
 * @param {bigint} beginNs of the curves
 * @param {bigint} endNs
 * @returns {Map<string, {seconds: number, share: number}[]>} by resource; times since `beginNs`; those
 *   of which the nodes have none are left out; that of `PENDING` has numbers of pods in place of shares
 */
export function usageCurves(timeline, beginNs, endNs) {
  const { fields, timesNs, fieldIndex, subjectIndex, deltas } = timeline;
  const resources = fields.filter((field) => field.startsWith("allocatable/")).map((field) => field.slice(12));
  const totals = fields.map(() => 0);
  const isAmount = fields.map((field) => field.includes("/"));
  const curves = new Map([...resources, PENDING].map((name) => [name, []]));
  const queue = fields.indexOf("queue");
  const places = new Float64Array(timeline.subjects.length);
  let pending = 0;
  const columns = resources.map((resource) => [curves.get(resource), fields.indexOf(`requested/${resource}`), fields.indexOf(`allocatable/${resource}`)]);
  const add = (seconds) => {
    curves.get(PENDING).push({ seconds, share: pending });
    for (const [points, requested, allocatable] of columns) {
      if (totals[allocatable] > 0) points.push({ seconds, share: (totals[requested] ?? 0) / totals[allocatable] });
    }
  };
  const stepNs = (endNs - beginNs) / BigInt(POINTS_MAX) || 1n;
  let next = beginNs;
  for (let row = 0; row < timesNs.length && timesNs[row] <= endNs; row++) {
    if (timesNs[row] > next) {
      add(Number(next - beginNs) / 1e9);
      next = timesNs[row] + stepNs - ((timesNs[row] - beginNs) % stepNs);
      // The value lasts until this change.
      add(Number(timesNs[row] - 1n - beginNs) / 1e9);
    }
    if (isAmount[fieldIndex[row]]) totals[fieldIndex[row]] += Number(deltas[row]);
    if (fieldIndex[row] !== queue) continue;
    const before = places[subjectIndex[row]];
    const after = (places[subjectIndex[row]] += Number(deltas[row]));
    pending += Number(after > 0) - Number(before > 0);
  }
  if (next < endNs) add(Number(next - beginNs) / 1e9); // what the last changes made
  add(Number(endNs - beginNs) / 1e9);
  for (const [resource, points] of curves) if (!points.some(({ share }) => share > 0)) curves.delete(resource);
  return curves;
}

/**
 * Returns the range of time of each of two timelines, so that equal distances from the start are drawn
 * over each other: the time of the clock if both ran at the same time, else the time since each started.
 *
 * @param {{beginNs: bigint, endNs: bigint}} one
 * @param {{beginNs: bigint, endNs: bigint}} other
 * @returns {{isClock: boolean, ranges: {beginNs: bigint, endNs: bigint}[]}}
 */
export function alignedRanges(one, other) {
  const begin = one.beginNs < other.beginNs ? one.beginNs : other.beginNs;
  const end = one.endNs > other.endNs ? one.endNs : other.endNs;
  const isClock = one.beginNs < other.endNs && other.beginNs < one.endNs;
  if (isClock) return { isClock, ranges: [one, other].map(() => ({ beginNs: begin, endNs: end })) };
  const [first, second] = [one.endNs - one.beginNs, other.endNs - other.beginNs];
  const length = first > second ? first : second;
  return { isClock, ranges: [one, other].map(({ beginNs }) => ({ beginNs, endNs: beginNs + length })) };
}
