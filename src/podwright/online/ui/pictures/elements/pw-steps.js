// The first minute: five steps for a small cluster with a pending pod, which can be left at any time.

import { address } from "../data/address.js";
import { PwElement, define, h, render } from "../parts/dom.js";
import { model } from "../data/model.js";
import { sheets } from "../parts/styles.js";

const NODES_MAX = 12;
const LEFT = "podwright-steps-left";
const STYLE = `
:host { flex: none; border-top: 1px solid var(--pw-line); background: var(--pw-surface); padding: calc(1.5 * var(--pw-space)) calc(2 * var(--pw-space)); }
ol { margin: 6px 0; }
li { padding: 3px 0 3px 22px; position: relative; color: var(--pw-muted); }
li::before { content: attr(data-mark); position: absolute; left: 0; }
li.now { color: var(--pw-text); }
li.now strong { display: block; }
`;

/**
 * The steps; `isDone` says when one is done, from the shared data and the address.
 */
export const STEPS = [
  {
    title: "Why is a pod pending?",
    text: "Select it in this list. The inspector names what rejects it, on how many nodes.",
    isDone: (data, state) => Boolean(state.pod && data.isClicked),
  },
  {
    title: "What would fix it?",
    text: "Below “What would fix it” are changes that were tried on a copy of the cluster. Apply one, and watch the pod get a node.",
    isDone: (data) => data.live.pods.unschedulable === 0,
  },
  {
    title: "Why there?",
    text: "Select a pod on a node: “Nodes and plugins” shows how many points each plugin gave to each node.",
    isDone: (data, state) => Boolean(state.pod && data.live.pods.unschedulable === 0 && state.pod !== data.firstPod),
  },
  {
    title: "Go back in time",
    text: "Drag the handle of the time bar to the left: everything on the page is as it was then. “Back to live” ends it.",
    isDone: (data) => data.isPast,
  },
  {
    title: "Change a weight",
    text: "The tab Compare schedules all pods again in a copy with other weights, and lists those that move.",
    isDone: (data, state) => state.view === "compare",
  },
];

class Steps extends PwElement {
  constructor() {
    super();
    this.root.adoptedStyleSheets = sheets(STYLE);
    this.at = -1; // not begun
    this.seen = { isClicked: false, firstPod: "" };
  }

  start() {
    this.hidden = true;
    const data = model();
    for (const type of ["live", "mode"]) this.listen(data, type, () => this.#look());
    this.listen(address, "change", () => this.#look());
    this.listen(document, "click", (event) => {
      this.seen.isClicked ||= event.composedPath().some(({ localName }) => localName === "pw-pending");
      this.#look();
    });
    this.#look();
  }

  #look() {
    const data = model();
    if (this.at < 0) {
      const fits = data.live.pods.unschedulable > 0 && data.live.slots().length <= NODES_MAX;
      if (!data.source.isLive || !fits || localStorage.getItem(LEFT)) return;
      this.at = 0;
    }
    const state = address.get();
    this.seen.firstPod ||= state.pod ?? "";
    const known = { ...this.seen, live: data.live, isPast: data.isPast };
    while (this.at < STEPS.length && STEPS[this.at].isDone(known, state)) this.at += 1;
    this.invalidate();
  }

  update() {
    if (this.at < 0) return;
    this.hidden = false;
    const isOver = this.at >= STEPS.length;
    const items = STEPS.map(({ title, text }, index) =>
      index === this.at ? h("li", { class: "now", "data-mark": "▸", "aria-current": "step" }, h("strong", {}, title), text) : h("li", { "data-mark": index < this.at ? "✓" : "" }, title),
    );
    render(
      this.root,
      h("div", { class: "row" }, h("h2", { class: "grow" }, "First steps"), h("button", { class: "plain", "data-focus": "leave", on: { click: () => this.#leave() } }, isOver ? "Close" : "Leave")),
      h("ol", {}, items),
      isOver ? h("p", { class: "muted" }, "Create your own pods on the page Resources or with kubectl, or open your manifests in a ", h("button", { class: "link", "data-focus": "new", on: { click: () => document.dispatchEvent(new Event("pw-new-cluster")) } }, "new cluster"), ".") : null,
    );
  }

  #leave() {
    localStorage.setItem(LEFT, "yes");
    this.remove();
  }
}

define("pw-steps", Steps);
