// Compares where pods are placed now and with another configuration, over the same cluster.

import { address } from "../data/address.js";
import { PwElement, define, h, humps, options, render, setText } from "../parts/dom.js";
import { HttpSource } from "../data/http_source.js";
import { model } from "../data/model.js";
import "./pw-comparison.js";
import { comparedServer } from "./pw-servers.js";
import { RunSource } from "../data/run_source.js";
import { sheets } from "../parts/styles.js";
import { NO_SCHEDULER } from "../data/waiting.js";
import { parseWeights, weightsOf, weightsText } from "../parts/what_if.js";

const STYLE = `
:host { overflow: auto; min-height: 0; padding: calc(2 * var(--pw-space)); }
.choice { margin-bottom: calc(2 * var(--pw-space)); white-space: nowrap; }
.choice select { min-width: 150px; }
form { display: grid; gap: calc(1.5 * var(--pw-space)); max-width: 1100px; }
pw-comparison { margin-top: calc(2 * var(--pw-space)); max-width: 1300px; }
.weights { display: grid; gap: 4px calc(2 * var(--pw-space)); }
.weights { grid-template-columns: repeat(auto-fill, minmax(min(275px, 100%), 1fr)); }
.weight { display: flex; gap: var(--pw-space); align-items: center; }
.weight span { flex: 1; min-width: 0; }
.weight input[type="number"] { width: 60px; } .weight input[type="range"] { width: 84px; padding: 0; accent-color: var(--pw-accent); }
.weights .changed { font-weight: 600; }
textarea { width: 100%; min-height: 90px; font-family: var(--pw-mono); font-size: 12px; color: inherit; background: var(--pw-field); border: 1px solid var(--pw-line-strong); border-radius: 4px; padding: 6px; resize: vertical; }
summary { cursor: pointer; color: var(--pw-muted); }
`;
const SLIDER_MAX = 100;
const MOVED_MS = 250; // after the last move of a slider
const LIVE_MS = 1500; // the longest comparison that follows a slider
const RUN = "run:"; // before the name of a run, in the address
const CLUSTER = "cluster";

class Compare extends PwElement {
  constructor() {
    super();
    this.root.adoptedStyleSheets = sheets(STYLE);
    this.weights = h("div", { class: "weights" });
    this.configuration = h("textarea", { "aria-label": "Configuration, as YAML or JSON", placeholder: "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n…", spellcheck: "false" });
    this.details = h("details", {}, h("summary", {}, "Another configuration"), this.configuration);
    this.all = h("input", { type: "checkbox" });
    this.button = h("button", { class: "primary" }, "Compare");
    this.comparison = h("pw-comparison");
    this.comparison.addEventListener("pw-running", ({ detail }) => {
      this.button.disabled = detail;
      setText(this.button, detail ? "Comparing…" : "Compare");
    });
    this.tookMs = 0;
    this.form = h(
      "form",
      {},
      h("div", {}, h("h2", {}, "Compare"), h("p", { class: "muted" }, "The pods are scheduled in a copy of the cluster, as now and with other weights or another configuration. Nothing of the cluster changes.")),
      h("div", { class: "stack" }, h("h3", {}, "Weights"), this.weights),
      this.details,
      h("label", { class: "row" }, this.all, "Schedule all pods again, also those that have a node"),
      h("div", {}, this.button),
    );
    this.empty = h("div", { class: "empty", hidden: true }, NO_SCHEDULER);
    this.choice = h("nav", { class: "row wrap choice", "aria-label": "Compare with", hidden: true });
    this.other = null;
    this.select = h("select", { "aria-label": "Compare with the run", "data-focus": "run" });
    this.select.addEventListener("change", () => address.set({ with: this.select.value || (address.get().run ? null : RUN) }));
    this.hint = h("p", { class: "muted", hidden: true });
    this.root.append(this.choice, this.hint, this.form, this.empty, this.comparison);
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit();
    });
    this.present = null;
    this.isWithoutScheduler = false;
  }

  start() {
    this.undo.push(model().use());
    this.listen(address, "change", (event) => event.detail.some((key) => ["change", "configuration", "with"].includes(key)) && this.#follow());
    this.listen(address, "change", () => this.invalidate());
    this.#load();
  }

  update() {
    const { with: how = "", view, run } = address.get();
    const chosen = view === "compare" ? this.#chosen(how, run) : null;
    this.#showChoice(how, run);
    if (this.chosen !== chosen?.key) {
      this.chosen = chosen?.key;
      this.other?.remove();
      this.other = chosen && h("pw-servers");
      if (chosen) {
        this.other.other = { name: chosen.name, here: chosen.here, source: chosen.source() };
        this.root.append(this.other);
      }
    }
    const isOther = Boolean(run || chosen || how.startsWith(RUN));
    this.form.hidden = isOther || this.isWithoutScheduler;
    this.empty.hidden = isOther || !this.isWithoutScheduler;
    this.comparison.hidden = isOther;
    this.hint.hidden = !isOther || Boolean(chosen);
    setText(this.hint, this.runsError || "Choose what to compare with: pods in different places are listed with the plugin that made each difference, and the use of the resources is drawn over time.");
  }

  /** Returns the cluster or the run to compare with; null to compare with a change of the scheduler. */
  #chosen(how, run) {
    const here = run || "this cluster";
    const server = comparedServer();
    const name = how.startsWith(RUN) ? how.slice(RUN.length) : "";
    if (name) return { key: how, name, here, source: () => new RunSource(name) };
    if (run && how === CLUSTER) return { key: how, name: "the cluster", here, source: () => new HttpSource() };
    if (!run && server !== null && how === "server") return { key: how, name: server.replace(/^https?:\/\//, ""), here, source: () => new HttpSource("/compared", "") };
    return null;
  }

  /** Lets a user choose what to compare with. */
  #showChoice(how, run) {
    const server = comparedServer();
    const isRun = how.startsWith(RUN);
    const needsRuns = Boolean(run) || isRun;
    if (needsRuns && !this.runs) {
      this.runs = [];
      this.#loadRuns();
    }
    const choices = [
      [null, "Weights or a configuration"],
      ...(server === null ? [] : [["server", server]]),
      ...(this.isWithoutScheduler ? [] : [[RUN, "A recorded run"]]),
    ];
    const isPressed = (key) => (key === RUN ? isRun : key ? how === key : !isRun && how !== "server");
    this.choice.hidden = !run && choices.length < 2;
    render(
      this.choice,
      h("span", { class: "muted" }, "Compare with"),
      run ? null : choices.map(([key, text]) => h("button", { "data-focus": text, "aria-pressed": String(isPressed(key)), on: { click: () => address.set({ with: key }) } }, text)),
      needsRuns ? this.select : null,
    );
    if (!needsRuns) return;
    const others = this.runs.filter((name) => name !== run);
    const named = isRun ? how.slice(RUN.length) : "";
    if (named && !others.includes(named)) others.unshift(named);
    const first = run || others.length ? "none chosen" : "the folder has no run";
    options(this.select, [["", first], ...(run ? [[CLUSTER, "the cluster"]] : []), ...others.map((name) => [`${RUN}${name}`, name])], named || run ? how : "");
  }

  async #loadRuns() {
    try {
      const { runs } = await new HttpSource().get("/podwright/v1/runs");
      this.runs = runs.filter(({ problem }) => !problem).map(({ id }) => id);
    } catch (error) {
      this.runsError = error.message;
    }
    this.invalidate();
  }

  async #load() {
    if (!model().source.isLive) return;
    const names = await model().schedulers();
    this.isWithoutScheduler = names?.length === 0;
    this.invalidate();
    if (this.isWithoutScheduler) return;
    try {
      this.present = weightsOf(await model().source.get("/podwright/v1/plugins"));
    } catch (error) {
      this.comparison.work.fail(error.message);
      return;
    }
    render(
      this.weights,
      Object.entries(this.present).map(([plugin, weight]) => {
        const input = h("input", { type: "number", min: "1", max: "1000000", value: weight, "data-plugin": plugin, "aria-label": plugin });
        const slider = h("input", { type: "range", min: "1", max: String(Math.max(SLIDER_MAX, weight)), value: weight, "data-slider": plugin, "aria-label": `${plugin}, as a slider` });
        const line = h("div", { class: "weight" }, h("span", {}, humps(plugin)), slider, input);
        input.addEventListener("input", () => {
          slider.value = input.value;
          line.classList.toggle("changed", Number(input.value) !== weight);
        });
        slider.addEventListener("input", () => {
          input.value = slider.value;
          line.classList.toggle("changed", Number(slider.value) !== weight);
          this.#moved();
        });
        return line;
      }),
    );
    this.#follow();
  }

  /** Shows the comparison of the address. */
  #follow() {
    const { change = "", configuration = "", with: how = "" } = address.get();
    if (!this.present || (how && how !== "pending") || `${change} ${how} ${configuration}` === this.shown) return;
    this.all.checked = how !== "pending";
    try {
      const weights = parseWeights(change);
      for (const input of this.weights.querySelectorAll("input[data-plugin]")) {
        const { plugin } = input.dataset;
        input.value = weights[plugin] ?? this.present[plugin];
        this.weights.querySelector(`[data-slider="${plugin}"]`).value = input.value;
        input.parentElement.classList.toggle("changed", plugin in weights);
      }
      this.configuration.value = configuration;
      if (configuration) this.details.open = true;
      if (change || configuration) this.#compare(weights);
    } catch (error) {
      this.comparison.work.fail(error.message);
    }
  }

  #submit(history = {}) {
    const weights = {};
    for (const input of this.weights.querySelectorAll("input[data-plugin]")) {
      const { plugin } = input.dataset;
      if (input.value && Number(input.value) !== this.present[plugin]) weights[plugin] = Number(input.value);
    }
    const how = this.all.checked ? null : "pending";
    const configuration = this.configuration.value.trim();
    this.shown = `${weightsText(weights)} ${how ?? ""} ${configuration}`;
    address.set({ change: weightsText(weights), configuration, with: how }, history);
    this.#compare(weights);
  }

  /** Shows the effect of a slider while it moves, where a comparison is quick. */
  #moved() {
    clearTimeout(this.moving);
    if (this.tookMs > LIVE_MS) return;
    this.moving = setTimeout(() => this.#submit({ replace: true }), MOVED_MS);
  }

  async #compare(weights) {
    this.tookMs = await this.comparison.compare({ weights, configuration: this.configuration.value.trim(), reschedule: this.all.checked });
  }
}

define("pw-compare", Compare);
