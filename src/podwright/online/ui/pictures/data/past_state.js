// The state of nodes, pods and queue at a moment of the past, played from the timeline.

import { timeText } from "../parts/format.js";
import { presentSlots } from "./live_state.js";
import { groupsOf } from "./waiting.js";
import { Player } from "./timeline_reader.js";

const PLACES = ["", "active", "backoff", "error_backoff", "unschedulable", "gated", "in_flight"];
const SHOWN_PLACES = ["unschedulable", "backoff", "error_backoff", "gated", "active", "in_flight"];
const NAMES = { error_backoff: "errorBackoff", in_flight: "inFlight" }; // elsewhere
const PHASES = ["", "Pending", "Running", "Succeeded", "Failed", "Unknown"];
const NONE = new Float64Array(0);

/** @implements {import("./live_state.js").ClusterState} */
export class PastState {
  /** @param {ReturnType<import("./timeline_reader.js").readTimeline>} timeline */
  constructor(timeline) {
    this.timeline = timeline;
    this.player = new Player(timeline);
    this.fields = timeline.fields;
    this.nodeSubjects = [];
    this.podSubjects = [];
    timeline.subjects.forEach(([kind], index) => {
      if (kind === "node") this.nodeSubjects.push(index);
      if (kind === "pod") this.podSubjects.push(index);
    });
    this.names = this.nodeSubjects.map((subject) => timeline.subjects[subject][1]);
    this.slotOf = new Map(this.nodeSubjects.map((subject, slot) => [subject, slot]));
    this.isKnown = true;
    this.nodesVersion = 0;
    this.field = Object.fromEntries(timeline.fields.map((name, index) => [name, index]));
    this.seek(timeline.firstNs);
  }

  /** The first and the last time of the timeline, in nanoseconds since 1970. */
  get beginNs() {
    return this.timeline.firstNs;
  }

  get endNs() {
    const { timesNs } = this.timeline;
    return timesNs.length ? timesNs[timesNs.length - 1] : this.timeline.firstNs;
  }

  /** Moves to a time, in nanoseconds since 1970. */
  seek(timeNs) {
    this.timeNs = timeNs;
    this.time = timeText(timeNs);
    this.player.seek(timeNs);
    this.made = new Map();
    this.counted = null;
    this.placed = null;
    const present = this.column("present");
    if (this.sorted && isSame(present, this.present)) return;
    this.present = present;
    this.sorted = null;
    this.nodesVersion += 1;
  }

  column(name) {
    const field = this.field[name];
    if (field === undefined) return NONE;
    let column = this.made.get(name);
    if (!column) {
      const { nodeSubjects } = this;
      const { values } = this.player;
      const width = this.fields.length;
      column = new Float64Array(nodeSubjects.length);
      for (let slot = 0; slot < column.length; slot++) column[slot] = values[nodeSubjects[slot] * width + field];
      this.made.set(name, column);
    }
    return column;
  }

  slots() {
    this.sorted ??= presentSlots(this.names, this.column("present"));
    return this.sorted;
  }

  #value(subject, name) {
    const field = this.field[name];
    return field === undefined ? 0 : this.player.value(subject, field);
  }

  get pods() {
    if (!this.counted) {
      const { error_backoff, ...counts } = this.waiting(0).counts;
      let placed = 0;
      for (const subject of this.podSubjects) {
        if (this.#value(subject, "node") && !this.#value(subject, "queue") && this.#isActive(subject)) placed += 1;
      }
      this.counted = { ...counts, backoff: counts.backoff + error_backoff, placed };
    }
    return this.counted;
  }

  #isActive(subject) {
    const phase = this.#value(subject, "phase");
    return phase === 1 || phase === 2 || phase === 5;
  }

  /**
   * Returns the pods in the queue, those that were rejected first.
   *
   * @param {number} most how many of each place are returned
   * @returns {{pods: {pod: string, place: string, attempts: number, rejectedBy: string[]}[],
   *   counts: Object<string, number>}} the number of all pods by place
   */
  waiting(most) {
    const { podSubjects } = this;
    const { values } = this.player;
    const width = this.fields.length;
    const { queue } = this.field;
    const found = PLACES.map(() => []);
    const counts = new Array(PLACES.length).fill(0);
    for (let index = 0; queue !== undefined && index < podSubjects.length; index++) {
      const place = values[podSubjects[index] * width + queue];
      if (place && ++counts[place] <= most) found[place].push(podSubjects[index]);
    }
    return {
      pods: SHOWN_PLACES.flatMap((place) => found[PLACES.indexOf(place)].map((subject) => this.#waitingPod(subject, place))),
      counts: Object.fromEntries(SHOWN_PLACES.map((place) => [place, counts[PLACES.indexOf(place)]])),
    };
  }

  /**
   * Returns the pods in the queue in groups, as `waitingGroups` does.
   *
   * @param {number} podCount how many pods of each group are named
   */
  waitingGroups(podCount) {
    const { pods, counts } = this.waiting(Infinity);
    const groups = groupsOf(pods.map((each) => ({ ...each, place: NAMES[each.place] ?? each.place })), podCount);
    return { counts: Object.fromEntries(Object.entries(counts).map(([place, count]) => [NAMES[place] ?? place, count])), groupCount: groups.length, groups };
  }

  #waitingPod(subject, place) {
    const reason = this.#value(subject, "waitsFor");
    const workload = this.#value(subject, "workload");
    const [kind, key] = workload ? this.timeline.subjects[workload - 1][1].split(" ") : [];
    return {
      pod: this.timeline.subjects[subject][1],
      place,
      workload: kind ? `${kind}/${key.split("/")[1]}` : "",
      created: "",
      attempts: this.#value(subject, "attempts"),
      rejectedBy: reason ? this.timeline.subjects[reason - 1][1].split(",").map((name) => name.trim()) : [],
    };
  }

  /**
   * Returns the pods of each node.
   *
   * @returns {Map<number, {pod: string, status: string}[]>} by slot
   */
  podsBySlot() {
    if (!this.placed) {
      this.placed = new Map();
      for (const subject of this.podSubjects) {
        const node = this.#value(subject, "node");
        if (!node || !this.#isActive(subject)) continue;
        const slot = this.slotOf.get(node - 1);
        const status = this.#value(subject, "deleting") ? "Terminating" : PHASES[this.#value(subject, "phase")];
        if (!this.placed.has(slot)) this.placed.set(slot, []);
        this.placed.get(slot).push({ pod: this.timeline.subjects[subject][1], status });
      }
    }
    return this.placed;
  }

  /**
   * Returns where each pod is, in the order in which the pods were first seen.
   *
   * @returns {Map<string, import("../parts/comparison.js").Place>} by pod
   */
  places() {
    const { subjects } = this.timeline;
    const name = (reference) => (reference ? subjects[reference - 1][1] : "");
    const found = new Map();
    for (const subject of this.podSubjects) {
      if (!this.#value(subject, "phase")) continue;
      found.set(subjects[subject][1], { node: name(this.#value(subject, "node")), workload: name(this.#value(subject, "workload")) });
    }
    return found;
  }

  /** Returns a pod at this time; null if it did not exist. */
  pod(name) {
    const subject = this.podSubjects.find((one) => this.timeline.subjects[one][1] === name && this.#value(one, "phase"));
    if (subject === undefined) return null;
    const node = this.#value(subject, "node");
    return {
      pod: name,
      status: PHASES[this.#value(subject, "phase")],
      node: node ? this.timeline.subjects[node - 1][1] : "",
      place: PLACES[this.#value(subject, "queue")],
      attempts: this.#value(subject, "attempts"),
    };
  }
}

function isSame(one, other) {
  return one.length === other.length && one.every((value, index) => value === other[index]);
}
