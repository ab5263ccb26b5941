// The results of all plugins for a pod, loaded once for the matrix and the heat map.

import { ownPodPath } from "../data/pods.js";

const keptOf = new WeakMap();
const KEPT_MAX = 8;

/**
 * Returns the matrix of a pod (docs/howto/explain-over-http.md), and remembers the last ones.
 *
 * @param {import("../data/source.js").Source} source
 * @param {string} pod
 * @param {string} query as for the explanation, with `?`
 * @param {string} version another one loads the matrix again
 */
export function matrixOf(source, pod, query, version) {
  const path = ownPodPath(pod, `/explanation${query || "?"}${query ? "&" : ""}view=matrix`);
  const key = `${path} ${version}`;
  const kept = keptOf.get(source) ?? keptOf.set(source, new Map()).get(source);
  if (!kept.has(key)) {
    const loading = source.get(path);
    kept.set(key, loading);
    loading.catch(() => kept.delete(key));
    if (kept.size > KEPT_MAX) kept.delete(kept.keys().next().value);
  }
  return kept.get(key);
}

/** Returns the totals of a matrix by node; null for nodes that were not scored. */
export function totalsOf(matrix) {
  return new Map(matrix.nodes.map((node, index) => [node, matrix.totals[index]]));
}
