// The scheduling queue: where each pod waits, why, until when, and what would move it.

import { isAllowed } from "../data/access.js";
import { movePod } from "../parts/actions.js";
import { PwElement, define, h, keyed, render, setText } from "../parts/dom.js";
import { countText, durationText, timeNs } from "../parts/format.js";
import { model, throttled } from "../data/model.js";
import { sheets } from "../parts/styles.js";
import { LISTED_MAX, NO_SCHEDULER, queueOf, reasonOf } from "../data/waiting.js";
import "./pw-time.js";

const STYLE = `
:host { height: calc(100vh - var(--pw-bar-height)); width: 100%; overflow: auto; padding: calc(2 * var(--pw-space)); background: var(--pw-background); }
:host([past]) { box-shadow: inset 0 0 0 2px var(--pw-past); }
.counts { display: flex; flex-wrap: wrap; gap: var(--pw-space); margin-bottom: calc(2 * var(--pw-space)); }
.counts > li { flex: 1; min-width: 120px; padding: 10px 14px; border: 1px solid var(--pw-line); border-radius: 5px; background: var(--pw-raised); }
.counts strong { display: block; font-size: var(--pw-type-title); font-variant-numeric: tabular-nums; line-height: 1.2; }
.places { display: grid; gap: calc(2 * var(--pw-space)); }
.place { border: 1px solid var(--pw-line); border-radius: 5px; background: var(--pw-raised); overflow: auto; }
.place header { padding: 8px 14px; display: flex; gap: var(--pw-space); align-items: baseline; }
table { table-layout: fixed; min-width: 980px; }
th:first-child, td:first-child { padding-left: 14px; } th:last-child, td:last-child { padding-right: 14px; }
tr:last-child td { border-bottom: 0; }
col.pod { width: 18%; } col.short { width: 76px; } col.mid { width: 88px; } col.why { width: 26%; } col.button { width: 92px; }
td { overflow-wrap: anywhere; }
.events { font-size: var(--pw-type-small); color: var(--pw-muted); }
`;

const PLACES = [
  ["active", "Active", "Waits for its turn."],
  ["backoff", "Back-off", "Was tried, and waits until its back-off ends."],
  ["errorBackoff", "Error back-off", "An attempt failed for a reason other than the pod's fit."],
  ["unschedulable", "Unschedulable", "Waits for an event that may help."],
  ["gated", "Gated", "A plugin does not let it into the active queue."],
  ["inFlight", "In flight", "Is being scheduled or bound."],
];
const OF_PAST = { in_flight: "inFlight", error_backoff: "errorBackoff" };

class Queue extends PwElement {
  constructor() {
    super();
    this.root.adoptedStyleSheets = sheets(STYLE);
    this.counts = h("ul", { class: "counts" });
    this.problem = h("div", { class: "error", role: "alert", hidden: true });
    this.empty = h("p", { class: "empty", hidden: true });
    this.places = h("div", { class: "places" });
    this.root.append(h("h1", { class: "hidden-text" }, "Queue"), this.counts, this.problem, this.empty, this.places);
    this.load = throttled(1000, () => this.#load());
    this.allowed = false;
    this.queue = null;
    this.error = "";
    this.errorOf = new Map();
  }

  start() {
    const data = model();
    this.undo.push(data.use());
    this.listen(data, "live", () => this.#changed());
    this.listen(data, "state", () => data.isPast && this.invalidate());
    this.listen(data, "mode", () => this.invalidate());
    this.listen(data, "connection", () => this.invalidate());
    this.every(3000, this.load);
    this.every(1000, () => this.#countDown());
    this.load();
    isAllowed(data.source, { verb: "post", path: "/podwright/v1/queue/default/pod/move" }).then((allowed) => {
      this.allowed = allowed;
      this.invalidate();
    });
  }

  #changed() {
    const { placed, ...waiting } = model().live.pods;
    const counts = JSON.stringify(waiting);
    if (counts !== this.lastCounts) this.load();
    this.lastCounts = counts;
  }

  async #load() {
    const data = model();
    if (!data.source.isLive || data.isPast) return;
    try {
      const [queue] = await Promise.all([queueOf(data), data.clock.look()]);
      this.queue = queue;
      this.error = "";
    } catch (error) {
      this.error = error.message;
    }
    this.invalidate();
  }

  update() {
    const data = model();
    this.toggleAttribute("past", data.isPast);
    const queue = data.isPast && data.past ? ofPast(data.past) : this.queue;
    this.problem.hidden = !this.error;
    setText(this.problem, this.error);
    if (!queue) {
      this.empty.hidden = Boolean(this.error);
      const why = data.hasScheduler ? "Loading…" : `${NO_SCHEDULER} The page Cluster lists the pods without a node.`;
      setText(this.empty, data.connection.isConnected ? why : data.connection.reason);
      for (const part of [this.counts, this.places]) part.hidden = true;
      return;
    }
    for (const part of [this.counts, this.places]) part.hidden = false;
    keyed(this.counts, PLACES, ([key]) => key, newCount, (node, [key]) => setText(node.amount, (queue.counts[key] ?? 0).toLocaleString("en-US")));
    const filled = PLACES.filter(([key]) => queue.pods[key]?.length);
    this.empty.hidden = filled.length > 0;
    setText(this.empty, "No pod waits. Pods that are created appear here until they are bound.");
    keyed(this.places, filled, ([key]) => key, newPlace, (node, [key]) => {
      const pods = queue.pods[key];
      const rest = (queue.counts[key] ?? 0) - pods.length;
      setText(node.count, rest > 0 ? `the first ${pods.length} of ${countText(queue.counts[key], "pod")}` : countText(pods.length, "pod"));
      keyed(node.body, pods, (each) => each.pod, () => this.#row(), (row, each) => this.#fill(row, each, key));
    });
    this.#countDown();
  }

  #row() {
    const cells = Array.from({ length: 8 }, () => h("td", {}));
    for (const at of [1, 2, 3, 4]) cells[at].className = "num";
    const row = h("tr", {}, cells);
    row.cells_ = cells;
    return row;
  }

  #fill(row, each, place) {
    const data = model();
    const canMove = this.allowed && data.isEditable && place !== "inFlight" && place !== "active";
    const key = JSON.stringify([each, place, canMove, this.errorOf.get(each.pod), this.moving]);
    if (row.key === key) return;
    row.key = key;
    const [pod, priority, attempts, , , why, events, move] = row.cells_;
    row.each = each;
    render(pod, h("a", { class: "name", href: `/?pod=${encodeURIComponent(each.pod)}${data.isPast ? `&at=${encodeURIComponent(data.past.time)}` : ""}` }, each.pod));
    setText(priority, each.priority === undefined ? "" : String(each.priority));
    setText(attempts, String(each.attempts));
    const error = this.errorOf.get(each.pod);
    render(why, h("div", { class: "why" }, reasonOf(each, place)), error ? h("div", { class: "error", role: "alert" }, error) : null);
    render(events, h("div", { class: "events" }, (each.movedBy ?? []).map(({ event, plugins }, index) => [index ? ", " : "", h("span", { title: `Registered by ${plugins.join(", ")}` }, event === "*" ? "any event" : breakable(event))])));
    render(move, canMove ? h("button", { "data-focus": "move", title: "Try it now, whatever rejected it", disabled: this.moving === each.pod, on: { click: () => this.#move(each.pod) } }, "Move") : null);
  }

  async #move(pod) {
    this.moving = pod;
    this.errorOf.delete(pod);
    this.invalidate();
    try {
      await movePod(model().source, pod);
    } catch (error) {
      this.errorOf.set(pod, error.message);
    }
    this.moving = "";
    this.load();
    this.invalidate();
  }

  /** Shows how long each pod has waited, and when its back-off ends. */
  #countDown() {
    const now = model().isPast ? null : model().clock.nowNs();
    for (const place of this.places.children) {
      for (const row of place.body.children) {
        const { since, backoffEnd } = row.each;
        setText(row.cells_[3], since && now !== null ? durationText(Number(now - timeNs(since)) / 1e6) : "");
        const left = backoffEnd && now !== null ? Number(timeNs(backoffEnd) - now) / 1e9 : null;
        setText(row.cells_[4], left === null ? "" : `${Math.max(0, left).toFixed(0)}s`);
      }
    }
  }
}

/** Returns a name that may be broken before its capital letters. */
function breakable(name) {
  return name.split(/(?=[A-Z])|(?<=[/.])/).flatMap((part, index) => (index ? [h("wbr"), part] : [part]));
}

function newCount([, title, why]) {
  const value = h("strong", {});
  const node = h("li", { title: why }, value, h("span", { class: "muted" }, title));
  node.amount = value;
  return node;
}

function newPlace([, title, why]) {
  const count = h("span", { class: "muted" });
  const body = h("tbody", {});
  const heads = ["Pod", "Priority", "Attempts", "Waiting", "Ends in", "Why", "Moved by", ""];
  const columns = ["pod", "short", "short", "mid", "short", "why", "", "button"].map((kind) => h("col", { class: kind }));
  const table = h(
    "table",
    {},
    h("colgroup", {}, columns),
    h("thead", {}, h("tr", {}, heads.map((text, index) => h("th", { scope: "col", class: index >= 1 && index <= 4 ? "num" : "" }, text || h("span", { class: "hidden-text" }, "Actions"))))),
    body,
  );
  const node = h("section", { class: "place", "aria-label": title }, h("header", {}, h("h2", {}, title), count, h("span", { class: "muted small" }, why)), table);
  node.count = count;
  node.body = body;
  return node;
}

function ofPast(past) {
  const nameOf = (place) => OF_PAST[place] ?? place;
  const { pods, counts } = past.waiting(LISTED_MAX);
  return {
    counts: Object.fromEntries(Object.entries(counts).map(([place, count]) => [nameOf(place), count])),
    pods: Object.groupBy(pods, ({ place }) => nameOf(place)),
  };
}

define("pw-queue", Queue);
