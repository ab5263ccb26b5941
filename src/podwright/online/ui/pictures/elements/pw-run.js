// A recorded run on the one screen.

import { address } from "../data/address.js";
import { PwElement, define, h } from "../parts/dom.js";
import { selectFirstPending } from "../data/first_pending.js";
import { model, setSource } from "../data/model.js";
import { RunSource } from "../data/run_source.js";
import { sheets } from "../parts/styles.js";

const STYLE = `
:host { --strip: 30px; display: block; }
.strip { display: flex; align-items: center; gap: calc(2 * var(--pw-space)); height: var(--strip); box-sizing: border-box;
  padding: 0 calc(2 * var(--pw-space)); border-bottom: 1px solid var(--pw-line); background: var(--pw-surface); }
pw-screen { height: calc(100vh - var(--pw-bar-height) - var(--strip)); }
.message { padding: calc(4 * var(--pw-space)); }
`;
const { run = "" } = address.get();

class Run extends PwElement {
  constructor() {
    super();
    this.root.adoptedStyleSheets = sheets(STYLE);
    this.root.append(h("div", { class: "empty message", role: "status" }, run ? `Loading the run ${run}…` : "No run is named. Open one on the page Runs."));
  }

  start() {
    if (run) this.#load();
  }

  async #load() {
    const source = new RunSource(run);
    try {
      await source.loadLabels();
      // Before there are elements, which read it.
      setSource(source);
      selectFirstPending(model());
      await import("./pw-screen.js");
    } catch (error) {
      this.root.replaceChildren(h("div", { class: "error message", role: "alert" }, `The run ${run} cannot be shown: ${error.message}`));
      return;
    }
    const strip = h("div", { class: "strip" }, h("strong", { class: "clip", title: run }, `Run ${run}`), h("span", { class: "muted" }, "recorded, read-only"), h("a", { href: "/runs" }, "All runs"));
    this.root.replaceChildren(strip, h("pw-screen"));
  }
}

define("pw-run", Run);
