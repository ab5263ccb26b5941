// The scheduling queue: which groups of pods wait where, why, until when, and what would move them.

import { isAllowed } from "../data/access.js";
import { movePod } from "../parts/actions.js";
import { eventText } from "../parts/cause.js";
import { PwElement, define, h, keyed, render, setText } from "../parts/dom.js";
import { countText, durationText, numberText, timeNs } from "../parts/format.js";
import { model, throttled } from "../data/model.js";
import { sheets } from "../parts/styles.js";
import { LISTED_MAX, NO_SCHEDULER, groupsOfQueues, reasonOf, titleOf } from "../data/waiting.js";
import "./pw-time.js";

const STYLE = `
:host { height: calc(100vh - var(--pw-bar-height)); width: 100%; overflow: auto; padding: calc(2 * var(--pw-space)); background: var(--pw-background); }
:host([past]) { box-shadow: inset 0 0 0 2px var(--pw-past); }
.counts { display: grid; grid-template-columns: repeat(auto-fit, minmax(112px, 1fr)); gap: var(--pw-space); margin-bottom: calc(2 * var(--pw-space)); }
.counts > li { padding: 10px 14px; border: 1px solid var(--pw-line); border-radius: 5px; background: var(--pw-raised); }
.counts strong { display: block; font-size: var(--pw-type-title); font-variant-numeric: tabular-nums; line-height: 1.2; }
.places { display: grid; gap: calc(2 * var(--pw-space)); }
.place { border: 1px solid var(--pw-line); border-radius: 5px; background: var(--pw-raised); overflow: auto; }
.place header { padding: 8px 14px; display: flex; flex-wrap: wrap; gap: 0 var(--pw-space); align-items: baseline; }
table { table-layout: fixed; }
th:first-child, td:first-child { padding-left: 14px; } th:last-child, td:last-child { padding-right: 14px; }
tr:last-child td { border-bottom: 0; }
col.pod { width: 17%; } col.short { width: 76px; } col.mid { width: 136px; } col.why { width: 26%; } col.button { width: 108px; }
td { overflow-wrap: anywhere; }
.events { font-size: var(--pw-type-small); color: var(--pw-muted); }
@media (max-width: 480px) { .counts > li { padding: 8px 10px; font-size: var(--pw-type-small); } }
@media (max-width: 1100px) {
  colgroup, thead { display: none; }
  table, tbody, tr, td { display: block; }
  tr { padding: 6px 14px; border-bottom: 1px solid var(--pw-line); }
  tr td, tr td.num { border: 0; padding: 1px 0; text-align: left; }
  td:first-child, td:last-child { padding-inline: 0; }
  td[data-title]:not(:empty)::before { content: attr(data-title) " "; color: var(--pw-muted); }
  td:empty { display: none; }
}
`;

const PLACES = [
  ["active", "Active", "Waits for its turn."],
  ["backoff", "Back-off", "Was tried, and waits until its back-off ends."],
  ["errorBackoff", "Error back-off", "An attempt failed for a reason other than the pod's fit."],
  ["unschedulable", "Unschedulable", "Waits for an event that may help."],
  ["gated", "Gated", "A plugin does not let it into the active queue."],
  ["inFlight", "In flight", "Is being scheduled or bound."],
];
const HEADS = ["Pods", "Priority", "Attempts", "Waiting", "Next attempt", "Why", "Tried again when", ""];
const COLUMNS = ["pod", "short", "short", "short", "mid", "why", "", "button"];

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
    this.rowKeys(() => this.places.querySelectorAll("td:first-child a"));
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
      const [queue] = await Promise.all([groupsOfQueues(data, 1), data.clock.look()]);
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
    const queue = data.isPast && data.past ? data.past.waitingGroups(1) : this.queue;
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
    keyed(this.counts, PLACES, ([key]) => key, newCount, (node, [key]) => setText(node.amount, numberText(queue.counts[key] ?? 0)));
    const groups = Object.groupBy(queue.groups, ({ place }) => place);
    const filled = PLACES.filter(([key]) => groups[key]?.length);
    this.empty.hidden = filled.length > 0;
    setText(this.empty, "No pod waits. Pods that are created appear here until they are bound.");
    keyed(this.places, filled, ([key]) => key, newPlace, (node, [key]) => {
      const shown = groups[key].slice(0, LISTED_MAX);
      const pods = shown.reduce((sum, { count }) => sum + count, 0);
      const all = countText(queue.counts[key] ?? 0, "pod");
      setText(node.count, pods < queue.counts[key] ? `the first ${countText(pods, "pod")} of ${all}` : all);
      keyed(node.body, shown, (each) => each.key, newRow, (row, each) => this.#fill(row, each));
    });
    this.#countDown();
  }

  #fill(row, group) {
    const data = model();
    const { place, pods, count, first } = group;
    const [pod] = pods;
    const canMove = this.allowed && data.isEditable && place !== "inFlight" && place !== "active";
    const key = JSON.stringify([group, canMove, this.errorOf.get(pod), this.moving]);
    if (row.key === key) return;
    row.key = key;
    row.first = first;
    const [name, priority, attempts, , , why, events, move] = row.cells_;
    const link = `/?pod=${encodeURIComponent(pod)}${data.isPast ? `&at=${encodeURIComponent(data.past.time)}` : ""}`;
    render(name, h("a", { class: "name", href: link, "data-focus": link }, titleOf(group)), count > 1 ? h("div", { class: "muted small" }, countText(count, "pod")) : null);
    setText(priority, first.priority === undefined ? "" : String(first.priority));
    setText(attempts, String(first.attempts));
    const error = this.errorOf.get(pod);
    render(why, h("div", { class: "why" }, reasonOf(first, place)), first.nominatedNode ? h("div", { class: "muted" }, `Nominated to ${first.nominatedNode}, whose pods of lower priority end.`) : null, error ? h("div", { class: "error", role: "alert" }, error) : null);
    render(events, eventsOf(first.movedBy ?? []));
    render(move, canMove ? h("button", { "data-focus": "move", title: "Try it now, whatever rejected it", disabled: this.moving === pod, on: { click: () => this.#move(pod) } }, count > 1 ? "Move one" : "Move") : null);
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

  /** Shows how long the first pod of each group has waited, and when it is tried again. */
  #countDown() {
    const now = model().isPast ? null : model().clock.nowNs();
    for (const place of this.places.children) {
      for (const row of place.body.children) {
        const { since, backoffEnd, latestAttempt } = row.first;
        setText(row.cells_[3], since && now !== null ? durationText(Number(now - timeNs(since)) / 1e6) : "");
        const at = backoffEnd ?? latestAttempt;
        const left = at && now !== null ? Number(timeNs(at) - now) / 1e6 : null;
        setText(row.cells_[4], left === null ? "" : left < 0 ? "any moment" : `in ${durationText(left)}${backoffEnd ? "" : " at the latest"}`);
      }
    }
  }
}

/** Returns which events let pods be tried again, each in words. */
function eventsOf(events) {
  if (!events.length) return null;
  const texts = new Map();
  for (const { event, plugins } of events) texts.set(eventText(event), [event, plugins]);
  return h("div", { class: "events" }, [...texts].map(([text, [event, plugins]], index) => [index ? "; " : "", h("span", { title: `${event}, registered by ${plugins.join(", ")}` }, text)]));
}

function newCount([, title, why]) {
  const value = h("strong", {});
  const node = h("li", { title: why }, value, h("span", { class: "muted" }, title));
  node.amount = value;
  return node;
}

function newRow() {
  const cells = HEADS.map((title, at) => h("td", { "data-title": at && at !== 5 ? title : null, class: at >= 1 && at <= 4 ? "num" : null }));
  const row = h("tr", {}, cells);
  row.cells_ = cells;
  return row;
}

function newPlace([, title, why]) {
  const count = h("span", { class: "muted" });
  const body = h("tbody", {});
  const table = h(
    "table",
    {},
    h("colgroup", {}, COLUMNS.map((kind) => h("col", { class: kind }))),
    h("thead", {}, h("tr", {}, HEADS.map((text, index) => h("th", { scope: "col", class: index >= 1 && index <= 4 ? "num" : "" }, text || h("span", { class: "hidden-text" }, "Actions"))))),
    body,
  );
  const node = h("section", { class: "place", "aria-label": title }, h("header", {}, h("h2", {}, title), count, h("span", { class: "muted small" }, why)), table);
  node.count = count;
  node.body = body;
  return node;
}

define("pw-queue", Queue);
