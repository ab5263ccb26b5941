// The inspector of a node: its room per resource, its pods, its labels and taints.

import { nodeRights } from "../data/access.js";
import { cordon, deleteNode, failNode, silentNodes } from "../parts/actions.js";
import { address } from "../data/address.js";
import { PwElement, define, h, more, render, table } from "../parts/dom.js";
import { podLink, section } from "../parts/explanation.js";
import { amountText, clockText, countText, percentText, timeText, utcText } from "../parts/format.js";
import { resourcesOf, shareOf } from "../data/live_state.js";
import { filterResult, whyNot } from "../parts/matrix_rows.js";
import { model, throttled } from "../data/model.js";
import { flagsOf } from "../parts/node_cards.js";
import { devicesOf } from "../parts/node_devices.js";
import { SOURCE_UID } from "../parts/node_labels.js";
import { podsOn } from "../data/pods.js";
import { drainNode } from "./pw-nodes.js";
import { matrixOf } from "../parts/scores.js";
import { findNamed } from "../data/source.js";
import { sheets } from "../parts/styles.js";
import { titleOf, waitingGroups } from "../data/waiting.js";

const STYLE = `
header { padding: calc(1.5 * var(--pw-space)) calc(2 * var(--pw-space)); }
header h2 { font-family: var(--pw-mono); overflow-wrap: anywhere; unicode-bidi: isolate; }
.track { display: block; width: 100%; min-width: 48px; height: 5px; border-radius: 3px; background: var(--pw-hover); overflow: hidden; }
.share { width: 22%; } .share > span:first-child { display: block; line-height: 13px; }
.track::after { content: ""; display: block; height: 100%; width: calc(100% * min(1, var(--share, 0))); background: var(--pw-accent); }
th.pod { width: 45%; }
@media (max-width: 500px) { .share { display: none; } }
td .tag { margin-left: 6px; }
td:first-child { min-width: 11ch; overflow-wrap: anywhere; }
.labels { display: grid; gap: 2px; overflow-wrap: anywhere; }
`;
const PODS_SHOWN = 250;
const FITS_CHECKED = 10;

class NodeInspector extends PwElement {
  constructor() {
    super();
    this.root.adoptedStyleSheets = sheets(STYLE);
    this.body = h("div", { role: "region", "aria-label": "Node" });
    this.root.append(this.body);
    this.load = throttled(1000, () => this.#load());
    this.allowed = {};
    this.#clear("");
  }

  #clear(node) {
    this.node = node;
    this.object = null;
    this.pods = null;
    this.error = "";
    this.actionError = "";
    this.isSilent = false;
    this.devices = null;
    this.fits = null;
  }

  start() {
    const data = model();
    this.undo.push(data.use());
    this.listen(address, "change", () => this.#selected());
    this.listen(data, "state", () => {
      if (!data.isPast) this.load();
      this.invalidate();
    });
    this.listen(data, "mode", () => this.invalidate());
    this.listen(data, "labels", () => data.isPast || this.load());
    this.listen(data, "connection", () => this.invalidate());
    this.every(5000, () => data.isPast || this.load());
    this.#selected();
  }

  #selected() {
    const { node = "" } = address.get();
    if (node !== this.node) {
      this.#clear(node);
      if (node) this.load();
    }
    this.invalidate();
  }

  async #load() {
    const { node } = this;
    const { source } = model();
    if (!node || !source.isLive) return;
    try {
      const [object, pods, allowed, silent, devices] = await Promise.all([
        findNamed(source, "/api/v1/nodes", node),
        podsOn(source, node),
        nodeRights(source),
        silentNodes(source),
        devicesOf(source, node),
      ]);
      if (node !== this.node) return;
      this.isSilent = silent?.includes(node) ?? false;
      Object.assign(this, { object, pods, devices, error: object ? "" : `There is no node ${node}.`, allowed: { ...allowed, fail: allowed.fail && silent !== null && !object?.metadata.annotations?.[SOURCE_UID] } });
    } catch (error) {
      if (node !== this.node) return;
      this.error = error.message;
    }
    this.invalidate();
  }

  async #act(action) {
    this.actionError = "";
    try {
      const refused = await action();
      if (Array.isArray(refused)) this.actionError = refused.join("\n");
    } catch (error) {
      this.actionError = error.message;
    }
    model().refresh();
    this.load();
    this.invalidate();
  }

  update() {
    if (!this.node) {
      render(this.body);
      return;
    }
    const { state } = model();
    const slot = state.slots().find((one) => state.names[one] === this.node);
    if (slot === undefined) {
      const why = model().isPast ? "The node does not exist at this time." : this.error || "The node does not exist.";
      render(this.body, this.#header([]), section("", h("p", { class: "muted" }, state.isKnown ? why : "Loading…")));
      return;
    }
    render(
      this.body,
      this.#header(flagsOf(state, slot), slot),
      this.#resources(state, slot),
      this.#pods(slot),
      this.#devices(),
      this.#fitting(),
      this.#taints(),
      this.#labels(),
    );
  }

  #header(flags, slot) {
    const data = model();
    const { source } = data;
    const cordoned = slot !== undefined && data.state.column("unschedulable")[slot];
    const button = (text, action, title) => h("button", { "data-focus": text, title, on: { click: () => this.#act(action) } }, text);
    const editable = data.isEditable && slot !== undefined;
    return h(
      "header",
      { class: "stack" },
      h("div", { class: "row wrap" }, h("span", { class: "muted grow" }, "Node"), flags.map(({ text, kind }) => h("span", { class: `tag ${kind}` }, text))),
      h("h2", {}, this.node),
      editable
        ? h(
            "div",
            { class: "row wrap" },
            this.allowed.cordon ? button(cordoned ? "Uncordon" : "Cordon", () => cordon(source, this.node, !cordoned)) : null,
            this.allowed.drain ? button("Drain", () => drainNode(source, this.node)) : null,
            this.allowed.fail
              ? button(this.isSilent ? "Restore" : "Fail", () => failNode(source, this.node, !this.isSilent), this.isSilent ? "The kubelet reports again" : "The kubelet stops reporting, so the node becomes NotReady after its grace period")
              : null,
            this.allowed.remove ? button("Delete", () => deleteNode(source, this.node)) : null,
          )
        : null,
      this.isSilent && !data.isPast ? h("p", { class: "small muted" }, "Its kubelet does not report.") : null,
      this.actionError ? h("div", { class: "error", role: "alert" }, this.actionError) : null,
    );
  }

  #resources(state, slot) {
    const rows = resourcesOf(state).map((resource) => {
      const allocatable = state.column(`allocatable/${resource}`)[slot] ?? 0;
      const requested = state.column(`requested/${resource}`)[slot] ?? 0;
      const track = h("span", { class: "track", style: { "--share": shareOf(state, resource, slot).toFixed(4) } });
      return [
        h("span", { class: "mono" }, resource),
        [h("span", { class: "small muted" }, percentText(shareOf(state, resource, slot))), track],
        ...[requested, allocatable, Math.max(0, allocatable - requested)].map((amount) => amountText(resource, amount)),
      ];
    });
    return section("Resources", table(["Resource", ["Share", "share"], ["Requested", "num"], ["Allocatable", "num"], ["Free", "num"]], rows));
  }

  #pods(slot) {
    const data = model();
    const pods = data.isPast || !data.source.isLive ? data.podsOf(slot) : this.pods;
    if (!pods) return section("Pods", h("p", { class: "muted" }, "Loading…"));
    if (!pods.length) return section("Pods", h("p", { class: "muted" }, "No pods are on this node."));
    const rows = pods.slice(0, PODS_SHOWN).map((pod) => [podLink(pod.pod), pod.ready ?? "", pod.status, pod.age ?? ""]);
    return section(
      `Pods (${pods.length})`,
      table(["Name", "Ready", "Status", ["Age", "num"]], rows),
      more(pods.length - PODS_SHOWN, "pod"),
    );
  }

  #devices() {
    if (model().isPast || !this.devices?.length) return null;
    const free = this.devices.filter(({ isFree }) => isFree).length;
    const rows = this.devices.slice(0, PODS_SHOWN).map(({ name, pool, driver, details, taints, claims, isFree }) => [
      [h("span", { class: "mono", title: `pool ${pool}, driver ${driver}` }, name), taints.map((taint) => h("div", { class: "tag warn" }, taint)), details ? h("div", { class: "small muted" }, details) : null],
      claims.length ? claims.map(({ claim }) => h("div", { class: "name" }, claim)) : h("span", { class: "muted" }, isFree ? "free" : "not enough counters left"),
      claims.flatMap(({ pods }) => pods).map((pod) => h("div", {}, podLink(pod))),
    ]);
    return section(
      `Devices (${this.devices.length}, ${free} free)`,
      table(["Device", "ResourceClaim", "Reserved for"], rows),
      more(this.devices.length - PODS_SHOWN, "device"),
    );
  }

  /** The pending pods, and whether they would fit on this node. */
  #fitting() {
    const data = model();
    const waiting = Object.entries(data.live.pods).reduce((sum, [place, count]) => (place === "placed" ? sum : sum + count), 0);
    if (data.isPast || !data.isEditable || !data.hasScheduler || (!waiting && !this.fits)) return null;
    const { fits } = this;
    const check = h("button", { "data-focus": "fits", disabled: Boolean(fits?.isLoading), on: { click: () => this.#checkFits() } }, fits ? "Check again" : "Check");
    const rows = (fits?.pods ?? []).map(({ pod, title, text, isFitting }) => [podLink(pod, title), h("span", { class: isFitting ? "good" : "" }, text)]);
    return section(
      "What would fit",
      h("div", { class: "row" }, h("span", { class: "muted grow", title: utcText(fits?.time) }, fits?.isLoading ? "Checking…" : fits ? `As of ${clockText(fits.time)}` : `Which of the ${countText(waiting, "pending pod")} would fit here?`), check),
      rows.length ? table([["Pending pod", "pod"], "On this node"], rows) : null,
      fits && !fits.isLoading && !rows.length ? h("p", { class: "muted" }, "No pod is pending.") : null,
      fits?.rest > 0 ? h("p", { class: "muted" }, `and ${countText(fits.rest, "group")} that ${fits.rest === 1 ? "was" : "were"} not checked`) : null,
      fits?.error ? h("div", { class: "error", role: "alert" }, fits.error) : null,
    );
  }

  async #checkFits() {
    const { node } = this;
    const data = model();
    const fits = { pods: [], rest: 0, time: nowText(data), isLoading: true, error: "" };
    this.fits = fits;
    this.invalidate();
    try {
      const { groups, groupCount } = await waitingGroups(data);
      for (const group of groups.slice(0, FITS_CHECKED)) {
        const [pod] = group.pods;
        const matrix = await matrixOf(data.source, pod, "?attempt=now", fits.time);
        const index = matrix.nodes.indexOf(node);
        const { kind } = filterResult(matrix, index);
        fits.pods.push({ pod, title: group.count > 1 ? `${titleOf(group)} (${countText(group.count, "pod")})` : pod, isFitting: kind === "passed", text: kind === "passed" ? "fits" : whyNot(matrix, index).replace(`${node} `, "") });
        if (node !== this.node) return;
        this.invalidate();
      }
      fits.rest = groupCount - fits.pods.length;
    } catch (error) {
      fits.error = error.message;
    }
    fits.isLoading = false;
    this.invalidate();
  }

  #taints() {
    if (model().isPast || !this.object) return null;
    const taints = this.object.spec?.taints ?? []; // an empty spec is left out
    if (!taints.length) return null;
    return section("Taints", h("ul", { class: "labels mono" }, taints.map(({ key, value, effect }) => h("li", {}, `${key}${value ? `=${value}` : ""}:${effect}`))));
  }

  #labels() {
    const labels = Object.entries(this.object?.metadata.labels ?? model().labels.get(this.node) ?? {});
    if (!labels.length) return null;
    return section("Labels", h("ul", { class: "labels mono" }, labels.sort().map(([key, value]) => h("li", {}, `${key}=${value}`))));
  }

  focus() {
    this.body.querySelector("button, a")?.focus();
  }
}

/** Returns the time of the cluster now. */
function nowText({ clock, live }) {
  const now = clock.nowNs();
  return now === null ? live.time : timeText(now);
}

define("pw-node", NodeInspector);
