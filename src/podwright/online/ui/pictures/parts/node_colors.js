// What the color of a node means: a share, the score for a pod, a category.

import { amountText, percentText } from "./format.js";
import { resourcesOf, shareOf } from "../data/live_state.js";
import { ZONE } from "./node_filter.js";
import { CATEGORIES, stepOf, steps } from "./palette.js";

/** @typedef {{color: string | null, text: string, step: number}} NodeColor null: nothing to color */

/** What the address has before a plugin whose scores are colors, and before a label key. */
const SCORE_OF = "score:";
const LABEL = "label:";

/** The class of nodes that no plugin rejects. */
export const FITS = "passes every filter";

/** Whether a coloring needs the results of the selected pod. */
export function isOfPod(key) {
  return key === "reason" || key === "score" || key.startsWith(SCORE_OF);
}

/**
 * Returns the choices of what to color by.
 *
 * @param {import("../data/live_state.js").ClusterState} state
 * @param {boolean} hasPod whether a pod is selected
 * @param {string[]} labelKeys those by which grouping makes sense
 * @param {any} results those of the selected pod, once they are loaded
 */
export function colorings(state, hasPod, labelKeys, results) {
  const plugins = hasPod ? [...(results?.plugins.keys() ?? [])] : [];
  return [
    ...resourcesOf(state).map((resource) => ({ key: resource, title: resource === "pods" ? "pod count" : `${resource} requested` })),
    ...(hasPod ? [{ key: "reason", title: "what rejects the pod" }, { key: "score", title: "score for the pod" }] : []),
    ...plugins.map((plugin) => ({ key: SCORE_OF + plugin, title: `score of ${plugin}` })),
    { key: "zone", title: "zone" },
    { key: "taints", title: "taints" },
    ...labelKeys.filter((key) => key !== ZONE).map((key) => ({ key: LABEL + key, title: `label ${key}` })),
  ];
}

/**
 * Returns the function that colors a slot, and the legend.
 *
 * @param {string} key one of `colorings`
 * @param {import("../data/live_state.js").ClusterState} state
 * @param {Map<string, Object<string, string>>} labels
 * @param {ReturnType<import("./scores.js").resultsByNode> | null} results those for the selected pod
 * @param {boolean} isDark
 * @returns {{of: (slot: number) => NodeColor, legend: {color: string, text: string, filter?: string}[], isRange?: boolean}}
 *   the filter of an entry is a label expression that leaves its nodes; the entries of a range are no classes
 */
export function coloring(key, state, labels, results, isDark) {
  if (key === "zone") return byLabel(ZONE, state, labels, "no zone");
  if (key.startsWith(LABEL)) return byLabel(key.slice(LABEL.length), state, labels, "none");
  if (key === "taints") return byTaints(state, isDark);
  if (key === "reason" && !results) return { legend: [], of: () => ({ color: null, text: "–", step: -1 }) };
  if (key === "reason") return byCategory((slot) => results.reasons.get(state.names[slot]) ?? "", state, FITS);
  if (key === "score") return byScore(state, results?.totals, isDark);
  if (key.startsWith(SCORE_OF)) return byScore(state, results?.plugins.get(key.slice(SCORE_OF.length)), isDark);
  return byShare(key, state, isDark);
}

/**
 * Whether a node is in a class of the legend, or has one of its reasons.
 *
 * @param {ReturnType<typeof coloring>} colors
 * @param {number} slot
 * @param {string} only
 */
export function isInClass(colors, slot, only) {
  const { text, step } = colors.of(slot);
  if (only === (colors.legend[step]?.text ?? text)) return true;
  const [plugin, reason] = only.split(/: (.*)/);
  return reason !== undefined && text.startsWith(`${plugin}: `) && text.slice(plugin.length + 2).split(", ").includes(reason);
}

function byShare(resource, state, isDark) {
  const colors = steps(isDark);
  const legend = colors.map((color, index) => ({ color, text: index === 9 ? "90%+" : `${index * 10}%` }));
  const allocatable = state.column(`allocatable/${resource}`);
  const requested = state.column(`requested/${resource}`);
  return {
    legend,
    of(slot) {
      if (!allocatable[slot] && !requested[slot]) return { color: null, text: "–", step: -1 };
      const share = shareOf(state, resource, slot);
      const step = stepOf(share);
      return { color: colors[step], text: percentText(share), step };
    },
    detail: (slot) => `${amountText(resource, requested[slot] ?? 0)} of ${amountText(resource, allocatable[slot] ?? 0)}`,
  };
}

function byTaints(state, isDark) {
  const all = steps(isDark);
  const colors = [0, 4, 7, 9].map((step) => all[step]);
  const taints = state.column("taints");
  return {
    legend: colors.map((color, index) => ({ color, text: index === 3 ? "3+" : String(index) })),
    of(slot) {
      const count = taints[slot] ?? 0;
      const step = Math.min(3, count);
      return { color: colors[step], text: String(count), step };
    },
  };
}

function byLabel(key, state, labels, absent) {
  const found = byCategory((slot) => labels.get(state.names[slot])?.[key] ?? "", state, absent);
  for (const entry of found.legend) entry.filter = entry.text === absent ? `!${key}` : `${key}=${entry.text}`;
  return found;
}

function byScore(state, scores, isDark) {
  const colors = steps(isDark);
  const known = [...(scores?.values() ?? [])].filter((total) => total !== null && total !== undefined);
  const low = Math.min(...minMax(known));
  const high = Math.max(...minMax(known));
  const legend = known.length
    ? [
        { color: colors[0], text: `lowest ${low}` },
        { color: colors[9], text: `highest ${high}` },
      ]
    : [];
  return {
    legend,
    isRange: true,
    of(slot) {
      const total = scores?.get(state.names[slot]);
      if (total === null || total === undefined) return { color: null, text: scores ? "rejected" : "–", step: -1 };
      const step = high === low ? 9 : stepOf((total - low) / (high - low));
      return { color: colors[step], text: String(total), step };
    },
  };
}

/** Returns the least and the greatest; the arguments of Math.min are limited in number. */
function minMax(values) {
  let [low, high] = [values[0] ?? 0, values[0] ?? 0];
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}

function byCategory(valueOf, state, absent) {
  const values = [...new Set(state.slots().map(valueOf))].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  const index = new Map(values.map((value, at) => [value, at]));
  const colorOf = (value) => CATEGORIES[index.get(value) % CATEGORIES.length];
  return {
    legend: values.slice(0, 12).map((value) => ({ color: colorOf(value), text: value || absent })),
    of(slot) {
      const value = valueOf(slot);
      return { color: colorOf(value), text: value || absent, step: index.get(value) };
    },
  };
}
