// The pods that wait for a node, with the reason of each.

/** The most pods of each part of the queue that are listed. */
export const LISTED_MAX = 200;

/** What views say that need a scheduler of podwright. */
export const NO_SCHEDULER = "This server runs without podwright's scheduler (--no-scheduler), so it has no queue, explanations or past.";

/** The order in which waiting pods need attention. */
export const PLACES = ["unschedulable", "backoff", "errorBackoff", "gated", "active", "inFlight"];

/**
 * Pods of one workload that wait in one place for one cause.
 *
 * @typedef {Object} Group
 * @property {string} key
 * @property {string} place its part of the queue; empty if it is in none
 * @property {string} workload such as Job/train; empty for pods without a controller
 * @property {string} namespace
 * @property {number} count
 * @property {string} created when the oldest pod was created; empty if it is not known
 * @property {string[]} pods the first, as namespace/name
 * @property {any} first the first, as the queue shows it
 */

/**
 * Returns the groups of the pods that wait, those that were rejected first.
 *
 * @param {import("./model.js").Model} data
 * @param {number} podCount how many pods of each group are named
 * @returns {Promise<{counts: Object<string, number>, groupCount: number, groups: Group[]}>}
 */
export async function waitingGroups(data, podCount = 1) {
  const found = await groupsOfQueues(data, podCount).catch((error) => {
    // Without the right to see the queue.
    if (error.status !== 403 && error.status !== 404 && error.status !== 409) throw error;
    return null;
  });
  return found ?? withoutQueue(data.source, podCount);
}

/** Returns the groups in the queues of all schedulers; null without a scheduler of podwright. */
export async function groupsOfQueues(data, podCount) {
  const names = await data.schedulers();
  if (names?.length === 0) return null;
  const query = `limit=${LISTED_MAX}&pods=${podCount}`;
  const paths = names ? names.map((name) => `${query}&schedulerName=${encodeURIComponent(name)}`) : [query];
  const queues = await Promise.all(paths.map((path) => data.source.get(`/podwright/v1/queue/groups?${path}`)));
  const counts = {};
  for (const [place, count] of queues.flatMap((queue) => Object.entries(queue.counts))) counts[place] = (counts[place] ?? 0) + count;
  const groups = PLACES.flatMap((place) => queues.flatMap((queue) => queue.groups.filter((group) => group.place === place)));
  const groupCount = queues.reduce((sum, queue) => sum + queue.groupCount, 0);
  return { counts, groupCount, groups: groups.map((group) => ({ ...group, key: keyOf(group.place, group.namespace, group.workload, group.first) })) };
}

function keyOf(place, namespace, workload, { rejectedBy, gatedBy }) {
  return [place, namespace, workload, ...(rejectedBy ?? []), gatedBy ?? ""].join(" ");
}

/**
 * Returns groups of pods that were listed one by one.
 *
 * @param {{pod: string, place: string, workload: string, created: string}[]} pods and what the queue
 *   shows of each
 * @param {number} podCount how many pods of each group are named
 * @returns {Group[]}
 */
export function groupsOf(pods, podCount) {
  const groups = new Map();
  for (const each of pods) {
    const namespace = each.pod.split("/")[0];
    const key = keyOf(each.place, namespace, each.workload, each);
    let group = groups.get(key);
    if (!group) groups.set(key, (group = { key, place: each.place, workload: each.workload, namespace, count: 0, created: each.created, pods: [], first: each }));
    group.count += 1;
    if (group.pods.length < podCount) group.pods.push(each.pod);
    if (each.created && each.created < group.created) group.created = each.created;
  }
  return [...groups.values()];
}

/** Returns the name of a group: that of its workload, or of its only pod. */
export function titleOf({ workload, namespace, count, pods }) {
  if (count === 1) return pods[0];
  return workload ? `${namespace}/${workload}` : `${namespace}: pods without a controller`;
}

/** Returns why a pod of the queue waits, in a line. */
export function reasonOf(each, place) {
  if (each.message) return each.message;
  if (place === "gated") return [`Gated by ${each.gatedBy}`, ...each.reasons].join(": ");
  if (each.rejectedBy?.length) return `Rejected by ${each.rejectedBy.join(", ")}`;
  if (place === "active") return "Waits for its turn";
  return place === "inFlight" ? "Is being scheduled" : "";
}

async function withoutQueue(source, podCount) {
  const query = `fieldSelector=${encodeURIComponent("spec.nodeName=,status.phase=Pending")}&limit=${LISTED_MAX}`;
  const list = await source.get(`/api/v1/pods?${query}`);
  const pods = list.items.map(({ metadata, status }) => {
    const scheduled = (status.conditions ?? []).find(({ type }) => type === "PodScheduled");
    const owner = (metadata.ownerReferences ?? []).find(({ controller }) => controller);
    return {
      pod: `${metadata.namespace}/${metadata.name}`,
      place: scheduled?.reason === "SchedulingGated" ? "gated" : "",
      workload: owner ? `${owner.kind}/${owner.name}` : "",
      created: metadata.creationTimestamp,
      message: scheduled?.message ?? "No scheduler has tried it yet",
      attempts: 0,
    };
  });
  const groups = groupsOf(pods, podCount);
  return { counts: { "": pods.length + (list.metadata.remainingItemCount ?? 0) }, groupCount: groups.length, groups };
}
