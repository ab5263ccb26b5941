// The state of nodes and queue as a server streams it (docs/reference/state.md).

/**
 * What the views of the cluster read; the past (past_state.js) has the same.
 *
 * @typedef {Object} ClusterState
 * @property {string[]} names the node of each slot
 * @property {string[]} fields
 * @property {string} time RFC 3339
 * @property {Object<string, number>} pods the number of pods by place, and `placed`
 * @property {(field: string) => ArrayLike<number>} column values by slot; shorter if all others are 0
 * @property {() => number[]} slots those of present nodes, by name
 */

const NONE = new Float64Array(0);

/** @implements {ClusterState} */
export class LiveState {
  constructor() {
    this.clear();
  }

  clear() {
    this.names = [];
    this.fields = [];
    this.columns = [];
    this.time = "";
    this.pods = {};
    this.isKnown = false;
    this.nodesVersion = 0; // counts changes of which nodes are present
    this.sorted = null;
  }

  /**
   * Takes an event of the stream.
   *
   * @param {"snapshot" | "changes"} type
   * @param {any} data
   */
  apply(type, data) {
    if (type === "snapshot") {
      this.names = data.nodes;
      this.fields = data.fields;
      this.columns = data.columns.map((column) => Float64Array.from(column));
      this.isKnown = true;
      this.#nodesChanged();
    } else {
      this.#add(data);
    }
    this.time = data.time;
    this.pods = data.pods;
  }

  #add({ nodes, fields, slotIndex, fieldIndex, values }) {
    if (nodes.length) this.names = this.names.concat(nodes);
    for (const field of fields) {
      this.fields = [...this.fields, field];
      this.columns.push(new Float64Array(this.names.length));
    }
    const present = this.fields.indexOf("present");
    for (let at = 0; at < values.length; at++) {
      const slot = slotIndex[at];
      let column = this.columns[fieldIndex[at]];
      if (slot >= column.length) {
        column = grown(column, this.names.length);
        this.columns[fieldIndex[at]] = column;
      }
      column[slot] = values[at];
      if (fieldIndex[at] === present) this.#nodesChanged();
    }
  }

  #nodesChanged() {
    this.nodesVersion += 1;
    this.sorted = null;
  }

  column(field) {
    return this.columns[this.fields.indexOf(field)] ?? NONE;
  }

  slots() {
    this.sorted ??= presentSlots(this.names, this.column("present"));
    return this.sorted;
  }
}

/** Returns the slots of present nodes, sorted by name as kubectl does. */
export function presentSlots(names, present) {
  const found = [];
  for (let slot = 0; slot < present.length; slot++) if (present[slot]) found.push(slot);
  return found.sort((a, b) => (names[a] < names[b] ? -1 : names[a] > names[b] ? 1 : 0));
}

/** Returns the names of the resources that a state has, cpu and memory first. */
export function resourcesOf(state) {
  const names = state.fields
    .filter((field) => field.startsWith("allocatable/"))
    .map((field) => field.slice("allocatable/".length));
  const first = ["cpu", "memory", "pods"].filter((name) => names.includes(name));
  const used = names.filter((name) => !first.includes(name) && state.column(`allocatable/${name}`).some(Boolean));
  return [...first, ...used.sort()];
}

/** Returns the requested share of a resource on a node; 0 where there is none. */
export function shareOf(state, resource, slot) {
  const allocatable = state.column(`allocatable/${resource}`)[slot] ?? 0;
  const requested = state.column(`requested/${resource}`)[slot] ?? 0;
  if (allocatable > 0) return requested / allocatable;
  return requested > 0 ? 1 : 0;
}

function grown(column, length) {
  const longer = new Float64Array(Math.max(length, column.length * 2));
  longer.set(column);
  return longer;
}
