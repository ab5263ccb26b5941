// The results of a run: its findings first, then the figures.
//
// Attribute: `run`, a run in the folder of the server; without it the run that the page shows.

import { PwElement, define, h, render } from "../parts/dom.js";
import { findingsOf } from "../parts/findings.js";
import { clockText, durationText, percentText, utcText } from "../parts/format.js";
import { HttpSource } from "../data/http_source.js";
import { model } from "../data/model.js";
import { sheets } from "../parts/styles.js";

const STYLE = `
:host { overflow: auto; }
.findings li { padding: 4px 0 4px 14px; border-left: 3px solid var(--pw-line-strong); margin-bottom: 6px; }
.findings li.bad { border-color: var(--pw-bad); color: inherit; }
.findings li.good { border-color: var(--pw-good); color: inherit; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(330px, 100%), 1fr)); gap: calc(2 * var(--pw-space)); }
.bar { position: relative; height: 8px; min-width: 50px; background: var(--pw-hover); border-radius: 2px; }
.bar i { position: absolute; inset: 0 auto 0 0; background: var(--pw-accent); border-radius: 2px; }
.bar b { position: absolute; top: -2px; bottom: -2px; width: 2px; background: var(--pw-text); }
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
      const run = this.getAttribute("run");
      this.results = run === null ? await model().source.results() : (await new HttpSource().get(`/podwright/v1/runs/${encodeURIComponent(run)}`)).summary;
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
    else render(this.root, h("div", { class: "section stack" }, h("h2", {}, "Findings"), findings(results), h("div", { class: "figures" }, figures(results))));
  }
}

function findings(results) {
  return h("ul", { class: "findings" }, findingsOf(results).map(({ tone, text }) => h("li", { class: tone }, text)));
}

function figures({ start, end, simulatedNs, interrupted, counts, pending, waits, utilization, report }) {
  const row = (title, value) => h("tr", {}, h("td", { class: "text" }, title), h("td", { class: "num" }, value));
  const table = (title, rows, heads) => (rows.length ? h("section", {}, h("h3", {}, title), h("table", {}, heads ? h("thead", {}, h("tr", {}, heads.map((head) => h("th", {}, head)))) : null, h("tbody", {}, rows))) : null);
  const causes = Object.entries(pending ?? {}).sort(([, a], [, b]) => b - a);
  return [
    table("Pods", COUNTS.filter(([key]) => counts[key] !== undefined).map(([key, title]) => row(title, counts[key].toLocaleString("en-US")))),
    table("Pending at the end", causes.map(([cause, count]) => row(cause, count.toLocaleString("en-US")))),
    table("Waits until a node", waits?.count ? WAITS.map(([key, title]) => row(title, `${waits[key].toFixed(3)} s`)) : []),
    table(
      "Requested share",
      Object.entries(utilization ?? {}).map(([resource, { mean, peak, fragmentation }]) =>
        h("tr", {}, h("td", {}, resource), h("td", { class: "num" }, percentText(mean)), h("td", { class: "num" }, percentText(peak)), h("td", { class: "num" }, fragmentation === undefined ? "" : percentText(fragmentation)), h("td", {}, h("div", { class: "bar" }, h("i", { style: { width: percentText(Math.min(1, mean)) } }), h("b", { style: { left: percentText(Math.min(1, peak)) } })))),
      ),
      ["Resource", "Mean", "Peak", "Fragmented", ""],
    ),
    table("Run", [row("Start", when(start)), row("End", when(end)), row("Simulated", durationText(simulatedNs / 1e6)), ...(interrupted ? [row("Interrupted", "yes")] : [])]),
    report?.notes?.length ? h("section", {}, h("h3", {}, "Assumptions"), h("ul", {}, report.notes.map((note) => h("li", {}, note)))) : null,
  ];
}

/** Returns a time in the reader's zone, with UTC as its title. */
function when(time) {
  return h("time", { datetime: time, title: utcText(time) }, `${new Date(time).toLocaleDateString("sv")} ${clockText(time)}`);
}

define("pw-results", Results);
