// Which nodes are shown, and in which groups.

import { matches, parseSelector } from "../data/selector.js";

/** The label of zones. */
export const ZONE = "topology.kubernetes.io/zone";

const NO_LABELS = {};

/**
 * Returns the groups of the nodes that a search and a label expression leave.
 *
 * @param {import("../data/live_state.js").ClusterState} state
 * @param {Map<string, Object<string, string>>} labels by node
 * @param {{search?: string, filter?: string, group?: string}} options
 * @returns {{groups: {title: string, slots: number[]}[], count: number, error: string}} with an error
 *   in the expression, all nodes
 */
export function shownNodes(state, labels, { search = "", filter = "", group = "" }) {
  let requirements = [];
  let error = "";
  try {
    requirements = parseSelector(filter);
  } catch (problem) {
    error = problem.message;
  }
  const text = search.trim().toLowerCase();
  const slots = state.slots().filter((slot) => {
    const name = state.names[slot];
    return (!text || name.toLowerCase().includes(text)) && matches(requirements, labels.get(name) ?? NO_LABELS);
  });
  if (!group) return { groups: [{ title: "", slots }], count: slots.length, error };
  const byValue = new Map();
  for (const slot of slots) {
    const value = labels.get(state.names[slot])?.[group];
    const title = value === undefined ? `without ${group}` : value || '""';
    if (!byValue.has(title)) byValue.set(title, []);
    byValue.get(title).push(slot);
  }
  const groups = [...byValue].map(([title, members]) => ({ title, slots: members }));
  groups.sort((a, b) => a.title.localeCompare(b.title, "en", { numeric: true }));
  return { groups, count: slots.length, error };
}

const keysOf = new WeakMap();

/**
 * Returns the label keys by which grouping makes sense: those with fewer values than nodes.
 *
 * @param {Map<string, Object<string, string>>} labels not changed later
 * @returns {string[]}
 */
export function groupingKeys(labels) {
  if (!keysOf.has(labels)) keysOf.set(labels, foundKeys(labels));
  return keysOf.get(labels);
}

function foundKeys(labels) {
  const values = new Map();
  for (const own of labels.values()) {
    for (const [key, value] of Object.entries(own)) {
      if (!values.has(key)) values.set(key, new Set());
      values.get(key).add(value);
    }
  }
  const few = [...values].filter(([key, found]) => key === ZONE || found.size < Math.max(2, labels.size));
  return few.map(([key]) => key).sort((a, b) => Number(b === ZONE) - Number(a === ZONE) || (a < b ? -1 : 1));
}
