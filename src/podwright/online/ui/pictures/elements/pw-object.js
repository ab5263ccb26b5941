// What kubectl describe is asked for: labels, owners, conditions and Events of a selected object.

import { PwElement, define, h, render, table } from "../parts/dom.js";
import { clockText, durationText, timeNs, utcText } from "../parts/format.js";
import { ClusterClock } from "../data/cluster_clock.js";
import { HttpSource } from "../data/http_source.js";
import { collectionPath, objectPath } from "../data/resources.js";
import { findNamed } from "../data/source.js";
import { sheets } from "../parts/styles.js";

const REFRESH_MS = 3000;
const EVENTS_SHOWN = 50;
const STYLE = `
:host { padding: calc(1.5 * var(--pw-space)) calc(2 * var(--pw-space)); }
.parts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(420px, 100%), 1fr)); gap: calc(2 * var(--pw-space)); }
td { white-space: nowrap; } td:last-child { width: 100%; white-space: normal; overflow-wrap: anywhere; }
dl.facts { align-content: start; }
`;

class ObjectDetails extends PwElement {
  constructor() {
    super();
    this.root.adoptedStyleSheets = sheets(STYLE);
    this.source = new HttpSource();
    this.clock = new ClusterClock(this.source);
    this.shown = null;
  }

  start() {
    this.every(REFRESH_MS, () => this.#load());
  }

  /**
   * Shows an object; nothing for null.
   *
   * @param {{kind: import("../data/resources.js").Kind, namespace: string, name: string} | null} object
   * @param {(() => void) | false} edit opens the editor
   */
  show(object, edit) {
    const before = this.shown && objectPath(this.shown.kind, this.shown.namespace, this.shown.name);
    this.shown = object;
    this.edit = edit;
    this.hidden = !object;
    if (!object || objectPath(object.kind, object.namespace, object.name) === before) return;
    this.found = null;
    this.#load();
    this.invalidate();
  }

  async #load() {
    const { shown } = this;
    if (!shown) return;
    let found;
    try {
      const object = await findNamed(this.source, collectionPath(shown.kind, shown.namespace), shown.name);
      if (!object) throw new Error("The object is gone.");
      const [events] = await Promise.all([this.source.get(`/api/v1/events?fieldSelector=${encodeURIComponent(`involvedObject.uid=${object.metadata.uid}`)}`), this.clock.look()]);
      found = { object, events: events.items };
    } catch (error) {
      found = { error: error.message };
    }
    if (shown !== this.shown && shown.key !== this.shown?.key) return;
    this.found = found;
    this.invalidate();
  }

  update() {
    const { shown, found } = this;
    if (!shown) return;
    const { kind, namespace, name } = shown;
    const title = `${namespace ? `${namespace}/` : ""}${name}`;
    const explained = { pods: `/?pod=${encodeURIComponent(title)}`, nodes: `/?node=${encodeURIComponent(name)}` }[kind.group ? "" : kind.resource];
    render(
      this.root,
      h(
        "div",
        { class: "stack" },
        h(
          "div",
          { class: "row wrap" },
          h("h2", { class: "grow" }, `${kind.kind} `, h("span", { class: "name" }, title)),
          explained ? h("a", { href: explained, "data-focus": "explain" }, kind.resource === "pods" ? "Why is it where it is?" : "Show on the map") : null,
          this.edit ? h("button", { "data-focus": "edit", on: { click: () => this.edit() } }, "YAML…") : null,
        ),
        !found ? h("p", { class: "muted" }, "Loading…") : found.error ? h("div", { class: "error", role: "alert" }, found.error) : this.#parts(found),
      ),
    );
  }

  #parts({ object: { metadata, status }, events }) {
    const facts = [
      ["Labels", Object.entries(metadata.labels ?? {}).map(([key, value]) => `${key}=${value}`)],
      ["Annotations", Object.entries(metadata.annotations ?? {}).map(([key, value]) => `${key}=${value}`)],
      ["Controlled by", (metadata.ownerReferences ?? []).map((owner) => `${owner.kind}/${owner.name}`)],
      ["Finalizers", metadata.finalizers ?? []],
    ].filter(([, values]) => values.length);
    const conditions = (status?.conditions ?? []).map((each) => [each.type, each.status, [each.reason, each.message].filter(Boolean).join(": ")]);
    const newest = events.toSorted((one, other) => (timeOf(one) < timeOf(other) ? 1 : -1)).slice(0, EVENTS_SHOWN);
    const now = this.clock.nowNs();
    const rows = newest.map((event) => [
      h("span", { title: utcText(timeOf(event)) }, ageText(timeOf(event), now)),
      h("span", { class: event.type === "Warning" ? "bad" : "" }, event.reason),
      [event.message ?? event.note ?? "", (event.count ?? event.series?.count ?? 1) > 1 ? h("span", { class: "muted" }, ` (${event.count ?? event.series.count} times)`) : null],
    ]);
    return h(
      "div",
      { class: "parts" },
      facts.length ? h("dl", { class: "facts" }, facts.map(([title, values]) => [h("dt", {}, title), h("dd", { class: "mono" }, values.map((value) => h("div", {}, value)))])) : null,
      conditions.length ? h("section", {}, h("h3", {}, "Conditions"), table([], conditions)) : null,
      h("section", {}, h("h3", {}, "Events"), rows.length ? table([], rows) : h("p", { class: "muted" }, "No Event is about it.")),
    );
  }
}

function timeOf({ lastTimestamp, eventTime, series, metadata }) {
  return series?.lastObservedTime ?? lastTimestamp ?? eventTime ?? metadata.creationTimestamp;
}

/** Returns the age of a time by the cluster's clock; the time itself where that is not known. */
function ageText(time, nowNs) {
  return nowNs === null ? clockText(time) : durationText(Number(nowNs - timeNs(time)) / 1e6);
}

define("pw-object", ObjectDetails);
