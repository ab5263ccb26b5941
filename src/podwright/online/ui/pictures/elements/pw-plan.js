// Questions about the future: capacity, losses, purchases, autoscaling, drains; the cluster after the plan, and its execution.

import { applyChanges, cordon, drain, isDrained } from "../parts/actions.js";
import { address } from "../data/address.js";
import { PwElement, define, h, more, render, setText, table } from "../parts/dom.js";
import { model } from "../data/model.js";
import { QUESTIONS } from "../parts/plan.js";
import { sheets } from "../parts/styles.js";
import { fieldsText, parseFields } from "../parts/what_if.js";
import { Work } from "../parts/work.js";
import { podsOn } from "../data/pods.js";
import "../charts/pw-after.js";

const AGAIN_MS = 2_000; // between two tries of evictions that a budget rejects
const ROWS_SHOWN = 200;
const AMOUNT = /^[−+-]?[\d.,]+$/;
const STYLE = `
:host { overflow: auto; min-height: 0; padding: calc(2 * var(--pw-space)); }
.content { display: grid; gap: calc(2 * var(--pw-space)); max-width: 1100px; }
.content > * { min-width: 0; } .content button { white-space: normal; }
form { display: flex; flex-wrap: wrap; gap: calc(1.5 * var(--pw-space)); align-items: end; }
form label { display: grid; gap: 2px; color: var(--pw-muted); font-size: var(--pw-type-small); }
form label.check { display: flex; gap: 6px; align-items: center; min-height: 26px; }
form input:not([type="checkbox"]) { width: 150px; } form input[type="number"] { width: 100px; }
form label.area { flex-basis: 100%; }
form textarea { width: 100%; max-width: 700px; min-height: 58px; font: 12px/1.4 var(--pw-mono); color: var(--pw-text); background: var(--pw-field); border: 1px solid var(--pw-line-strong); border-radius: 4px; padding: 4px 8px; resize: vertical; }
textarea::placeholder { color: var(--pw-muted); opacity: 1; }
.answer li:first-child { font-size: var(--pw-type-large); font-weight: 600; }
.answer li + li { margin-top: 4px; }
.table { overflow-x: auto; } .table table { width: auto; min-width: min(100%, 420px); } th, td { padding-right: calc(2 * var(--pw-space)); }
td { overflow-wrap: anywhere; min-width: 60px; }
`;

class Plan extends PwElement {
  constructor() {
    super();
    this.root.adoptedStyleSheets = sheets(STYLE);
    this.tabs = h("div", { class: "row wrap", role: "group", "aria-label": "Question" });
    this.form = h("form", {});
    this.work = new Work((isRunning) => {
      if (this.button) this.button.disabled = isRunning;
      this.invalidate();
    });
    this.findings = h("ul", { class: "answer", "aria-live": "polite" });
    this.apply = h("div", { class: "row wrap" });
    this.picture = h("pw-after", { hidden: true });
    this.tables = h("div", { class: "stack" });
    this.root.append(
      h("div", { class: "content" }, h("div", {}, h("h2", {}, "Plan"), h("p", { class: "muted" }, "The scheduler answers in a copy of the cluster. Nothing changes before you apply a plan.")), this.tabs, this.form, this.work.row, this.work.problem, this.findings, this.apply, this.picture, this.tables),
    );
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      address.set({ plan: fieldsText(this.#values()) });
      this.#ask();
    });
    this.asked = null; // the question of the address that is shown
  }

  start() {
    const data = model();
    this.undo.push(data.use(), () => this.work.abort());
    for (const type of ["state", "mode", "connection"]) this.listen(data, type, () => this.invalidate());
    this.listen(address, "change", () => this.#follow());
    this.#follow();
  }

  /** Shows the question of the address, and answers it if it has fields. */
  #follow() {
    const { view, plan = "" } = address.get();
    const { question = "capacity", ...values } = parseFields(plan);
    if (view !== "plan" || plan === this.asked) return;
    this.asked = plan;
    this.question = QUESTIONS[question] ? question : "capacity";
    this.work.abort();
    this.#answered(null);
    this.#drawForm(values);
    if (plan.includes("&")) this.#ask();
  }

  #drawForm(values) {
    const link = ([key, { title }]) => h("button", { type: "button", "aria-pressed": String(key === this.question), "data-focus": key, on: { click: () => address.set({ plan: fieldsText({ question: key }) }) } }, title);
    render(this.tabs, Object.entries(QUESTIONS).map(link));
    this.fields = QUESTIONS[this.question].fields.map(({ key, title, kind, initial = "", hint, choices }) => {
      const value = values[key] ?? (Object.keys(values).length ? "" : initial);
      const given = { name: key, placeholder: hint, spellcheck: "false" };
      if (kind === "choice") return [title, h("select", given, choices.map((each) => h("option", { selected: each === value }, each)))];
      if (kind === "area") return [title, h("textarea", given, value)];
      return [title, h("input", { ...given, ...(kind === "check" ? { type: "checkbox", checked: Boolean(value) } : { type: kind, min: "0", value }) })];
    });
    this.button = h("button", { class: "primary" }, "Answer");
    render(this.form, this.fields.map(([title, field]) => h("label", { class: field.type === "checkbox" ? "check" : field.tagName === "TEXTAREA" ? "area" : null }, field.type === "checkbox" ? [field, title] : [title, field])), this.button);
  }

  #values() {
    const values = { question: this.question, asked: "1" };
    for (const [, field] of this.fields) values[field.name] = field.type === "checkbox" ? (field.checked ? "yes" : "") : field.value.trim();
    return values;
  }

  async #ask() {
    const values = this.#values();
    this.asked = address.get().plan ?? "";
    const { path, body: bodyOf, answer, counted } = QUESTIONS[this.question];
    await this.work.run(counted, async (signal, show) => {
      const body = bodyOf(values, values.manifest ? await model().source.read(values.manifest) : null);
      this.#answered(answer(await model().source.lines(path, { ...body, progress: true }, show, signal), body));
    });
  }

  #answered(found) {
    this.found = found;
    this.applied = "";
    this.invalidate();
  }

  async #apply({ create, drains, text }) {
    const { source } = model();
    await this.work.run("node", async (signal, show) => {
      await applyChanges(source, (create ?? []).map((body) => ({ action: "create", apiVersion: body.apiVersion, kind: body.kind, namespace: body.metadata.namespace, name: body.metadata.name, body })));
      for (const node of drains?.flat() ?? []) await cordon(source, node, true);
      let done = 0;
      for (const step of drains ?? []) {
        for (const node of step) {
          await drainUntilEmpty(source, node, signal, (refused) => setText(this.work.left, `${node} waits: ${refused[0]}`));
          done += 1;
          show({ done, total: drains.flat().length });
        }
      }
      this.applied = text;
    });
    model().refresh();
  }

  update() {
    const data = model();
    const { found } = this;
    this.form.toggleAttribute("inert", !data.connection.isConnected);
    render(this.findings, (found?.findings ?? []).map((text) => h("li", {}, text)));
    const button = found?.apply && !this.applied ? h("button", { class: "primary", disabled: !data.isEditable || Boolean(this.button?.disabled), "data-focus": "apply", on: { click: () => this.#apply(found.apply) } }, found.apply.title) : null;
    render(this.apply, button, this.applied ? h("span", { class: "good", role: "status" }, this.applied) : null);
    // What is applied is in the state already.
    this.picture.data = { nodes: found?.nodes, added: found?.added, isDone: Boolean(this.applied) };
    // Rows are drawn once for each answer.
    if (this.drawn === found) return;
    this.drawn = found;
    render(
      this.tables,
      (found?.tables ?? []).map(({ title, heads, rows }) => [
        h("h3", {}, title),
        h("div", { class: "table" }, table(heads.map((head, at) => [head, rows.every((row) => AMOUNT.test(row[at])) ? "num" : null]), rows.slice(0, ROWS_SHOWN))),
        more(rows.length - ROWS_SHOWN, "row"),
      ]),
    );
  }
}

/** Evicts the pods of a node until it has none, again while budgets reject some of them. */
async function drainUntilEmpty(source, node, signal, waits) {
  for (;;) {
    const pods = (await podsOn(source, node)).filter(isDrained);
    signal.throwIfAborted();
    if (!pods.length) return;
    const refused = await drain(source, node, pods);
    if (refused.length) waits(refused);
    await new Promise((done) => setTimeout(done, AGAIN_MS));
    signal.throwIfAborted();
  }
}

define("pw-plan", Plan);
