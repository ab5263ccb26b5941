// The pending pods, in groups of one workload and one cause.

import { address } from "../data/address.js";
import { PwElement, define, h, innerLink, render, setText } from "../parts/dom.js";
import { causeOf } from "../parts/cause.js";
import { countText, durationText, timeNs } from "../parts/format.js";
import { model, throttled } from "../data/model.js";
import { sheets } from "../parts/styles.js";
import { LISTED_MAX, reasonOf, titleOf, waitingGroups } from "../data/waiting.js";

const NAMED_MAX = 100; // of an open group; the server names no more
const STYLE = `
:host { display: flex; flex-direction: column; min-height: 0; overflow: hidden; contain: content; }
header { display: flex; align-items: baseline; gap: var(--pw-space); height: 40px; padding: 10px calc(2 * var(--pw-space)); }
.list { flex: 1; overflow-y: auto; overflow-x: hidden; border-top: 1px solid var(--pw-line); }
.group { content-visibility: auto; contain-intrinsic-height: auto 62px; border-bottom: 1px solid var(--pw-line); }
a { display: block; padding: 7px calc(2 * var(--pw-space)); border-left: 3px solid transparent; color: inherit; }
a:hover { background: var(--pw-hover); text-decoration: none; }
a[aria-current="true"] { background: var(--pw-selected); border-left-color: var(--pw-accent); }
a:focus-visible { outline-offset: -2px; }
.name { display: block; font-weight: 600; }
.why { display: block; font-size: var(--pw-type-small); line-height: 16px; color: var(--pw-muted); overflow-wrap: anywhere; }
.facts { display: flex; gap: var(--pw-space); font-size: var(--pw-type-small); color: var(--pw-muted); align-items: baseline; }
.pods a { padding-block: 3px; padding-left: calc(3 * var(--pw-space)); }
.pods .name { font-weight: 400; }
.more { padding: var(--pw-space) calc(2 * var(--pw-space)); }
`;

const PLACES = {
  unschedulable: "unschedulable",
  backoff: "back-off",
  errorBackoff: "back-off after an error",
  gated: "gated",
  active: "active",
  inFlight: "in flight",
};

class Pending extends PwElement {
  constructor() {
    super();
    this.root.adoptedStyleSheets = sheets(STYLE);
    this.count = h("span", { class: "muted" });
    this.rows = h("ul", { "aria-label": "Pending pods" });
    this.more = h("div", { class: "more small muted", hidden: true });
    this.list = h("div", { class: "list" }, this.rows, this.more);
    this.message = h("div", { class: "empty" }, "Loading…");
    this.root.append(h("header", {}, h("h2", {}, "Pending"), this.count), this.message, this.list);
    this.found = { counts: {}, groupCount: 0, groups: [] };
    this.open = new Set();
    this.error = "";
    this.isLoaded = false;
    this.load = throttled(1000, () => this.#load());
  }

  start() {
    const data = model();
    this.undo.push(data.use());
    this.listen(data, "live", () => this.#countsChanged());
    this.listen(data, "state", () => data.isPast && this.invalidate());
    this.listen(data, "mode", () => this.invalidate());
    this.listen(address, "change", () => this.invalidate());
    this.rowKeys(() => this.rows.querySelectorAll("a"));
    this.every(3000, this.load);
    this.load();
  }

  #countsChanged() {
    const { placed, ...waiting } = model().live.pods;
    const counts = JSON.stringify(waiting);
    if (counts === this.counts) return;
    this.counts = counts;
    this.load();
  }

  get #namedCount() {
    return this.open.size ? NAMED_MAX : 1;
  }

  async #load() {
    const data = model();
    if (!data.source.isLive) return;
    try {
      [this.found] = await Promise.all([waitingGroups(data, this.#namedCount), data.clock.look()]);
      this.error = "";
    } catch (error) {
      this.error = error.message;
    }
    this.isLoaded = true;
    this.#selectFirst();
    this.invalidate();
  }

  /** A page without a selection opens with the first pending pod. */
  #selectFirst() {
    const state = address.get();
    if (matchMedia("(max-width: 900px)").matches) return; // which shows the inspector alone
    if (this.hasSelected || state.pod || state.node || state.view || model().isPast) return;
    const first = this.found.groups.find(({ place }) => place !== "active" && place !== "inFlight");
    if (!first) return;
    this.hasSelected = true;
    address.set({ pod: first.pods[0] }, { replace: true });
  }

  update() {
    const data = model();
    const past = data.isPast && data.past;
    const { counts, groupCount, groups } = past ? past.waitingGroups(this.#namedCount) : this.found;
    const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
    setText(this.count, total ? countText(total, "pod") : "");
    this.message.hidden = groups.length > 0;
    if (this.error) render(this.message, h("div", { class: "error" }, this.error));
    else if (!this.isLoaded && !data.isPast) setText(this.message, "Loading…");
    else render(this.message, "No pod waits for a node.");
    const shown = groups.slice(0, LISTED_MAX);
    const now = past ? null : data.clock.nowNs();
    const { pod: selected } = address.get();
    const texts = shown.map((group) => ({ group, age: group.created && now !== null ? durationText(Number(now - timeNs(group.created)) / 1e6) : "" }));
    const drawn = JSON.stringify([texts, selected, [...this.open]]);
    if (drawn !== this.drawn) render(this.rows, texts.map(({ group, age }) => this.#group(group, age, selected)));
    this.drawn = drawn;
    const rest = groupCount - shown.length;
    this.more.hidden = rest <= 0;
    if (rest > 0) setText(this.more, `and ${countText(rest, "group")} more`);
  }

  #group(group, age, selected) {
    const { key, place, count, pods, first } = group;
    const isOpen = count > 1 && this.open.has(key);
    const reason = reasonOf(first, place);
    const link = podLink(pods[0], key, titleOf(group), !isOpen && pods.includes(selected), () => this.#toggle(group));
    if (reason) link.title = reason;
    if (count > 1) link.setAttribute("aria-expanded", String(isOpen));
    link.append(
      h("span", { class: "why" }, causeOf(reason)),
      h("span", { class: "facts" }, place ? h("span", { class: "tag quiet" }, PLACES[place]) : null, count > 1 ? h("span", {}, `${isOpen ? "▾" : "▸"} ${countText(count, "pod")}`) : null, age ? h("span", { title: count > 1 ? "The age of the oldest" : "Its age" }, age) : null),
    );
    const rest = count - pods.length;
    return h(
      "li",
      { class: "group" },
      link,
      isOpen ? h("ul", { class: "pods" }, pods.map((pod) => h("li", {}, podLink(pod, `pod ${pod}`, pod, pod === selected, () => {}))), rest > 0 ? h("li", { class: "more small muted" }, `and ${countText(rest, "pod")} more`) : null) : null,
    );
  }

  #toggle({ key, count }) {
    if (count === 1) return;
    if (!this.open.delete(key)) this.open.add(key);
    this.load();
    this.invalidate();
  }

  focus() {
    (this.rows.querySelector("a[aria-current=true]") ?? this.rows.querySelector("a"))?.focus();
  }
}

function podLink(pod, key, text, isCurrent, chosen) {
  const follow = () => {
    address.set({ pod, node: null, attempt: null });
    chosen();
  };
  return innerLink(`?pod=${encodeURIComponent(pod)}`, { "aria-current": String(isCurrent), "data-focus": key }, follow, h("span", { class: "name" }, text));
}

define("pw-pending", Pending);
