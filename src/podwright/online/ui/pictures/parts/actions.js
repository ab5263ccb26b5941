// Requests that change the cluster. Each rejects with the server's message.

import { podPath } from "../data/pods.js";
import { RequestError, findNamed } from "../data/source.js";

const MERGE = "application/merge-patch+json";
const GONE_TRIES = 50;
const GONE_WAIT_MS = 100;

/**
 * Sends the requests of a remedy, one after another.
 *
 * @param {import("../data/source.js").Source} source
 * @param {{action: string, apiVersion: string, kind: string, namespace: string, name: string, body: any}[]} changes
 */
export async function applyChanges(source, changes) {
  for (const change of changes) {
    const { action, body } = change;
    const collection = await collectionPath(source, change);
    const path = `${collection}/${encodeURIComponent(change.name)}`;
    if (action === "patch") await source.send("PATCH", path, body, MERGE);
    if (action === "create") await source.send("POST", collection, body);
    if (action === "delete") await source.send("DELETE", path);
    if (action === "replace") {
      await source.send("DELETE", path, { gracePeriodSeconds: 0, propagationPolicy: "Background" });
      await untilGone(source, collection, change.name);
      await source.send("POST", collection, body);
    }
  }
}

/** Returns a line per request, as text that a person can check before it is sent. */
export function changeText({ action, kind, namespace, name, body }) {
  const object = `${kind} ${namespace ? `${namespace}/` : ""}${name}`;
  if (action === "patch") return `patch ${object}: ${JSON.stringify(body)}`;
  return action === "replace" ? `delete ${object} and create it with the change` : `${action} ${object}`;
}

/** Returns the text of the button that sends the requests: it names each pod that is deleted or replaced. */
export function applyText(changes) {
  const parts = changes.flatMap(({ action, kind, body }) => {
    const template = body?.spec?.template ?? body?.spec?.jobTemplate;
    if (action === "replace") return [`delete and recreate ${kind}`];
    if (action === "delete" && kind === "Pod") return ["delete Pod"];
    if (action === "patch" && template) return [kind === "CronJob" ? "change CronJob" : `change ${kind} and replace its pods`];
    return [];
  });
  return parts.length ? `Apply: ${[...new Set(parts)].join(", ")}` : "Apply";
}

async function untilGone(source, collection, name) {
  for (let tries = 0; tries < GONE_TRIES; tries++) {
    if (!(await findNamed(source, collection, name))) return;
    await new Promise((done) => setTimeout(done, GONE_WAIT_MS));
  }
  throw new RequestError("The object was deleted, but finalizers keep it; it was not created again.", 0);
}

const discovered = new Map();

async function collectionPath(source, { apiVersion, kind, namespace }) {
  const root = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  if (!discovered.has(root)) discovered.set(root, await source.get(root));
  const found = discovered.get(root).resources.find((one) => one.kind === kind && !one.name.includes("/"));
  if (!found) throw new RequestError(`The server has no kind ${kind} in ${apiVersion}.`, 404);
  return found.namespaced ? `${root}/namespaces/${encodeURIComponent(namespace)}/${found.name}` : `${root}/${found.name}`;
}

/** Deletes a pod. */
export function deletePod(source, pod) {
  return source.send("DELETE", podPath(pod));
}

/** Moves a pod to the active queue. */
export function movePod(source, pod) {
  const [namespace, name] = pod.split("/").map(encodeURIComponent);
  return source.send("POST", `/podwright/v1/queue/${namespace}/${name}/move`);
}

/** Deletes a node. */
export function deleteNode(source, node) {
  return source.send("DELETE", nodePath(node));
}

/** Lets the simulated kubelet of a node stop reporting, or report again. */
export function failNode(source, node, isFailing) {
  return source.send("POST", `/podwright/v1/nodes/${encodeURIComponent(node)}/${isFailing ? "fail" : "restore"}`);
}

/**
 * Returns the nodes whose kubelet does not report.
 *
 * @param {import("../data/source.js").Source} source
 * @returns {Promise<string[] | null>} null if no node can fail, because no kubelets are simulated
 */
export async function silentNodes(source) {
  try {
    const { hasKubelets, nodes } = await source.get("/podwright/v1/nodes/silent");
    return hasKubelets ? nodes : null;
  } catch {
    return null;
  }
}

/** Marks a node as unschedulable, or as schedulable again. */
export function cordon(source, node, isUnschedulable) {
  return source.send("PATCH", nodePath(node), { spec: { unschedulable: isUnschedulable || null } }, MERGE);
}

/**
 * Cordons a node and evicts its pods, as kubectl drain --ignore-daemonsets does.
 *
 * @returns {Promise<string[]>} a message for each pod that was not evicted
 */
export async function drain(source, node, pods) {
  await cordon(source, node, true);
  const refused = [];
  for (const { pod } of pods.filter(isDrained)) {
    const [namespace, name] = pod.split("/");
    const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { namespace, name } };
    try {
      await source.send("POST", podPath(pod, "/eviction"), eviction);
    } catch (error) {
      refused.push(`${pod}: ${error.message}`);
    }
  }
  return refused;
}

/** Whether a drain evicts a pod. */
export function isDrained({ metadata }) {
  const isOfDaemonSet = (metadata.ownerReferences ?? []).some((owner) => owner.controller && owner.kind === "DaemonSet");
  return !isOfDaemonSet && !metadata.annotations?.["kubernetes.io/config.mirror"];
}

/** Returns the path of a node in the Kubernetes API. */
export function nodePath(node) {
  return `/api/v1/nodes/${encodeURIComponent(node)}`;
}
