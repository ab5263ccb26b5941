// The one screen: pending pods on the left, nodes in the center, what is selected on the right.

import { address } from "../data/address.js";
import { PwElement, define, h, innerLink, isInField, isTaken, render, setText } from "../parts/dom.js";
import { model } from "../data/model.js";
import { sheets } from "../parts/styles.js";
import "./pw-compare.js";
import "./pw-help.js";
import "./pw-node.js";
import "./pw-nodes.js";
import "./pw-pending.js";
import "./pw-plan.js";
import "./pw-pod.js";
import "./pw-results.js";
import "./pw-steps.js";
import "./pw-time.js";
import "../charts/pw-usage.js";

const STYLE = `
:host { display: block; height: calc(100vh - var(--pw-bar-height)); width: 100%; overflow: hidden; background: var(--pw-background); }
.frame { display: flex; flex-direction: column; height: 100%; }
.notice { padding: 7px calc(2 * var(--pw-space)); background: var(--pw-warning-surface); color: var(--pw-text); border-bottom: 1px solid var(--pw-line); }
.notice.past { background: var(--pw-warning-surface); }
.columns { flex: 1; min-height: 0; display: grid; grid-template: minmax(0, 1fr) / var(--left, 290px) 1px minmax(200px, 1fr) 1px var(--right, 440px); }
.columns.past { box-shadow: inset 0 0 0 2px var(--pw-past); padding: 2px; }
@media (min-width: 901px) {
  .columns.wide { grid-template-columns: var(--left, 290px) 1px minmax(200px, 1fr); }
  .columns.wide > .right, .columns.wide > [data-of="--right"] { display: none; }
}
.columns > * { min-height: 0; min-width: 0; }
.center { display: flex; flex-direction: column; overflow: hidden; }
.center > pw-nodes, .center > pw-compare, .center > pw-plan { flex: 1; }
.results { overflow: auto; }
.usage { overflow: auto; padding: calc(2 * var(--pw-space)); }
.tabs { display: flex; gap: 2px; padding: 0 var(--pw-space); border-bottom: 1px solid var(--pw-line); }
.tabs a { padding: 7px 10px 5px; color: var(--pw-muted); border-bottom: 2px solid transparent; }
.tabs a:hover { color: var(--pw-text); text-decoration: none; }
.tabs a[aria-current] { color: var(--pw-text); border-bottom-color: var(--pw-accent); }
.split { position: relative; background: var(--pw-line); cursor: col-resize; }
.split::after { content: ""; position: absolute; inset: 0 -4px; }
.split:focus-visible { outline: 2px solid var(--pw-accent); outline-offset: 1px; }
.right { overflow-y: auto; overflow-x: hidden; scrollbar-gutter: stable; }
.left { display: flex; flex-direction: column; overflow: hidden; }
.left > pw-pending { flex: 1; }
.left > pw-steps { overflow: auto; max-height: 60%; }
.left, .right { background: var(--pw-raised); }
.parts { display: none; }
@media (max-width: 900px) {
  .columns { grid-template: minmax(0, 1fr) / minmax(0, 1fr); }
  .split { display: none; }
  .right { scrollbar-gutter: auto; }
  .columns > :not([data-shown]) { display: none; }
  .parts { display: flex; border-top: 1px solid var(--pw-line); background: var(--pw-surface); }
  .parts button { flex: 1; min-height: 44px; border: 0; border-radius: 0; border-top: 2px solid transparent; background: none; }
  .parts button[aria-pressed="true"] { border-top-color: var(--pw-accent); font-weight: 600; }
}
`;

const VIEWS = [
  ["", "Nodes"],
  ["compare", "Compare"],
  ["plan", "Plan"],
  ["usage", "Usage"],
  ["results", "Findings"],
];

class Screen extends PwElement {
  constructor() {
    super();
    this.root.adoptedStyleSheets = sheets(STYLE);
    this.notice = h("div", { class: "notice", role: "status", hidden: true });
    this.pending = h("pw-pending");
    this.nodes = h("pw-nodes");
    this.pod = h("pw-pod");
    this.node = h("pw-node", { hidden: true });
    this.right = h("aside", { class: "right", "aria-label": "Inspector" }, this.pod, this.node);
    this.compare = h("pw-compare", { hidden: true });
    this.tabs = h("nav", { class: "tabs", "aria-label": "Views" });
    this.plan = h("pw-plan", { hidden: true });
    this.results = h("div", { class: "results", hidden: true });
    this.usage = h("div", { class: "usage", hidden: true });
    this.center = h("div", { class: "center" }, this.tabs, this.nodes, this.compare, this.plan, this.usage, this.results);
    this.left = h("div", { class: "left" }, this.pending, h("pw-steps"));
    this.main = h("div", { class: "columns" }, this.left, this.#split("--left", 1, 180, 480, innerWidth > 1100 ? 290 : 220), this.center, this.#split("--right", -1, 300, 1100, Math.max(innerWidth > 1100 ? 440 : 380, Math.min(680, Math.round(innerWidth * 0.34)))), this.right);
    this.parts = h("nav", { class: "parts", "aria-label": "Parts of the page" });
    this.shown = address.get().pod || address.get().node ? "Inspector" : address.get().view ? "Nodes" : "Pending";
    this.help = h("pw-help");
    this.root.append(h("div", { class: "frame" }, h("h1", { class: "hidden-text" }, "Cluster"), this.notice, this.main, this.parts), this.help);
  }

  start() {
    const data = model();
    this.undo.push(data.use());
    this.listen(address, "change", ({ detail }) => {
      const { pod, node } = address.get();
      if (detail.includes("pod") || detail.includes("node")) this.shown = pod || node ? "Inspector" : this.shown === "Inspector" ? "Nodes" : this.shown;
      this.invalidate();
    });
    for (const type of ["mode", "connection"]) this.listen(data, type, () => this.invalidate());
    this.listen(document, "keydown", (event) => this.#key(event));
  }

  update() {
    const data = model();
    const { node, pod, view = "" } = address.get();
    const parts_ = { compare: this.compare, plan: this.plan, usage: this.usage, results: this.results };
    for (const [key, part] of Object.entries(parts_)) part.hidden = view !== key;
    this.nodes.hidden = view in parts_;
    if (view === "results" && !this.results.firstChild) this.results.append(h("pw-results"));
    if (view === "usage" && !this.usage.firstChild) this.usage.append(h("pw-usage"));
    // Forms and figures have the room of the inspector while nothing is selected.
    this.main.classList.toggle("wide", this.nodes.hidden && !node && !pod);
    // A file has nothing to compare with, and a live cluster has no results.
    const isFile = !data.source.isLive && !address.get().run;
    const views = VIEWS.filter(([key]) => !(key === "results" && data.source.isLive) && !(key === "usage" && !data.source.isLive) && !(key === "compare" && isFile) && !(key === "plan" && !data.source.isLive));
    render(this.tabs, views.map(([key, title]) => tab(key, title, view)));
    // Where three parts do not fit, one is shown at a time.
    const parts = { Pending: this.left, Nodes: this.center, Inspector: this.right };
    for (const [title, part] of Object.entries(parts)) part.toggleAttribute("data-shown", title === this.shown);
    const show = (title) => () => {
      this.shown = title;
      this.invalidate();
    };
    render(this.parts, Object.keys(parts).map((title) => h("button", { "aria-pressed": String(title === this.shown), "data-focus": title, on: { click: show(title) } }, title)));
    this.pod.hidden = Boolean(node);
    this.node.hidden = !node;
    const { isConnected, reason } = data.connection;
    let text = "";
    if (!isConnected) text = `Not connected: ${reason} The page continues when the server is back.`;
    else if (data.pastError) text = `The past cannot be shown: ${data.pastError}`;
    this.main.classList.toggle("past", data.isPast);
    this.notice.hidden = !text;
    setText(this.notice, text);
  }

  #split(property, sign, least, most, initial) {
    const split = h("div", { class: "split", "data-of": property, role: "separator", tabindex: "0", "aria-orientation": "vertical", "aria-label": property === "--left" ? "Width of the pending pods" : "Width of the inspector", "aria-valuemin": least, "aria-valuemax": most, "aria-valuenow": initial });
    let width = Number(stored(property)) || initial;
    const set = (next) => {
      width = Math.max(least, Math.min(most, next));
      this.main?.style.setProperty(property, `${width}px`);
      split.setAttribute("aria-valuenow", String(Math.round(width)));
      store(property, String(Math.round(width)));
    };
    queueMicrotask(() => set(width));
    split.addEventListener("pointerdown", (event) => {
      split.setPointerCapture(event.pointerId);
      const [from, before] = [event.clientX, width];
      const move = (moved) => set(before + sign * (moved.clientX - from));
      split.addEventListener("pointermove", move);
      split.addEventListener("pointerup", () => split.removeEventListener("pointermove", move), { once: true });
    });
    split.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 20, ArrowLeft: -20 }[event.key];
      if (step) set(width + sign * step);
    });
    return split;
  }

  #key(event) {
    if (isTaken(event)) return;
    if (event.key === "Escape" && !this.help.open) {
      if (isInField(event)) event.composedPath()[0].blur();
      else address.set({ pod: null, node: null });
      return;
    }
    if (isInField(event)) return;
    const actions = {
      1: () => this.pending.focus(),
      2: () => this.nodes.focus(),
      3: () => (this.node.hidden ? this.pod : this.node).focus(),
      "/": () => this.nodes.focusSearch(),
      c: () => address.set({ view: address.get().view === "compare" ? null : "compare" }),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  }
}

function tab(key, title, current) {
  return innerLink(address.link({ view: key }), { "aria-current": key === current ? "page" : null, "data-focus": `view-${key}` }, () => address.set({ view: key }), title);
}

function stored(key) {
  try {
    return localStorage.getItem(`podwright${key}`);
  } catch {
    return null; // storage is not allowed for files
  }
}

function store(key, value) {
  try {
    localStorage.setItem(`podwright${key}`, value);
  } catch {
    // The width is that of this page only.
  }
}

define("pw-screen", Screen);
