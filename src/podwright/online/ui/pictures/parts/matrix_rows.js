// The rows of the matrix of an explanation: their order, values and differences to the winner.

/** What a cell can show. */
export const VALUES = ["weighted", "normalized", "raw"];

const ORDER = { passed: 0, rejected: 1, excluded: 2, notEvaluated: 3 };

/**
 * Returns the index of the node to which the others are compared: the chosen one, else the first with
 * the highest total; -1 if no node was scored.
 */
export function winnerOf(matrix) {
  const chosen = matrix.nodes.indexOf(matrix.node);
  if (chosen >= 0) return chosen;
  let best = -1;
  matrix.totals.forEach((total, index) => {
    if (total !== null && (best < 0 || total > matrix.totals[best])) best = index;
  });
  return best;
}

/**
 * Returns what the filters together found for a node.
 *
 * @returns {{kind: "passed" | "rejected" | "excluded" | "notEvaluated", plugin: string, reasons: string[]}}
 */
export function filterResult(matrix, index) {
  const plugin = matrix.rejectedBy[index];
  if (plugin !== null) {
    const column = matrix.filters.find((filter) => filter.plugin === plugin && filter.applies);
    const result = matrix.results[column?.results[index]];
    return { kind: "rejected", plugin, reasons: result?.reasons ?? [] };
  }
  for (const { applies, results } of matrix.filters) {
    const kind = applies ? matrix.results[results[index]]?.kind : undefined;
    if (kind === "excluded" || kind === "notEvaluated") return { kind, plugin: "", reasons: [] };
  }
  if (matrix.preFilter) return { kind: "rejected", plugin: "PreFilter", reasons: matrix.preFilter.reasons };
  return { kind: "passed", plugin: "", reasons: [] };
}

/**
 * Returns the indexes of the nodes in the order of the rows: the winner, then by total, then the
 * rejected ones by plugin, then those that were not evaluated.
 */
export function rowOrder(matrix) {
  const winner = winnerOf(matrix);
  const found = matrix.nodes.map((_, index) => filterResult(matrix, index));
  return matrix.nodes
    .map((_, index) => index)
    .sort(
      (a, b) =>
        Number(b === winner) - Number(a === winner) ||
        ORDER[found[a].kind] - ORDER[found[b].kind] ||
        (matrix.totals[b] ?? -Infinity) - (matrix.totals[a] ?? -Infinity) ||
        (found[a].plugin < found[b].plugin ? -1 : found[a].plugin > found[b].plugin ? 1 : 0) ||
        (matrix.nodes[a] < matrix.nodes[b] ? -1 : 1),
    );
}

/** Returns the values of a score column; those of an extender have no normalized and raw ones. */
export function valuesOf(column, value) {
  return column[value] ?? column.weighted;
}

/**
 * Returns the greatest difference to the winner in any cell, by which bars are scaled.
 *
 * @param {string} value one of `VALUES`
 */
export function largestDifference(matrix, value) {
  const winner = winnerOf(matrix);
  let largest = 0;
  for (const column of matrix.scores) {
    const values = valuesOf(column, value);
    const best = values[winner] ?? 0;
    for (const one of values) if (one !== null) largest = Math.max(largest, Math.abs(one - best));
  }
  return largest;
}

/** Returns why nodes were not evaluated. */
export function notExaminedText(reason) {
  return reason === "nominatedNodeFits" ? "the nominated node, which is evaluated first, passes every filter" : "enough feasible nodes had been found before";
}

/**
 * Returns why a node was not chosen, in a sentence.
 *
 * @param {number} index
 */
export function whyNot(matrix, index) {
  const node = matrix.nodes[index];
  const found = filterResult(matrix, index);
  if (found.kind === "rejected") return `${node} was rejected by ${found.plugin}: ${found.reasons.join(", ") || "no reason given"}.`;
  if (found.kind === "excluded") return `${node} was excluded: a plugin left only other nodes before the filters ran.`;
  if (found.kind === "notEvaluated") return `${node} was not evaluated: ${notExaminedText(matrix.notExaminedReason)}.`;
  const winner = winnerOf(matrix);
  if (matrix.node === node) return `${node} was chosen.`;
  if (!matrix.scores.length || matrix.totals[index] === null) return `${node} passed all filters; there was no score to compare.`;
  const difference = matrix.totals[index] - matrix.totals[winner];
  if (difference === 0) return `${node} has the same score as ${matrix.nodes[winner]}; ${matrix.node ? "the draw decided" : "they are tied"}.`;
  const parts = matrix.scores
    .map((column) => [column.plugin, (column.weighted[index] ?? 0) - (column.weighted[winner] ?? 0)])
    .filter(([, amount]) => amount !== 0)
    .sort(([, a], [, b]) => (difference < 0 ? a - b : b - a))
    .map(([plugin, amount]) => `${plugin} ${signed(-amount)}`);
  const ahead = Math.abs(difference);
  const points = `${ahead} point${ahead === 1 ? "" : "s"}`;
  const sentence = difference < 0 ? `${matrix.nodes[winner]} is ${points} ahead of ${node}` : `${matrix.nodes[winner]} is ${points} behind ${node}`;
  return `${sentence}: ${parts.join(", ")}.`;
}

/** Returns a number with its sign. */
export function signed(value) {
  return value > 0 ? `+${value}` : value < 0 ? `-${-value}` : "0";
}

/**
 * Returns which rows of a virtual list are in view.
 *
 * @returns {{first: number, end: number}}
 */
export function rowsInView(scrollTop, height, rowPx, count, spare = 6) {
  const first = Math.max(0, Math.floor(scrollTop / rowPx) - spare);
  return { first, end: Math.min(count, Math.ceil((scrollTop + height) / rowPx) + spare) };
}
