// The data that all elements of a page share: the stream of the state, and what is derived from it.

import { address } from "./address.js";
import { ClusterClock } from "./cluster_clock.js";
import { timeNs } from "../parts/format.js";
import { HttpSource } from "./http_source.js";
import { LiveState } from "./live_state.js";
import { NodeLabels } from "../parts/node_labels.js";
import { PastState } from "./past_state.js";
import { listPods } from "./pods.js";
import { readTimeline } from "./timeline_reader.js";
import { NO_SCHEDULER } from "./waiting.js";

/** The most nodes whose pods are loaded to be shown on cards. */
export const CARDS_MAX = 60;

/**
 * The shared data.
 *
 * Events: `state` (the shown state changed), `live` (the live state changed), `mode` (live or past),
 * `connection`, `labels`, `pods`, `explained`.
 */
export class Model extends EventTarget {
  /** @param {import("./source.js").Source} source */
  constructor(source) {
    super();
    this.source = source;
    this.clock = new ClusterClock(source);
    this.live = new LiveState();
    this.past = null; // the timeline, once loaded
    this.isPast = false;
    this.isPlaying = false; // the past
    this.explained = null; // the pod and the query of the explanation that is shown
    this.isLoadingPast = false;
    this.pastError = "";
    this.connection = { isConnected: true, reason: "" };
    this.nodeLabels = new NodeLabels(source);
    this.labelsError = "";
    this.followsNodes = false;
    this.pods = new Map();
    this.hasScheduler = true; // until it is known
    this.users = 0;
    this.nodesVersion = -1;
    this.podsLoad = throttled(500, () => this.#loadPods());
    this.labelsLoad = throttled(1000, () => this.#loadLabels());
    this.labelsChanged = throttled(200, () => this.nodeLabels.publish() && this.#emit("labels"));
    address.addEventListener("change", (event) => {
      if (event.detail.includes("at")) this.#followAddress();
    });
  }

  /** Starts the stream with the first user; returns the function that ends the use. */
  use() {
    this.users += 1;
    if (this.users === 1) {
      this.stop = this.source.state((event, data) => this.#take(event, data));
      this.#followAddress();
    }
    return () => {
      this.users -= 1;
      if (this.users === 0) this.stop();
    };
  }

  /** The state to show: that of now, or that of the chosen moment. */
  get state() {
    return this.isPast && this.past ? this.past : this.live;
  }

  /** Whether requests that change the cluster make sense now. */
  get isEditable() {
    return this.source.isLive && !this.isPast && this.connection.isConnected;
  }

  #emit(type) {
    this.dispatchEvent(new Event(type));
  }

  #take(event, data) {
    if (event === "snapshot" || event === "changes") {
      this.live.apply(event, data);
      if (event === "snapshot") this.schedulersLoad = null; // maybe another server
      this.#connected(true, "");
      const isOther = this.live.nodesVersion !== this.nodesVersion;
      this.nodesVersion = this.live.nodesVersion;
      if (this.followsNodes && (event === "snapshot" || (isOther && !this.nodeLabels.isFollowed))) this.labelsLoad();
      if (this.followsNodes && this.hasCards) this.podsLoad();
      this.#emit("live");
      if (!this.isPast) this.#emit("state");
    } else if (event === "nodes" && this.followsNodes) {
      if (data.type === "STARTED") this.labelsLoad();
      this.nodeLabels.take(data);
      this.labelsChanged();
    } else if (event === "disconnected") {
      this.#connected(false, data.reason);
    }
  }

  #connected(isConnected, reason) {
    const before = this.connection;
    if (before.isConnected === isConnected && before.reason === reason) return;
    this.connection = { isConnected, reason };
    this.#emit("connection");
  }

  /** Whether there are few enough nodes to show their pods. */
  get hasCards() {
    return this.state.slots().length <= CARDS_MAX;
  }

  /** Loads the labels and the pods of the nodes, and follows them; a page without nodes needs neither. */
  followNodes() {
    this.followsNodes = true;
    if (this.nodesVersion >= 0) this.refresh();
  }

  async #loadLabels() {
    try {
      await this.nodeLabels.load();
      this.labelsError = "";
    } catch (error) {
      this.labelsError = error.message;
    }
    this.#emit("labels");
  }

  /** The labels of each node; another map after each change. */
  get labels() {
    return this.nodeLabels.byNode;
  }

  async #loadPods() {
    try {
      const byNode = new Map();
      for (const pod of await listPods(this.source, "/api/v1/pods")) {
        if (!byNode.has(pod.node)) byNode.set(pod.node, []);
        byNode.get(pod.node).push(pod);
      }
      this.pods = byNode;
      this.#emit("pods");
    } catch {
      // The state stays as it was; the stream reports a server that is gone.
    }
  }

  /** Loads what is shown again, after a request that changed something. */
  refresh() {
    if (!this.followsNodes) return;
    if (this.hasCards) this.podsLoad();
    this.labelsLoad();
  }

  /** Returns the pods on a node of the shown state, if they are loaded. */
  podsOf(slot) {
    if (this.isPast && this.past) return this.past.podsBySlot().get(slot) ?? [];
    return this.pods.get(this.live.names[slot]) ?? [];
  }

  async #followAddress() {
    const { at } = address.get();
    if (!at && this.source.isLive) {
      this.#leavePast();
      return;
    }
    if (!at) {
      await this.#showEnd();
      return;
    }
    let target;
    try {
      target = timeNs(at);
    } catch (error) {
      this.pastError = error.message;
      this.#emit("mode");
      return;
    }
    const names = await this.schedulers();
    if (names?.length === 0) {
      this.pastError = NO_SCHEDULER;
      this.#emit("mode");
      return;
    }
    await this.seek(target);
  }

  /** Shows the end of what is recorded, where there is no present. */
  async #showEnd() {
    await this.loadPast();
    if (this.past && !address.get().at) await this.seek(this.past.endNs);
  }

  #leavePast() {
    if (!this.isPast && !this.pastError) return;
    this.isPast = false;
    this.isPlaying = false;
    this.pastError = "";
    this.#emit("mode");
    this.#emit("state");
  }

  /**
   * Shows the state at a time, and loads the timeline if it does not reach that far.
   *
   * @param {bigint} targetNs nanoseconds since 1970
   */
  async seek(targetNs) {
    this.targetNs = targetNs;
    if (!this.past || targetNs > this.past.endNs) await this.loadPast();
    if (!this.past || this.targetNs !== targetNs) return;
    const { beginNs } = this.past;
    this.past.seek(targetNs < beginNs ? beginNs : targetNs);
    const wasPast = this.isPast;
    this.isPast = true;
    if (!wasPast) this.#emit("mode");
    this.#emit("state");
  }

  /**
   * Returns the schedulerNames of the server's schedulers: none with --no-scheduler, and null if the
   * user may not list them.
   *
   * @returns {Promise<string[] | null>}
   */
  async schedulers() {
    if (!this.source.isLive) return null;
    this.schedulersLoad ??= this.source.get("/podwright/v1/schedulers").then(
      ({ schedulers }) => schedulers.map(({ schedulerNames }) => schedulerNames[0]),
      () => null,
    );
    const found = await this.schedulersLoad;
    const has = found === null || found.length > 0;
    if (has !== this.hasScheduler) {
      this.hasScheduler = has;
      this.#emit("mode");
    }
    return found;
  }

  /** Makes the explanation of a pod the one whose scores are shown. */
  explain(pod, query, matrixVersion) {
    this.explained = { pod, query, matrixVersion };
    this.#emit("explained");
  }

  /** Loads the timeline up to now. */
  async loadPast() {
    if (this.loading) return this.loading;
    this.isLoadingPast = true;
    this.#emit("mode");
    this.loading = this.source
      .bytes("/podwright/v1/timeline")
      .then((bytes) => {
        this.past = new PastState(readTimeline(bytes));
        this.pastError = "";
      })
      .catch((error) => {
        this.pastError = error.message;
      })
      .finally(() => {
        this.isLoadingPast = false;
        this.loading = null;
        this.#emit("mode");
      });
    return this.loading;
  }
}

/**
 * Returns how long to wait after work: what takes long is done at most a third of the time.
 *
 * @param {number} took milliseconds
 * @param {number} least milliseconds
 */
export function pauseAfter(took, least) {
  return Math.max(least, 2 * took);
}

/**
 * Returns a function that calls another at once, and at most once per interval.
 *
 * @param {number} milliseconds
 * @param {() => (void | Promise<void>)} callback never runs twice at the same time
 */
export function throttled(milliseconds, callback) {
  let state = "idle";
  async function run() {
    state = "running";
    const begin = performance.now();
    await callback();
    const again = state === "again";
    state = "waiting";
    setTimeout(() => {
      const due = again || state === "again";
      state = "idle";
      if (due) run();
    }, pauseAfter(performance.now() - begin, milliseconds));
  }
  return () => {
    if (state === "idle") run();
    else state = "again";
  };
}

let shared = null;

/** Returns the model of this page. */
export function model() {
  shared ??= new Model(new HttpSource());
  return shared;
}

/** Makes another source that of this page; before the first element is in the document. */
export function setSource(source) {
  shared = new Model(source);
}
