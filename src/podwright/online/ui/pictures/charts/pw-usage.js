// How much is requested over time, and how many pods wait, from the timeline; a click goes to the moment.

import { address } from "../data/address.js";
import { PwElement, define, h, setText } from "../parts/dom.js";
import { momentText, timeText } from "../parts/format.js";
import { model } from "../data/model.js";
import { sheets } from "../parts/styles.js";
import { usageCurves } from "../parts/comparison.js";
import { axisBegin } from "../parts/time_marks.js";
import "./pw-curves.js";

const LOAD_MS = 10_000;
/** How much of the time may be spent on loading, as a divisor. */
const LOAD_SHARE = 20;
const STYLE = `
:host { display: grid; gap: var(--pw-space); align-content: start; max-width: 1500px; }
`;

class Usage extends PwElement {
  constructor() {
    super();
    this.root.adoptedStyleSheets = sheets(STYLE);
    this.message = h("p", { class: "muted", role: "status" }, "Loading…");
    this.curves = h("pw-curves", { hidden: true });
    this.root.append(h("h2", {}, "Requested share over time"), this.message, this.curves);
    this.curves.addEventListener("pw-at", ({ detail }) => this.#go(detail));
    this.loadAfterMs = 0;
  }

  start() {
    const data = model();
    this.undo.push(data.use());
    for (const type of ["mode", "state"]) this.listen(data, type, () => this.invalidate());
    this.every(1000, () => this.#load());
    this.#load();
  }

  async #load() {
    const data = model();
    // The past that is shown has its own place in its timeline.
    if (performance.now() < this.loadAfterMs || data.isPast || !data.source.isLive || this.closest("[hidden]")) return;
    this.loadAfterMs = Infinity;
    const begunMs = performance.now();
    await data.loadPast();
    const tookMs = performance.now() - begunMs;
    this.loadAfterMs = performance.now() + Math.max(LOAD_MS, LOAD_SHARE * tookMs);
    this.invalidate();
  }

  update() {
    const data = model();
    const { past, pastError, isPast } = data;
    this.curves.hidden = !past;
    this.message.hidden = Boolean(past) && Boolean(this.range && this.shares.size);
    setText(this.message, past ? "Nothing is requested." : pastError || "Loading…");
    if (!past) return;
    if (this.drawn !== past) {
      this.drawn = past;
      const nowNs = data.source.isLive ? data.clock.nowNs() : null;
      const endNs = nowNs > past.endNs ? nowNs : past.endNs;
      this.range = { beginNs: axisBegin(past, endNs), endNs };
      this.shares = usageCurves(past.timeline, this.range.beginNs, this.range.endNs);
      this.message.hidden = this.shares.size > 0;
    }
    const { beginNs, endNs } = this.range;
    const secondsOf = (ns) => Number(ns - beginNs) / 1e9;
    this.curves.data = { sides: [{ name: "all nodes", curves: this.shares }], seconds: secondsOf(endNs), atSeconds: isPast ? secondsOf(past.timeNs) : null, ends: [beginNs, endNs].map((ns) => momentText(ns, beginNs, endNs)) };
  }

  #go(seconds) {
    const { beginNs } = this.range;
    address.set({ at: timeText(beginNs + BigInt(Math.round(seconds * 1e9))) });
  }
}

define("pw-usage", Usage);
