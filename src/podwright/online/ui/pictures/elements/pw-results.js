// The results of the run that the page shows: its findings first, then the figures.

import { PwElement, dateTime, define, h, render, table } from "../parts/dom.js";
import { findingsOf } from "../parts/findings.js";
import { bytesText, durationText, numberText, percentText } from "../parts/format.js";
import { model } from "../data/model.js";
import { sheets } from "../parts/styles.js";
import "../charts/pw-usage.js";

const STYLE = `
:host { overflow: auto; }
.findings li { padding: 4px 0 4px 14px; border-left: 3px solid var(--pw-line-strong); margin-bottom: 6px; }
.findings li.bad { border-color: var(--pw-bad); color: inherit; }
.findings li.good { border-color: var(--pw-good); color: inherit; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(250px, 100%), 1fr)); gap: calc(2 * var(--pw-space)); }
.bar { position: relative; height: 6px; margin: 2px 0 3px; min-width: 50px; background: var(--pw-hover); border-radius: 2px; }
.bar i { position: absolute; inset: 0 auto 0 0; background: var(--pw-accent); border-radius: 2px; }
.bar b { position: absolute; top: -2px; bottom: -2px; width: 2px; background: var(--pw-text); }
pw-usage { margin-top: var(--pw-space); } summary { cursor: pointer; font-weight: 600; } pre { white-space: pre-wrap; overflow-wrap: anywhere; } details table { max-width: 520px; }
td { white-space: nowrap; } td.text { white-space: normal; overflow-wrap: anywhere; }
`;
const COUNTS = [
  ["created", "Pods created"],
  ["placed", "Placed"],
  ["succeeded", "Succeeded"],
  ["failed", "Failed"],
  ["deleted", "Deleted"],
  ["decisions", "Scheduling attempts"],
  ["failedDecisions", "… that failed"],
  ["preemptions", "Preemptions"],
  ["victims", "Preempted pods"],
];
const ALWAYS = ["created", "placed"]; // others only where there are some
const WAITS = [
  ["meanSeconds", "mean"],
  ["p50Seconds", "median"],
  ["p90Seconds", "90th percentile"],
  ["p99Seconds", "99th percentile"],
  ["maxSeconds", "longest"],
];

class Results extends PwElement {
  constructor() {
    super();
    this.root.adoptedStyleSheets = sheets(STYLE);
  }

  async start() {
    try {
      ({ summary: this.results, ...this.rest } = await model().source.results());
    } catch (error) {
      this.error = error.message;
    }
    this.isLoaded = true;
    this.invalidate();
  }

  update() {
    const { results } = this;
    if (this.error) render(this.root, h("div", { class: "error", role: "alert" }, this.error));
    else if (!results) render(this.root, h("p", { class: "empty" }, this.isLoaded ? "The run has no results: it has not finished." : "Loading…"));
    else render(this.root, h("div", { class: "section stack" }, h("h2", {}, "Findings"), findings(results), h("div", { class: "figures" }, figures(results)), h("pw-usage"), inputs(this.rest)));
  }
}

/** Returns what the run was made from, and its files; null where the page has neither. */
function inputs({ manifest, files }) {
  if (!manifest) return null;
  const rows = files.map(({ name, sizeBytes }) => [h("span", { class: "mono" }, name), `${bytesText(sizeBytes)}B`]);
  return h("details", {}, h("summary", {}, "Inputs and files"), h("pre", { class: "mono" }, JSON.stringify(manifest, null, 2)), table(["File", ["Size", "num"]], rows));
}

function findings(results) {
  return h("ul", { class: "findings" }, findingsOf(results).map(({ tone, text }) => h("li", { class: tone }, text)));
}

function figures({ start, end, simulatedNs, interrupted, counts, pending, waits, utilization, report }) {
  const row = (title, value) => h("tr", {}, h("td", { class: "text" }, title), h("td", { class: "num" }, value));
  const part = (title, rows, heads = []) => (rows.length ? h("section", {}, h("h3", {}, title), table(heads, rows)) : null);
  const causes = Object.entries(pending ?? {}).sort(([, a], [, b]) => b - a);
  return [
    part("Pods", COUNTS.filter(([key]) => counts[key] || ALWAYS.includes(key)).map(([key, title]) => row(title, numberText(counts[key])))),
    part("Pending at the end", causes.map(([cause, count]) => row(cause, numberText(count)))),
    part("Waits until a node", waits?.maxSeconds ? WAITS.map(([key, title]) => row(title, `${waits[key].toFixed(3)} s`)) : []),
    part(
      "Requested share",
      Object.entries(utilization ?? {}).map(([resource, { mean, peak, fragmentation }]) => [
        [resource, h("div", { class: "bar" }, h("i", { style: { width: percentText(Math.min(1, mean)) } }), h("b", { style: { left: percentText(Math.min(1, peak)) } }))],
        percentText(mean),
        percentText(peak),
        fragmentation === undefined ? "" : percentText(fragmentation),
      ]),
      [["Resource", "text"], ["Mean", "num"], ["Peak", "num"], ["Fragmented", "num"]],
    ),
    part("Run", [row("Start", dateTime(start)), row("End", dateTime(end)), row("Simulated", durationText(simulatedNs / 1e6)), ...(interrupted ? [row("Interrupted", "yes")] : [])]),
    report?.notes?.length ? h("section", {}, h("h3", {}, "Assumptions"), h("ul", {}, report.notes.map((note) => h("li", {}, note)))) : null,
  ];
}

define("pw-results", Results);
