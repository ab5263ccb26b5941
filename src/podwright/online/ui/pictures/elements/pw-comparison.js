// Where the pods would be with another scheduler: the progress of the comparison, then its result.

import { PwElement, define, h, humps, more, render } from "../parts/dom.js";
import { nodeLink, podLink } from "../parts/explanation.js";
import { amountText, countText, numberText, percentText } from "../parts/format.js";
import { model } from "../data/model.js";
import { moveNodes } from "../parts/plan.js";
import { sheets } from "../parts/styles.js";
import { becauseText, configurationText, placeText } from "../parts/what_if.js";
import { Work } from "../parts/work.js";
import "../charts/pw-after.js";

const ROWS_SHOWN = 500;
const STYLE = `
:host { display: grid; gap: calc(2 * var(--pw-space)); align-content: start; }
:host > *, .results > * { min-width: 0; }
.results { display: grid; gap: calc(2 * var(--pw-space)); }
.rows { overflow-x: auto; }
.rows table { min-width: 560px; } td { overflow-wrap: anywhere; }
th.group { text-transform: none; letter-spacing: 0; color: var(--pw-text); padding-top: 12px; }
th.pod { width: 27%; } th.place { width: 13%; }
.uses { display: grid; grid-template-columns: max-content minmax(60px, 1fr) minmax(0, max-content); gap: 4px calc(1.5 * var(--pw-space)); align-items: center; max-width: 760px; }
.uses .pair { display: grid; gap: 2px; }
.uses .track { height: 7px; border-radius: 2px; background: var(--pw-hover); overflow: hidden; }
.uses .track::after { content: ""; display: block; height: 100%; width: calc(100% * min(1, var(--share))); background: var(--pw-muted); }
.uses .track.after::after { background: var(--pw-accent); }
.key i { display: inline-block; width: 12px; height: 7px; border-radius: 2px; background: var(--pw-muted); margin-right: 4px; } .key i.after { background: var(--pw-accent); }
pre.written { font: 12px/1.4 var(--pw-mono); margin: 6px 0; padding: var(--pw-space); background: var(--pw-surface); border: 1px solid var(--pw-line); border-radius: 4px; overflow: auto; }
summary { cursor: pointer; color: var(--pw-muted); }
`;
const CHANGES = {
  moved: "moved",
  newlyPending: "newly pending",
  noLongerPending: "no longer pending",
  nominatedElsewhere: "nominated elsewhere",
  added: "added",
  removed: "removed",
};

class Comparison extends PwElement {
  constructor() {
    super();
    this.root.adoptedStyleSheets = sheets(STYLE);
    this.work = new Work((isRunning) => this.emit("pw-running", isRunning));
    this.work.bar.setAttribute("aria-label", "Pods scheduled");
    this.results = h("div", { class: "results", "aria-live": "polite" });
    this.root.append(this.work.row, this.work.problem, this.results);
  }

  start() {
    this.undo.push(() => this.work.abort());
  }

  /**
   * Compares, and shows the result.
   *
   * @param {any} body of POST /podwright/v1/what-if; `configuration` may be a text of YAML or JSON
   * @returns {Promise<number>} how many milliseconds it took
   */
  async compare(body) {
    this.hidden = false;
    const begunMs = performance.now();
    await this.work.run("decision", async (signal, show) => {
      const { configuration, ...sent } = body;
      if (configuration) sent.configuration = typeof configuration === "string" ? await model().source.read(configuration) : configuration;
      if (!configuration && !Object.keys(sent.weights ?? {}).length) throw new Error("Change a weight, or enter another configuration.");
      this.#show(await model().source.lines("/podwright/v1/what-if", { ...sent, progress: true }, show, signal), body.weights ?? {});
    });
    return performance.now() - begunMs;
  }

  #show({ pods, nodes, resources, zones, summary }, weights) {
    const written = configurationText(weights);
    const row = (each) => h("tr", {}, [podLink(each.pod), CHANGES[each.change] ?? each.change, place(each.before), place(each.after), humps(becauseText(reasonOf(each)))].map((cell) => h("td", {}, cell)));
    const rows = groupsByCause(pods.slice(0, ROWS_SHOWN)).map(({ title, pods: of }) => h("tbody", {}, h("tr", {}, h("th", { class: "group", colspan: "5", scope: "rowgroup" }, title)), of.map(row)));
    const picture = h("pw-after", { hidden: true });
    picture.data = { nodes: moveNodes(pods.map(({ before, after }) => ({ node: before?.node, to: after?.node, requests: {} }))) };
    const heads = [["Pod", "pod"], ["Change", "place"], ["Before", "place"], ["After", "place"], ["Because", ""]];
    render(
      this.results,
      h("h2", {}, summary.same ? `All ${countText(summary.pods, "pod")} have the same place.` : `${numberText(summary.different)} of ${countText(summary.pods, "pod")} ${summary.different === 1 ? "is" : "are"} placed differently.`),
      picture,
      rows.length ? h("div", { class: "rows" }, h("table", {}, h("thead", {}, h("tr", {}, heads.map(([text, kind]) => h("th", { scope: "col", class: kind }, text)))), rows)) : null,
      more(pods.length - ROWS_SHOWN, "pod"),
      h(
        "section",
        { class: "stack" },
        h("h3", {}, "Requested share"),
        h("p", { class: "small muted key" }, h("i"), "before ", h("i", { class: "after" }), "after"),
        h("div", { class: "uses" }, resources.map(use)),
        h("p", {}, `Nodes in use: ${numberText(nodes.used.before)} before, ${numberText(nodes.used.after)} after.`),
        written ? h("details", { open: this.results.querySelector("details")?.open }, h("summary", {}, "The weights as a configuration"), h("pre", { class: "written" }, written), h("button", { type: "button", on: { click: () => navigator.clipboard?.writeText(written) } }, "Copy")) : null,
        zones.length > 1 ? h("p", {}, `Pods by zone: ${zones.map(({ zone, pods: counts }) => `${zone ?? "none"} ${numberText(counts.before)} → ${numberText(counts.after)}`).join(", ")}.`) : null,
      ),
    );
  }
}

function reasonOf({ reasons }) {
  return reasons.after ?? reasons.before;
}

/** Returns the pods by what makes the difference, the largest group first. */
function groupsByCause(pods) {
  const groups = Object.groupBy(pods, (each) => {
    const change = CHANGES[each.change] ?? each.change;
    return each.followsOther ? `${change}, following other pods` : `${change} by ${reasonOf(each)?.rule ?? "another score"}`;
  });
  return Object.entries(groups)
    .map(([cause, of]) => ({ title: `${countText(of.length, "pod")} ${cause}`, pods: of }))
    .sort((one, other) => other.pods.length - one.pods.length);
}

function place(placement) {
  return placement?.node ? nodeLink(placement.node) : h("span", { class: "muted" }, placeText(placement));
}

function use({ resource, before, after }) {
  const track = (side, kind) => h("div", { class: `track ${kind}`, style: { "--share": String(side.share ?? 0) } });
  const text = `${percentText(before.share ?? 0)} → ${percentText(after.share ?? 0)} (${amountText(resource, before.requested)} → ${amountText(resource, after.requested)} of ${amountText(resource, after.allocatable)})`;
  return [h("span", { class: "mono" }, resource), h("div", { class: "pair" }, track(before, "before"), track(after, "after")), h("span", { class: "small" }, text)];
}

define("pw-comparison", Comparison);
