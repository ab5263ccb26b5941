// The recorded runs: open, compare, download, delete.
//
// Attribute: `problem`, why there are none, as the page has found.

import { isAllowed } from "../data/access.js";
import { DIALOG_STYLE, isConfirmed } from "../parts/dialogs.js";
import { PwElement, dateTime, define, h, render, table } from "../parts/dom.js";
import { HttpSource } from "../data/http_source.js";
import { durationText, numberText } from "../parts/format.js";
import { sheets } from "../parts/styles.js";

const RUNS = "/podwright/v1/runs";
const STYLE = `
:host { padding: calc(2 * var(--pw-space)); }
h1 { margin: 0; font-size: var(--pw-type-large); line-height: 1.3; }
.rows { overflow-x: auto; max-width: 1280px; }
td { white-space: nowrap; vertical-align: middle; padding-block: 6px; } td.text { white-space: normal; min-width: 160px; overflow-wrap: anywhere; }
.actions { justify-content: flex-end; gap: calc(1.5 * var(--pw-space)); }
@media (max-width: 700px) {
  thead { display: none; }
  tbody, tr, td { display: block; border: 0; padding: 1px 0; text-align: left; } td.num { text-align: left; }
  tr { padding: 8px 0; border-bottom: 1px solid var(--pw-line); }
  td[data-title]:not(:empty)::before { content: attr(data-title) " "; color: var(--pw-muted); }
  .actions { justify-content: flex-start; flex-wrap: wrap; padding-top: 6px; }
}
${DIALOG_STYLE}`;

/** The columns, each with what it shows of a run; those in which no run has something are left out. */
const COLUMNS = [
  ["Status", "", ({ status, problem }) => (problem ? h("span", { class: "bad" }, problem) : h("span", { class: `tag ${status === "finished" ? "good" : "warn"}` }, status))],
  ["Placed", "num", ({ placed }) => numberText(placed ?? 0)],
  ["Pending", "num", ({ pending }) => (pending ? h("span", { class: "bad" }, numberText(pending)) : numberText(pending ?? 0))],
  ["Preemptions", "num", ({ preemptions }) => preemptions && numberText(preemptions)],
  ["Longest wait", "num", ({ longestWaitSeconds: longest }) => longest && durationText(longest * 1000)],
  ["Start", "", ({ startTime }) => startTime && dateTime(startTime)],
  ["Simulated", "num", ({ startTime, endTime }) => startTime && endTime && durationText(Date.parse(endTime) - Date.parse(startTime))],
  ["Seed", "num", ({ seed }) => seed],
  ["Podwright", "", ({ podwright }) => podwright],
];

class Runs extends PwElement {
  constructor() {
    super();
    this.root.adoptedStyleSheets = sheets(STYLE);
    this.source = new HttpSource();
    this.content = h("main", { class: "stack" });
    this.root.append(this.content);
    this.runs = null;
    this.error = "";
  }

  start() {
    this.rowKeys(() => this.root.querySelectorAll("td:first-child a"));
    this.error = this.getAttribute("problem") ?? "";
    if (this.error) return;
    this.#load();
    isAllowed(this.source, { verb: "delete", path: `${RUNS}/run` }).then((allowed) => {
      this.canDelete = allowed;
      this.invalidate();
    });
  }

  async #load() {
    try {
      ({ runs: this.runs } = await this.source.get(RUNS));
      this.error = "";
    } catch (error) {
      this.error = error.message;
    }
    this.invalidate();
  }

  update() {
    const { runs, error } = this;
    let content;
    if (error) content = h("div", { class: "stack" }, h("div", { class: "error", role: "alert" }, error), h("div", {}, h("button", { on: { click: () => this.#load() } }, "Try again")));
    else if (!runs) content = h("p", { class: "muted", role: "status" }, "Loading…");
    else if (!runs.length) content = h("p", { class: "muted" }, "The folder has no runs. “podwright simulate … --out FOLDER/NAME” writes one.");
    else content = h("div", { class: "rows" }, this.#table(runs));
    render(this.content, h("h1", {}, "Runs"), content);
  }

  #table(runs) {
    const columns = COLUMNS.filter(([, , shown]) => runs.some((run) => shown(run)));
    const rows = runs.map((run) => {
      const cells = columns.map(([title, kind, shown]) => h("td", { class: title === "Status" && run.problem ? "text" : kind, "data-title": title }, shown(run) || null));
      return h("tr", {}, h("td", {}, run.problem ? h("span", { class: "name" }, run.id) : h("a", { class: "name", href: address(run.id), "data-focus": run.id }, run.id)), cells, h("td", {}, this.#actions(run)));
    });
    return table(["Name", ...columns.map(([title, kind]) => [title, kind]), h("span", { class: "hidden-text" }, "Actions")], rows);
  }

  #actions({ id, problem }) {
    return h(
      "div",
      { class: "row actions" },
      problem ? null : [h("a", { href: address(id) }, "Open"), h("a", { href: `${address(id)}&view=results` }, "Findings"), h("a", { href: `${address(id)}&view=compare` }, "Compare")],
      h("a", { href: `/server${RUNS}/${encodeURIComponent(id)}/download`, download: `${id}.tar` }, "Download"),
      this.canDelete ? h("button", { "data-focus": `delete ${id}`, on: { click: () => this.#delete(id) } }, "Delete…") : null,
    );
  }

  async #delete(id) {
    if (!(await isConfirmed(this.root, `Delete the run ${id}?`, "The folder of the run is deleted.", "Delete"))) return;
    try {
      await this.source.send("DELETE", `${RUNS}/${encodeURIComponent(id)}`);
    } catch (error) {
      this.error = error.message;
      this.invalidate();
      return;
    }
    this.#load();
  }
}

function address(id) {
  return `/run?run=${encodeURIComponent(id)}`;
}

define("pw-runs", Runs);
