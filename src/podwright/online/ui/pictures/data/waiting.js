// The pods that wait for a node, with the reason of each.

/** The most pods of each part of the queue that are listed. */
export const LISTED_MAX = 200;

/** What views say that need a scheduler of podwright. */
export const NO_SCHEDULER = "This server runs without podwright's scheduler (--no-scheduler), so it has no queue, explanations or past.";

/**
 * @typedef {Object} Waiting
 * @property {string} pod namespace/name
 * @property {string} place its part of the queue; empty if it is in none
 * @property {string} message why it waits; may be empty
 * @property {number} attempts
 */

/**
 * Returns the queues of all schedulers as one; null without a scheduler of podwright.
 *
 * @param {import("./model.js").Model} data
 * @returns {Promise<{counts: Object<string, number>, pods: Object<string, any[]>} | null>}
 */
export async function queueOf(data) {
  const names = await data.schedulers();
  if (names?.length === 0) return null;
  const query = `limit=${LISTED_MAX}`;
  const paths = names ? names.map((name) => `${query}&schedulerName=${encodeURIComponent(name)}`) : [query];
  const queues = await Promise.all(paths.map((path) => data.source.get(`/podwright/v1/queue?${path}`)));
  const whole = { counts: {}, pods: {} };
  for (const { counts, pods } of queues) {
    for (const [place, count] of Object.entries(counts)) whole.counts[place] = (whole.counts[place] ?? 0) + count;
    for (const [place, listed] of Object.entries(pods)) whole.pods[place] = [...(whole.pods[place] ?? []), ...listed];
  }
  return whole;
}

/**
 * Returns the pods without a node, those that were attempted first.
 *
 * @param {import("./model.js").Model} data
 * @returns {Promise<{pods: Waiting[], total: number}>}
 */
export async function waitingPods(data) {
  let queue;
  try {
    queue = await queueOf(data);
  } catch (error) {
    // Without the right to see the queue.
    if (error.status !== 403 && error.status !== 404 && error.status !== 409) throw error;
    queue = null;
  }
  if (!queue) return withoutQueue(data.source);
  const pods = [];
  for (const place of ["unschedulable", "backoff", "errorBackoff", "gated", "active", "inFlight"]) {
    for (const each of queue.pods[place] ?? []) pods.push({ ...each, place, message: reasonOf(each, place) });
  }
  const total = Object.values(queue.counts).reduce((sum, count) => sum + count, 0);
  return { pods, total };
}

/** Returns why a pod of the queue waits, in a line. */
export function reasonOf(each, place) {
  if (each.message) return each.message;
  if (place === "gated") return [`Gated by ${each.gatedBy}`, ...each.reasons].join(": ");
  if (each.rejectedBy?.length) return `Rejected by ${each.rejectedBy.join(", ")}`;
  if (place === "active") return "Waits for its turn";
  return place === "inFlight" ? "Is being scheduled" : "";
}

async function withoutQueue(source) {
  const query = `fieldSelector=${encodeURIComponent("spec.nodeName=,status.phase=Pending")}&limit=${LISTED_MAX}`;
  const list = await source.get(`/api/v1/pods?${query}`);
  const pods = list.items.map(({ metadata, status }) => {
    const scheduled = (status.conditions ?? []).find(({ type }) => type === "PodScheduled");
    return {
      pod: `${metadata.namespace}/${metadata.name}`,
      place: scheduled?.reason === "SchedulingGated" ? "gated" : "",
      message: scheduled?.message ?? "No scheduler has tried it yet",
      attempts: 0,
    };
  });
  return { pods, total: pods.length + (list.metadata.remainingItemCount ?? 0) };
}

