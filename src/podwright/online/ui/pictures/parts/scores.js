// The results of all plugins for a pod, loaded once for the matrix and the heat map.

import { ownPodPath } from "../data/pods.js";
import { filterResult } from "./matrix_rows.js";

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

/**
 * Returns what a matrix says of each node, by its name: the total (null for nodes that were not
 * scored), the reason that rejects it ("" for none), and the weighted score of each plugin.
 *
 * @returns {{totals: Map<string, number | null>, reasons: Map<string, string>,
 *   plugins: Map<string, Map<string, number | null>>}}
 */
export function resultsByNode(matrix) {
  const { nodes } = matrix;
  const named = (values) => new Map(nodes.map((node, index) => [node, values[index]]));
  const reasons = nodes.map((_, index) => {
    const { kind, plugin, reasons: of } = filterResult(matrix, index);
    if (kind === "passed") return "";
    return kind === "rejected" ? `${plugin}: ${of.join(", ")}` : "not evaluated";
  });
  return { totals: named(matrix.totals), reasons: named(reasons), plugins: new Map(matrix.scores.map(({ plugin, weighted }) => [plugin, named(weighted)])) };
}
