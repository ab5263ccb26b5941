// Pods as the server's table shows them, with kubectl's columns.

import { findNamed } from "./source.js";

const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io";

/**
 * @typedef {Object} PodRow
 * @property {string} pod its namespace/name
 * @property {string} status as kubectl prints it
 * @property {string} node empty without one
 * @property {string} ready
 * @property {string} age
 * @property {any} metadata
 */

/**
 * Returns the pods of a path.
 *
 * @param {import("./source.js").Source} source
 * @param {string} path such as /api/v1/pods
 * @returns {Promise<PodRow[]>}
 */
export async function listPods(source, path) {
  return podRows(await source.get(path, { Accept: TABLE }));
}

/** Returns the pods of a Table of the server. */
export function podRows(table) {
  const index = Object.fromEntries(table.columnDefinitions.map(({ name }, at) => [name, at]));
  return (table.rows ?? []).map(({ cells, object }) => ({
    pod: `${object.metadata.namespace}/${object.metadata.name}`,
    status: cells[index.Status],
    node: cells[index.Node] === "<none>" ? "" : cells[index.Node],
    ready: cells[index.Ready],
    age: cells[index.Age],
    metadata: object.metadata,
  }));
}

/** Returns the path of a pod in the Kubernetes API. */
export function podPath(pod, suffix = "") {
  const [namespace, name] = pod.split("/");
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}${suffix}`;
}

/** Returns the path of a pod in podwright's API. */
export function ownPodPath(pod, suffix) {
  const [namespace, name] = pod.split("/");
  return `/podwright/v1/pods/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}${suffix}`;
}

/** Returns the pod of a namespace/name; null if it does not exist. */
export function findPod(source, pod) {
  const [namespace, name] = pod.split("/");
  return findNamed(source, `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`, name);
}

/** Returns the pods on a node. */
export function podsOn(source, node) {
  return listPods(source, `/api/v1/pods?fieldSelector=${encodeURIComponent(`spec.nodeName=${node}`)}`);
}

const GROUP_LABEL = "scheduling.x-k8s.io/pod-group";

/**
 * Returns the group of a pod with all its members; null if it belongs to none.
 *
 * @param {import("./source.js").Source} source
 * @param {any} object the pod
 * @returns {Promise<{name: string, members: PodRow[]} | null>}
 */
export async function groupOf(source, { metadata, spec }) {
  const pods = `/api/v1/namespaces/${encodeURIComponent(metadata.namespace)}/pods`;
  const label = metadata.labels?.[GROUP_LABEL];
  if (label) {
    const selector = encodeURIComponent(`${GROUP_LABEL}=${label}`);
    return { name: label, members: await listPods(source, `${pods}?labelSelector=${selector}`) };
  }
  const field = spec.schedulingGroup?.podGroupName;
  if (!field) return null;
  // No selector finds the members by this field.
  const { items } = await source.get(pods);
  const isMember = new Set(items.filter((pod) => pod.spec.schedulingGroup?.podGroupName === field).map((pod) => `${metadata.namespace}/${pod.metadata.name}`));
  return { name: field, members: (await listPods(source, pods)).filter(({ pod }) => isMember.has(pod)) };
}
