// The nodes: cards while they are few, else a heat map; filtered, grouped, selected.

import { nodeRights } from "../data/access.js";
import { cordon, deleteNode, drain, failNode, silentNodes } from "../parts/actions.js";
import { address } from "../data/address.js";
import { PwElement, define, h, options, render, setText } from "../parts/dom.js";
import { amountText, countText, numberText, percentText } from "../parts/format.js";
import { resourcesOf, shareOf } from "../data/live_state.js";
import { CARDS_MAX, model } from "../data/model.js";
import { CARDS_STYLE, drawCards, flagsOf } from "../parts/node_cards.js";
import { coloring, colorings, isInClass, isOfPod } from "../parts/node_colors.js";
import { ZONE, groupingKeys, shownNodes } from "../parts/node_filter.js";
import { podsOn } from "../data/pods.js";
import { matrixOf, resultsByNode } from "../parts/scores.js";
import { sheets } from "../parts/styles.js";
import { isDark, onTheme } from "../parts/theme.js";
import "../charts/pw-heat-map.js";

const STYLE = `
:host { display: flex; flex-direction: column; min-height: 0; min-width: 0; overflow: hidden; }
.tools { display: flex; flex-wrap: wrap; gap: var(--pw-space); align-items: center; padding: 7px calc(2 * var(--pw-space)) 0; }
.tools label { display: flex; gap: 6px; align-items: center; color: var(--pw-muted); }
.tools .count { min-width: 74px; }
.search { flex: 1 1 110px; max-width: 200px; } .filter { flex: 1 1 150px; max-width: 260px; } select { max-width: 112px; } label:last-of-type select { max-width: 190px; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 10px; align-items: center; font-size: var(--pw-type-small); color: var(--pw-muted); min-width: 0; }
.legend .key { display: inline-flex; gap: 4px; align-items: center; }
.legend button.key { padding: 0 3px; min-height: 22px; color: inherit; font-size: inherit; } .legend .scale { gap: 0; } .legend .scale button { padding: 0; border-width: 0; border-radius: 0; } .legend .scale i { border-width: 1px 0; border-radius: 0; width: 16px; } .legend .scale span { margin: 0 6px; }
.legend i { width: 12px; height: 12px; border-radius: 2px; background: var(--color); border: 1px solid var(--pw-line); }
.many { display: flex; flex-wrap: wrap; gap: var(--pw-space); align-items: center; padding: 6px calc(2 * var(--pw-space)); background: var(--pw-selected); }
.body { flex: 1; min-height: 0; min-width: 0; padding: 8px calc(2 * var(--pw-space)) 0; display: flex; flex-direction: column; }
pw-heat-map, .cards { flex: 1; }
.error { margin: 7px calc(2 * var(--pw-space)) 0; } .many { margin-top: 7px; }
${CARDS_STYLE}`;

class Nodes extends PwElement {
  constructor() {
    super();
    this.root.adoptedStyleSheets = sheets(STYLE);
    this.marked = new Set();
    this.allowed = {};
    this.actionError = "";
    this.scores = null;
    this.count = h("span", { class: "muted count" });
    this.search = h("input", { type: "search", class: "search", placeholder: "Search nodes", "aria-label": "Search nodes by name" });
    this.filter = h("input", { type: "search", class: "filter", placeholder: "Labels: zone=a,!spot", "aria-label": "Filter by label expression", spellcheck: "false" });
    this.group = h("select", { "aria-label": "Group by label" });
    this.color = h("select", { "aria-label": "Color by" });
    this.problem = h("div", { class: "error", role: "alert", hidden: true });
    this.many = h("div", { class: "many", hidden: true });
    this.legend = h("div", { class: "legend" });
    this.map = h("pw-heat-map", { hidden: true });
    this.cards = h("div", { class: "cards" });
    this.empty = h("div", { class: "empty", hidden: true });
    this.root.append(
      h("h2", { class: "hidden-text" }, "Nodes"),
      h("div", { class: "tools" }, this.count, this.search, this.filter),
      h("div", { class: "tools" }, h("label", {}, "Group", this.group), h("label", {}, "Color", this.color), this.legend),
      this.problem,
      this.many,
      h("div", { class: "body" }, this.empty, this.map, this.cards),
    );
    this.search.addEventListener("input", () => address.set({ search: this.search.value }, { replace: true }));
    this.filter.addEventListener("input", () => address.set({ filter: this.filter.value }, { replace: true }));
    this.group.addEventListener("change", () => address.set({ group: this.group.value }));
    this.color.addEventListener("change", () => address.set({ color: this.color.value, only: null }));
    this.map.addEventListener("pw-choose", (event) => address.set({ node: model().state.names[event.detail.slot], pod: null }));
    this.map.addEventListener("pw-mark", (event) => this.#mark(event.detail));
  }

  start() {
    const data = model();
    this.undo.push(data.use(), onTheme(() => this.invalidate()));
    data.followNodes();
    for (const type of ["state", "mode", "labels", "pods", "connection"]) this.listen(data, type, () => this.invalidate());
    this.listen(address, "change", () => this.#selected());
    this.listen(data, "explained", () => this.#selected());
    this.#selected();
    this.#access();
  }

  async #access() {
    const { source } = model();
    const [allowed, silent] = await Promise.all([nodeRights(source), source.isLive ? silentNodes(source) : null]);
    this.allowed = { ...allowed, fail: allowed.fail && silent !== null };
    this.invalidate();
  }

  #selected() {
    this.#loadScores();
    this.invalidate();
  }

  async #loadScores() {
    const { pod, color = "" } = address.get();
    const { explained, source } = model();
    if (!isOfPod(color) || !pod || explained?.pod !== pod) {
      this.scores = null;
      return;
    }
    try {
      this.scores = resultsByNode(await matrixOf(source, pod, explained.query, explained.matrixVersion));
      this.scoresError = "";
    } catch (error) {
      this.scores = null;
      this.scoresError = error.message;
    }
    this.invalidate();
  }

  #mark({ slots, isAdded }) {
    for (const slot of slots) {
      const name = model().state.names[slot];
      if (isAdded) this.marked.add(name);
      else this.marked.delete(name);
    }
    this.invalidate();
  }

  update() {
    const data = model();
    const { state } = data;
    const address_ = address.get();
    this.#tools(state, address_);
    if (!state.isKnown) {
      this.empty.hidden = false;
      setText(this.empty, data.connection.isConnected ? "Loading…" : data.connection.reason);
      return;
    }
    const colors = coloring(this.color.value || "cpu", state, data.labels, this.scores, isDark());
    const shown = this.#only(this.#shown(data, address_), colors, address_.only);
    const total = state.slots().length;
    setText(this.count, shown.count === total ? countText(total, "node") : `${numberText(shown.count)} of ${countText(total, "node")}`);
    const problem = shown.error || this.scoresError || "";
    this.problem.hidden = !problem;
    setText(this.problem, problem);
    this.filter.setAttribute("aria-invalid", String(Boolean(shown.error)));
    const isMap = shown.count > CARDS_MAX || !data.hasCards;
    const isLoading = isOfPod(this.color.value) && Boolean(address_.pod) && !this.scores && !this.scoresError;
    this.#legend(colors, isMap, address_.only ?? "", isLoading);
    this.#many(data);
    this.map.hidden = !isMap || !shown.count;
    this.cards.hidden = isMap || !shown.count;
    this.empty.hidden = shown.count > 0;
    if (!shown.count) setText(this.empty, total ? "No node matches. Change the search or the label expression." : "There are no nodes. Create one on the page Resources, or start the server with --nodes.");
    const drawn = { groups: shown.groups, state, coloring: colors, selected: this.marked, current: address_.node ?? "" };
    if (isMap) this.map.data = { ...drawn, describe: (slot) => this.#describe(slot) };
    else drawCards(this.cards, { ...drawn, podsOf: (slot) => data.podsOf(slot), pod: address_.pod ?? "", mark: (slot) => this.#mark({ slots: [slot], isAdded: !this.marked.has(state.names[slot]) }) });
  }

  /** Returns the groups; the same object while nothing of them has changed. */
  #shown(data, { search = "", filter = "", group = "" }) {
    const { state, labels } = data;
    const made = [state, state.nodesVersion, labels, search, filter, group];
    if (!this.made || made.some((part, index) => part !== this.made[index])) {
      this.made = made;
      this.groups = shownNodes(state, labels, { search, filter, group });
    }
    return this.groups;
  }

  /** Returns the nodes of a class of the legend; all of them without one. */
  #only(shown, colors, only) {
    const isLoading = isOfPod(this.color.value) && !this.scores;
    if (!only || colors.isRange || isLoading) return shown;
    const groups = shown.groups.map(({ title, slots }) => ({ title, slots: slots.filter((slot) => isInClass(colors, slot, only)) })).filter(({ slots }) => slots.length);
    return { ...shown, groups, count: groups.reduce((sum, { slots }) => sum + slots.length, 0) };
  }

  #tools(state, { search = "", filter = "", group = "", color = "cpu", pod = "" }) {
    const { activeElement } = this.root;
    if (activeElement !== this.search) this.search.value = search;
    if (activeElement !== this.filter) this.filter.value = filter;
    const keys = groupingKeys(model().labels);
    options(this.group, [["", "none"], ...(group && !keys.includes(group) ? [[group, group]] : []), ...keys.map((key) => [key, key === ZONE ? "zone" : key])], group);
    options(this.color, colorings(state, Boolean(pod), keys, this.scores).map(({ key, title }) => [key, title]), color);
  }

  #legend({ legend, isRange }, isMap, only, isLoading) {
    const key = JSON.stringify([legend, isMap, only, isLoading]);
    if (key === this.legendKey) return;
    this.legendKey = key;
    const swatch = (color, text) => h("i", { style: { "--color": color }, title: text });
    const change = (filter, text) => (filter ? { filter: address.get().filter === filter ? null : filter } : { only: only === text ? null : text });
    const choice = ({ color, text, filter }, ...content) => h("button", { class: "plain key", "data-focus": `legend ${text}`, "aria-pressed": String(text === only), "aria-label": text, title: `${text}: show these nodes only, or all again`, on: { click: () => address.set(change(filter, text)) } }, swatch(color, text), content, text === only ? " ✕" : null);
    const isScale = legend.length === 10;
    const entry = (each) => (isRange ? h("span", { class: "key" }, swatch(each.color, each.text), each.text) : choice(each, each.text));
    render(
      this.legend,
      isLoading ? h("span", { class: "key", role: "status" }, "No results for the pod yet") : null,
      isScale ? h("span", { class: "key scale" }, h("span", {}, "0%"), legend.map((each) => choice(each)), h("span", {}, "100%")) : legend.map(entry),
      only && !isRange && !legend.some(({ text }) => text === only) ? h("button", { "data-focus": "all", on: { click: () => address.set({ only: null }) } }, `Only ${only} ✕`) : null,
      isMap ? [h("span", { class: "key" }, "╳ not ready"), h("span", { class: "key" }, "╱ cordoned")] : null,
    );
  }

  #many(data) {
    const names = [...this.marked].filter((name) => data.state.names.includes(name));
    this.many.hidden = names.length === 0;
    if (this.many.hidden) return;
    const editable = data.isEditable;
    const { copied } = data.nodeLabels;
    const canFail = this.allowed.fail && !names.some((name) => copied.has(name));
    const button = (title, action) => h("button", { "data-focus": title, disabled: this.isActing, on: { click: () => this.#act(names, action) } }, title);
    render(
      this.many,
      h("strong", {}, `${countText(names.length, "node")} selected`),
      editable && this.allowed.cordon ? [button("Cordon", (name) => cordon(data.source, name, true)), button("Uncordon", (name) => cordon(data.source, name, false))] : null,
      editable && this.allowed.drain ? button("Drain", (name) => drainNode(data.source, name)) : null,
      editable && canFail ? [button("Fail", (name) => failNode(data.source, name, true)), button("Restore", (name) => failNode(data.source, name, false))] : null,
      editable && this.allowed.remove ? button("Delete", (name) => deleteNode(data.source, name)) : null,
      h("button", { class: "plain", "data-focus": "none", on: { click: () => (this.marked.clear(), (this.actionError = ""), this.invalidate()) } }, "Select none"),
      this.actionError ? h("div", { class: "error", role: "alert" }, this.actionError) : null,
    );
  }

  async #act(names, action) {
    this.isActing = true;
    this.actionError = "";
    this.invalidate();
    const errors = [];
    for (const name of names) {
      try {
        const refused = await action(name);
        if (Array.isArray(refused)) errors.push(...refused);
      } catch (error) {
        errors.push(`${name}: ${error.message}`);
      }
    }
    this.isActing = false;
    this.actionError = errors.join("\n");
    model().refresh();
    this.invalidate();
  }

  #describe(slot) {
    const { state, labels } = model();
    const name = state.names[slot];
    const lines = resourcesOf(state).map((resource) => {
      const [requested, allocatable] = ["requested", "allocatable"].map((kind) => amountText(resource, state.column(`${kind}/${resource}`)[slot] ?? 0));
      return `${resource}: ${requested} of ${allocatable} requested (${percentText(shareOf(state, resource, slot))})`;
    });
    const zone = labels.get(name)?.[ZONE];
    const score = this.scores?.totals.get(name);
    const flags = flagsOf(state, slot).map(({ text }) => text).join(", ");
    return [name, `${flags}${zone ? ` · ${zone}` : ""}`, ...lines, ...(this.scores ? [score === null || score === undefined ? "rejected for the pod" : `score for the pod: ${score}`] : [])].join("\n");
  }

  focus() {
    if (this.map.hidden) (this.cards.querySelector("[data-current] a") ?? this.cards.querySelector("a"))?.focus();
    else this.map.focus();
  }

  focusSearch() {
    this.search.focus();
  }
}

/** Cordons a node and evicts the pods that it has now. */
export async function drainNode(source, name) {
  return drain(source, name, await podsOn(source, name));
}

define("pw-nodes", Nodes);
