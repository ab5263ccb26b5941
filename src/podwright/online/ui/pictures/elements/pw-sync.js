// The sync that fills this cluster: its source, how far behind it is, and where the clusters differ.

import { PwElement, define, h, more, render, table } from "../parts/dom.js";
import { clockText, countText, durationText, numberText } from "../parts/format.js";
import { model, throttled } from "../data/model.js";
import { sheets } from "../parts/styles.js";
import { amountsText, filteredDifferences, isOverdue, policyTexts, scopeText, secondsText } from "../parts/sync_text.js";

const LOOK_MS = 2_000;
const FIELDS_SHOWN = 200;
const STYLE = `
:host { height: calc(100vh - var(--pw-bar-height)); width: 100%; overflow: auto; padding: calc(2 * var(--pw-space)); background: var(--pw-background); }
.content { display: grid; gap: calc(2 * var(--pw-space)); max-width: 1500px; }
.content > * { min-width: 0; }
.head { display: flex; flex-wrap: wrap; align-items: baseline; gap: var(--pw-space) calc(2 * var(--pw-space)); }
.head h2 { font-size: var(--pw-type-title); }
.figures { display: flex; flex-wrap: wrap; gap: var(--pw-space); }
.figures > li { flex: 1; min-width: 150px; padding: 10px 14px; border: 1px solid var(--pw-line); border-radius: 5px; background: var(--pw-raised); }
.figures strong { display: block; font-size: var(--pw-type-title); font-variant-numeric: tabular-nums; line-height: 1.2; }
.halves { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(380px, 100%), 1fr)); gap: calc(2 * var(--pw-space)); align-items: start; }
.card { border: 1px solid var(--pw-line); border-radius: 5px; background: var(--pw-raised); padding: 10px 14px; overflow: auto; }
.card h3 { margin-bottom: 6px; }
.card li + li { margin-top: 4px; }
.card table { margin-top: var(--pw-space); }
.other { font-weight: 600; }
.warning { padding: var(--pw-space) calc(1.5 * var(--pw-space)); border-left: 3px solid var(--pw-warning); background: var(--pw-warning-surface); }
`;

class Sync extends PwElement {
  constructor() {
    super();
    this.root.adoptedStyleSheets = sheets(STYLE);
    this.search = h("input", { type: "search", placeholder: "Search pods and nodes", "aria-label": "Search pods and nodes" });
    this.search.addEventListener("input", () => this.invalidate());
    this.notices = h("div", { class: "stack" });
    this.facts = h("div", { class: "content" });
    this.count = h("span", { class: "muted" });
    this.table = h("div");
    const differences = h("section", { class: "card" }, h("div", { class: "row wrap" }, h("h3", {}, "Pods on different nodes"), this.count, this.search), this.table);
    this.checked = h("section", { class: "card" });
    this.head = h("div");
    this.content = h("div", { class: "content", hidden: true }, this.head, this.notices, this.facts, this.checked, differences);
    this.message = h("div", { class: "empty" }, "Loading…");
    this.root.append(h("h1", { class: "hidden-text" }, "Sync"), this.message, this.content);
    this.status = null;
    this.checkedBefore = null; // when the last comparison was, while another one is awaited
    this.error = "";
    this.look = throttled(500, () => this.#look());
  }

  start() {
    this.rowKeys(() => this.root.querySelectorAll("td:first-child a"));
    this.every(LOOK_MS, this.look);
    this.look();
  }

  async #look() {
    try {
      this.status = await model().source.get("/podwright/v1/sync");
      this.error = "";
    } catch (error) {
      this.error = error.message;
    }
    this.invalidate();
  }

  update() {
    const { status } = this;
    this.content.hidden = !status;
    this.message.hidden = Boolean(status);
    if (!status) {
      this.message.textContent = this.error || "Loading…";
      return;
    }
    this.#notices(status);
    render(this.head, this.#head(status));
    render(this.facts, this.#figures(status), this.#rules(status));
    this.#check(status);
    this.#differences(status);
  }

  async #compare() {
    this.checkedBefore = this.status.check?.checkedAt ?? "";
    this.checkError = "";
    this.invalidate();
    try {
      await model().source.send("POST", "/podwright/v1/sync/check");
    } catch (error) {
      this.checkError = error.message;
      this.checkedBefore = null;
    }
    this.invalidate();
  }

  /** Draws the counts by kind and all fields that differ: what `podwright sync --check` prints. */
  #check({ check, phase }) {
    const isDue = this.checkedBefore === (check?.checkedAt ?? "");
    const button = h("button", { "data-focus": "check", disabled: isDue || phase !== "following", on: { click: () => this.#compare() } }, check ? "Compare again" : "Compare");
    const state = isDue ? "Reading all objects of both clusters…" : check ? `${clockText(check.checkedAt)}: ${countText(check.compared, "object")} compared` : "Reads all objects of the source once, and changes neither cluster.";
    const problem = this.checkError || check?.error;
    render(
      this.checked,
      h("div", { class: "row wrap" }, h("h3", {}, "Source and this cluster, field by field"), h("span", { class: "muted", role: "status" }, state), button),
      problem ? h("div", { class: "error", role: "alert" }, problem) : null,
      check?.kinds.length ? this.#kinds(check) : null,
      check && !check.error ? this.#fields(check) : null,
    );
  }

  #kinds({ kinds, differences }) {
    const rows = kinds.map(({ kind, source, here }) => {
      const found = differences.filter((each) => each.kind === kind);
      const unexplained = found.filter(({ policy }) => !policy).length;
      return [kind, source, here, found.length, h("span", { class: unexplained ? "other" : null }, unexplained)];
    });
    return table(["Kind", "Source", "Here", "Differences", "Not explained"], rows);
  }

  #fields({ differences, differencesLeftOut }) {
    if (!differences.length) return h("p", { class: "muted" }, "No field differs.");
    // What no policy explains comes first.
    const sorted = differences.toSorted((one, other) => Boolean(one.policy) - Boolean(other.policy)).slice(0, FIELDS_SHOWN);
    const rest = differences.length + differencesLeftOut - sorted.length;
    const rows = sorted.map(({ kind, key, path, source, here, policy }) => [h("span", { class: "name" }, `${kind}/${key}`), path || "the object", source, here, policy || h("span", { class: "other" }, "not explained")]);
    return [table(["Object", "Field", "Source", "Here", "Why"], rows), rest > 0 ? h("p", { class: "muted" }, `and ${countText(rest, "difference")} more; podwright sync --check prints all`) : null];
  }

  #notices({ phase, reportedAt, secondsSinceReport, unfreed, lastError }) {
    const overdue = phase !== "stopped" && isOverdue(secondsSinceReport);
    render(
      this.notices,
      this.error ? h("div", { class: "error", role: "alert" }, `The last report is shown: ${this.error}`) : null,
      overdue ? h("div", { class: "error", role: "alert" }, `The sync has not reported since ${clockText(reportedAt)}. Start podwright sync again; it continues with what is here.`) : null,
      lastError ? h("div", { class: "error", role: "alert" }, lastError) : null,
      unfreed.pods ? h("div", { class: "warning", role: "status" }, `${countText(unfreed.pods, "pod")} finished at the source and still ${unfreed.pods === 1 ? "occupies" : "occupy"} ${amountsText(unfreed)} here; ${unfreed.option} frees them.`) : null,
    );
  }

  #head({ source, phase, startedAt, reportedAt, secondsSinceReport }) {
    const sinceReport = secondsSinceReport * 1_000;
    const kinds = { following: "good", listing: "warn", stopped: "bad" };
    return h(
      "div",
      { class: "head" },
      h("h2", {}, source.name || source.server),
      h("span", { class: `tag ${kinds[phase]}` }, phase),
      h("span", { class: "name muted" }, source.server),
      h("span", { class: "muted" }, `for ${durationText(Date.parse(reportedAt) - Date.parse(startedAt) + sinceReport)}, last report ${durationText(sinceReport)} ago`),
    );
  }

  #figures({ lag, drift, counts, errors, sourceFailures }) {
    const rejected = errors.reduce((sum, { count }) => sum + count, 0);
    const figures = [
      [secondsText(lag.lastSeconds), "lag of the last change", `${secondsText(lag.meanSeconds)} mean, ${secondsText(lag.longestSeconds)} longest`],
      [numberText(lag.waiting), "groups of changes wait", `${countText(lag.changes, "change")} written`],
      [numberText(drift.pods), "pods on another node", `${countText(drift.claims, "binding")} of claims not taken over`],
      [numberText(counts.created + counts.updated + counts.deleted), "writes", `${counts.created} created, ${counts.updated} updated, ${counts.deleted} deleted`],
      [numberText(rejected), "rejected requests", `${countText(sourceFailures, "failure")} of the source`],
    ];
    return h("ul", { class: "figures" }, figures.map(([value, title, more]) => h("li", {}, h("strong", {}, value), title, h("div", { class: "small muted" }, more))));
  }

  #rules({ policies, scope, counts, errors, warnings }) {
    const list = (items) => h("ul", {}, items.map((text) => h("li", {}, text)));
    const left = [
      ...warnings,
      counts.rescheduled && `${countText(counts.rescheduled, "pod")} with a node at the source ${counts.rescheduled === 1 ? "is" : "are"} scheduled here.`,
      counts.ignored && `${countText(counts.ignored, "change")} of pods with a node ${counts.ignored === 1 ? "is" : "are"} not mirrored.`,
      counts.keptDeleted && `${countText(counts.keptDeleted, "change")} of objects that were deleted here, which stay deleted.`,
    ].filter(Boolean);
    return h(
      "div",
      { class: "halves" },
      h("section", { class: "card" }, h("h3", {}, "What is followed"), list([scopeText(scope), ...policyTexts(policies)])),
      h(
        "section",
        { class: "card" },
        h("h3", {}, "What is left out, and why"),
        left.length || errors.length ? list(left) : h("p", { class: "muted" }, "Nothing."),
        errors.length
          ? table(["Rejected", "Reason", ["Count", "num"]], errors.map(({ kind, reason, count }) => [kind, reason, count]))
          : null,
      ),
    );
  }

  #differences({ sides, here, differences, differencesLeftOut }) {
    const shown = filteredDifferences(differences, this.search.value);
    this.count.textContent = countText(differences.length + differencesLeftOut, "pod");
    this.search.hidden = !differences.length;
    if (!shown.length) {
      render(this.table, h("p", { class: "muted" }, differences.length ? "No pod matches. Change the search." : "Every pod that has a node on all sides has the same one."));
      return;
    }
    const heads = ["Pod", ...sides.map((side, index) => (index === here ? `${side} (this cluster)` : side))];
    const rows = shown.map(({ pod, nodes }) => [
      link("pod", pod),
      ...nodes.map((node, index) => h("span", { class: node === nodes[0] ? null : "other" }, node ? (index === here ? link("node", node) : h("span", { class: "name" }, node)) : h("span", { class: "muted" }, "not placed"))),
    ]);
    render(
      this.table,
      table(heads, rows),
      more(differencesLeftOut, "pod"),
    );
  }
}

/** Returns a link to a pod or a node on the screen of the cluster. */
function link(key, name) {
  return h("a", { class: "name", "data-focus": name, href: `/?${key}=${encodeURIComponent(name).replaceAll("%2F", "/")}` }, name);
}

define("pw-sync", Sync);
