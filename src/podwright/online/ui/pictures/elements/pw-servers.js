// Compares with another server or run: the same pods, and the requested shares over time.

import { alignedRanges, differences, usageCurves } from "../parts/comparison.js";
import { PwElement, define, h, humps, more, render, setText, table } from "../parts/dom.js";
import { nodeLink, podLink } from "../parts/explanation.js";
import { clockText, countText, numberText, timeText } from "../parts/format.js";
import { whyNot } from "../parts/matrix_rows.js";
import { model, throttled } from "../data/model.js";
import { PastState } from "../data/past_state.js";
import { matrixOf } from "../parts/scores.js";
import { sheets } from "../parts/styles.js";
import { readTimeline } from "../data/timeline_reader.js";
import "../charts/pw-curves.js";

const STYLE = `
:host { display: grid; gap: calc(2 * var(--pw-space)); align-content: start; }
th .mono { text-transform: none; letter-spacing: 0; }
td:first-child { min-width: 110px; overflow-wrap: anywhere; }
td:nth-child(2), td:nth-child(3) { min-width: 84px; }
.because { overflow-wrap: anywhere; min-width: 220px; }
.because p + p { margin-top: 2px; }
.because .side { color: var(--pw-muted); }
`;
const ROWS_SHOWN = 300;
const REASONS_AT_ONCE = 10;
const NAMES_SHOWN = 20;

class Servers extends PwElement {
  constructor() {
    super();
    this.root.adoptedStyleSheets = sheets(STYLE);
    this.again = h("button", {}, "Load again");
    this.heading = h("h2", { role: "status" }, "Loading…");
    this.note = h("p", { class: "muted" });
    this.problem = h("div", { class: "error", role: "alert", hidden: true });
    this.curves = h("pw-curves", {});
    this.table = h("div", {});
    this.rest = h("div", { class: "stack" });
    const shares = h("section", { class: "stack" }, h("h3", {}, "Requested share over time"), this.curves);
    this.root.append(h("div", { class: "row wrap" }, h("div", { class: "grow" }, this.heading), this.again), this.problem, this.note, this.table, this.rest, shares);
    this.again.addEventListener("click", () => this.#load());
    this.compare = throttled(250, () => this.#compare());
    this.reasons = new Map();
  }

  /**
   * @param {{name: string, here: string, source: import("../data/source.js").Source}} other what to compare
   *   with, and the name of what the page shows
   */
  set other({ name, here, source }) {
    this.sides = [
      { name: here, source: model().source },
      { name, source },
    ];
  }

  start() {
    const data = model();
    this.undo.push(data.use());
    for (const type of ["mode", "state"]) this.listen(data, type, () => (data.isPast || this.wasPast) && this.compare());
    this.#load();
  }

  async #load() {
    this.again.disabled = true;
    this.reasons.clear();
    const errors = [];
    for (const side of this.sides) {
      try {
        side.past = new PastState(readTimeline(await side.source.bytes("/podwright/v1/timeline")));
      } catch (error) {
        errors.push(`${side.name}: ${error.message}`);
      }
    }
    this.again.disabled = false;
    this.problem.hidden = !errors.length;
    setText(this.problem, errors.join("\n"));
    if (errors.length) setText(this.heading, "Compare");
    else this.compare();
  }

  /** Compares at the shown time of the past, else at the end of both. */
  #compare() {
    const [here, there] = this.sides;
    if (!here.past || !there.past) return;
    const data = model();
    this.wasPast = data.isPast;
    const { isClock, ranges } = alignedRanges(here.past, there.past);
    const key = `${ranges[0].beginNs} ${ranges[0].endNs} ${here.past.endNs}`;
    if (key !== this.curvesKey) {
      this.curvesKey = key;
      this.sides.forEach((side, index) => (side.curves = usageCurves(side.past.timeline, ranges[index].beginNs, ranges[index].endNs)));
    }
    // A recorded run has no present: at its end, the ends are compared.
    const isPast = data.isPast && data.past && (data.source.isLive || data.past.timeNs < data.past.endNs);
    const sinceNs = isPast ? data.past.timeNs - ranges[0].beginNs : null;
    this.sides.forEach((side, index) => side.past.seek(sinceNs === null ? side.past.endNs : ranges[index].beginNs + sinceNs));
    const seconds = Number(ranges[0].endNs - ranges[0].beginNs) / 1e9;
    this.curves.data = { sides: this.sides, seconds, atSeconds: sinceNs === null ? null : Number(sinceNs) / 1e9 };
    this.found = differences(here.past.places(), there.past.places());
    const { both, paired, different } = this.found;
    setText(this.heading, different.length ? `${numberText(different.length)} of ${countText(both, "pod")} ${different.length === 1 ? "is" : "are"} placed differently.` : both ? `All ${countText(both, "pod")} have the same place.` : "They have no pods in common.");
    const when = sinceNs === null ? "at the end of both" : isClock ? `at ${clockText(timeText(data.past.timeNs))}` : "as long after the begin of each";
    const pairs = paired ? ` ${countText(paired, "pod")} with another name ${paired === 1 ? "is" : "are"} matched by workload, in order of creation.` : "";
    setText(this.note, `Between ${here.name} and ${there.name}, ${when}. Pods are the same if their namespace and name are.${pairs}`);
    this.#showRows();
    this.#showRest();
  }

  #showRows() {
    const { different } = this.found;
    const pending = () => h("span", { class: "muted" }, "pending");
    const rows = different.slice(0, ROWS_SHOWN).map(({ pod, counterpart, here, there }) => [
      [podLink(pod), counterpart ? h("div", { class: "small muted", title: `Its name in ${this.sides[1].name}` }, counterpart) : null],
      here ? nodeLink(here) : pending(),
      there ? h("span", { class: "mono" }, there) : pending(),
      this.#because({ pod, counterpart, here, there }),
    ]);
    const heads = ["Pod", h("span", { class: "mono" }, this.sides[0].name), h("span", { class: "mono" }, this.sides[1].name), ["Because", "because"]];
    render(
      this.table,
      rows.length ? table(heads, rows) : null,
      more(different.length - ROWS_SHOWN, "pod"),
    );
    if (!model().isPlaying) this.#loadReasons();
  }

  #because(difference) {
    const { pod } = difference;
    const known = this.reasons.get(keyOf(difference));
    if (known === "…") return h("span", { class: "muted" }, "Loading…");
    if (!known) return h("button", { class: "link small", "data-focus": pod, on: { click: () => this.#loadReason(difference) } }, "explain");
    return known.map(([side, text]) => h("p", {}, h("span", { class: "side" }, `${side}: `), humps(text)));
  }

  /** Explains the first differences; the others when a user requests it. */
  async #loadReasons() {
    if (this.isExplaining) return;
    this.isExplaining = true;
    for (const each of this.found.different.slice(0, REASONS_AT_ONCE)) await this.#loadReason(each);
    this.isExplaining = false;
  }

  async #loadReason(difference) {
    const { pod, counterpart, here, there } = difference;
    const key = keyOf(difference);
    if (this.reasons.has(key)) return;
    this.reasons.set(key, "…");
    const [one, other] = this.sides;
    const texts = await Promise.all([against(one, pod, there), against(other, counterpart || pod, here)]);
    this.reasons.set(
      key,
      texts.map((text, index) => [this.sides[index].name, text]).filter(([, text]) => text),
    );
    this.compare();
  }

  #showRest() {
    const { onlyHere, onlyThere } = this.found;
    const list = (title, names) => {
      if (!names.length) return null;
      const rest = names.length - NAMES_SHOWN;
      return h("p", {}, `${title}: `, h("span", { class: "mono" }, names.slice(0, NAMES_SHOWN).join(", ")), rest > 0 ? ` and ${numberText(rest)} more` : "");
    };
    render(this.rest, list(`Only in ${this.sides[0].name}`, onlyHere), list(`Only in ${this.sides[1].name}`, onlyThere));
  }
}

function keyOf({ pod, counterpart, here, there }) {
  return `${pod} ${counterpart} ${here} ${there}`;
}

/** Returns what a cluster has against a node for a pod, by the pod's last attempt there. */
async function against({ source }, pod, node) {
  try {
    const matrix = await matrixOf(source, pod, "", "");
    if (!node) return matrix.node ? "" : matrix.message;
    const index = matrix.nodes.indexOf(node);
    return index < 0 ? `there was no node ${node}` : whyNot(matrix, index);
  } catch (error) {
    return error.message;
  }
}

/** Returns the server that this page can compare with; null if there is none. */
export function comparedServer() {
  return document.querySelector('meta[name="pw-compared"]')?.content ?? null;
}

define("pw-servers", Servers);
