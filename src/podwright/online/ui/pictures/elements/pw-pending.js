// The list of pending pods, each with its reason in a line.

import { address } from "../data/address.js";
import { PwElement, define, h, keyed, render, setText } from "../parts/dom.js";
import { countText } from "../parts/format.js";
import { model, throttled } from "../data/model.js";
import { sheets } from "../parts/styles.js";
import { LISTED_MAX, reasonOf, waitingPods } from "../data/waiting.js";

const ROW_PX = 66;
const ROWS_AROUND = 4; // drawn above and below those in view
const STYLE = `
:host { display: flex; flex-direction: column; min-height: 0; overflow: hidden; contain: content; }
header { display: flex; align-items: baseline; gap: var(--pw-space); height: 40px; padding: 10px calc(2 * var(--pw-space)); }
.list { position: relative; flex: 1; overflow-y: auto; overflow-x: hidden; border-top: 1px solid var(--pw-line); }
.rows { position: relative; }
.rows > li { position: absolute; inset: 0 0 auto 0; }
.pod { display: block; height: ${ROW_PX}px; padding: 7px calc(2 * var(--pw-space)); border-bottom: 1px solid var(--pw-line);
  border-left: 3px solid transparent; color: inherit; overflow: hidden; }
.pod:hover { background: var(--pw-hover); text-decoration: none; }
.pod[aria-current="true"] { background: var(--pw-selected); border-left-color: var(--pw-accent); }
.pod:focus-visible { outline-offset: -2px; }
.first { display: flex; gap: var(--pw-space); align-items: baseline; }
.first .name { flex: 1; font-weight: 600; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.why { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2; overflow: hidden; font-size: var(--pw-type-small);
  line-height: 16px; color: var(--pw-muted); overflow-wrap: anywhere; }
.more { padding: var(--pw-space) calc(2 * var(--pw-space)); }
`;

const PLACES = {
  unschedulable: "unschedulable",
  backoff: "back-off",
  errorBackoff: "back-off",
  error_backoff: "back-off",
  gated: "gated",
  active: "active",
  inFlight: "in flight",
  in_flight: "in flight",
};

class Pending extends PwElement {
  constructor() {
    super();
    this.root.adoptedStyleSheets = sheets(STYLE);
    this.count = h("span", { class: "muted" });
    this.rows = h("ul", { class: "rows", "aria-label": "Pending pods" });
    this.more = h("div", { class: "more small muted", hidden: true });
    this.list = h("div", { class: "list" }, this.rows, this.more);
    this.message = h("div", { class: "empty" }, "Loading…");
    this.root.append(h("header", {}, h("h2", {}, "Pending"), this.count), this.message, this.list);
    this.list.addEventListener("keydown", (event) => this.#key(event));
    // Asking the element for its position would force a layout in each frame.
    this.list.addEventListener("scroll", () => {
      this.topPx = this.list.scrollTop;
      this.invalidate();
    });
    this.topPx = 0;
    this.shown = [];
    this.roomPx = 0;
    this.found = { pods: [], total: 0 };
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
    this.every(3000, this.load);
    const observer = new ResizeObserver(([{ contentRect }]) => {
      this.roomPx = contentRect.height;
      this.invalidate();
    });
    observer.observe(this.list);
    this.undo.push(() => observer.disconnect());
    this.load();
  }

  #countsChanged() {
    const { placed, ...waiting } = model().live.pods;
    const counts = JSON.stringify(waiting);
    if (counts === this.counts) return;
    this.counts = counts;
    this.load();
  }

  async #load() {
    if (!model().source.isLive) return;
    try {
      this.found = await waitingPods(model());
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
    if (this.hasSelected || state.pod || state.node || state.view || model().isPast) return;
    const first = this.found.pods.find(({ place }) => place !== "active" && place !== "inFlight");
    if (!first) return;
    this.hasSelected = true;
    address.set({ pod: first.pod }, { replace: true });
  }

  update() {
    const data = model();
    const { pods, total } = data.isPast && data.past ? this.#past(data.past) : this.found;
    setText(this.count, total ? countText(total, "pod") : "");
    this.message.hidden = pods.length > 0;
    if (this.error) render(this.message, h("div", { class: "error" }, this.error));
    else if (!this.isLoaded && !data.isPast) setText(this.message, "Loading…");
    else render(this.message, "No pod waits for a node.");
    this.shown = pods;
    this.#drawRows(total);
  }

  /** Draws the rows in view, and some around them. */
  #drawRows(total) {
    const pods = this.shown;
    const { pod: selected } = address.get();
    const first = Math.max(0, Math.floor(this.topPx / ROW_PX) - ROWS_AROUND);
    const last = Math.ceil((this.topPx + this.roomPx) / ROW_PX) + ROWS_AROUND;
    keyed(this.rows, pods.slice(first, last), (each) => each.pod, row, (node, each, index) => fill(node, each, first + index, pods.length, selected));
    const rest = total - pods.length;
    this.rows.style.height = `${pods.length * ROW_PX}px`;
    this.more.hidden = rest <= 0;
    if (rest > 0) setText(this.more, `and ${rest.toLocaleString("en-US")} more`);
  }

  #past(past) {
    const { pods, counts } = past.waiting(LISTED_MAX);
    const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
    return { pods: pods.slice(0, LISTED_MAX).map((each) => ({ ...each, message: reasonOf(each, each.place) })), total };
  }

  #key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const { pod } = this.root.activeElement?.dataset ?? {};
    this.#focusRow(this.shown.findIndex((each) => each.pod === pod) + step);
  }

  /** Puts the focus on a row, which may have to be drawn first. */
  #focusRow(index) {
    const each = this.shown[index];
    if (!each) return;
    const top = index * ROW_PX;
    const lowest = top + ROW_PX - this.roomPx;
    if (this.list.scrollTop > top) this.list.scrollTop = top;
    if (this.list.scrollTop < lowest) this.list.scrollTop = lowest;
    this.topPx = this.list.scrollTop;
    this.update();
    this.rows.pwKeyed.get(each.pod)?.parts.link.focus();
  }

  focus() {
    const { pod } = address.get();
    this.#focusRow(Math.max(0, this.shown.findIndex((each) => each.pod === pod)));
  }
}

function row(each) {
  const name = h("span", { class: "name" });
  const place = h("span", { class: "tag" });
  const why = h("span", { class: "why" });
  const link = h("a", { class: "pod", href: `?pod=${encodeURIComponent(each.pod)}` });
  link.append(h("span", { class: "first" }, name, place), why);
  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    address.set({ pod: each.pod, node: null, attempt: null });
  });
  const item = h("li", {}, link);
  item.parts = { link, name, place, why };
  return item;
}

function fill(item, each, index, count, selected) {
  const { link, name, place, why } = item.parts;
  link.dataset.pod = each.pod;
  item.setAttribute("aria-setsize", String(count));
  item.setAttribute("aria-posinset", String(index + 1));
  setText(name, each.pod);
  link.title = each.message ? `${each.pod}\n${each.message}` : each.pod;
  setText(place, PLACES[each.place] ?? each.place);
  place.hidden = !each.place;
  setText(why, each.message);
  item.style.transform = `translateY(${index * ROW_PX}px)`;
  const isCurrent = String(each.pod === selected);
  if (link.getAttribute("aria-current") !== isCurrent) link.setAttribute("aria-current", isCurrent);
}

define("pw-pending", Pending);
