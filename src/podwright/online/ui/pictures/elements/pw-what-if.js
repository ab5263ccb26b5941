// What if this pod, or a weight of the scheduler, were different: tried in a copy of the cluster.

import { address } from "../data/address.js";
import { PwElement, define, h, options, render, setText } from "../parts/dom.js";
import { nodeLink } from "../parts/explanation.js";
import { model, throttled } from "../data/model.js";
import { sheets } from "../parts/styles.js";
import { becauseText, fieldsText, parseFields, weightsOf, whatIfOfPod } from "../parts/what_if.js";
import "../charts/pw-matrix.js";

const MOVED_MS = 250; // between trials while a slider moves

const STYLE = `
summary { cursor: pointer; font-weight: 600; }
form { display: grid; grid-template-columns: max-content minmax(0, 1fr) minmax(0, 92px); gap: var(--pw-space); align-items: center; padding-top: var(--pw-space); }
form label { color: var(--pw-muted); }
input[type="range"] { padding: 0; accent-color: var(--pw-accent); }
form .wide { grid-column: 2 / 4; }
form textarea { min-height: 58px; font: 12px/1.4 var(--pw-mono); color: inherit; background: var(--pw-field); border: 1px solid var(--pw-line-strong); border-radius: 4px; padding: 4px 8px; resize: vertical; }
form textarea::placeholder { color: var(--pw-muted); opacity: 1; }
form label[for="configuration"] { align-self: start; padding-top: 4px; }
form button { grid-column: 2; justify-self: start; }
.result { padding-top: var(--pw-space); }
.change { display: grid; grid-template-columns: max-content 1fr; gap: 2px calc(1.5 * var(--pw-space)); margin: 0; }
.change dt { color: var(--pw-muted); } .change dd { margin: 0; overflow-wrap: anywhere; }
pw-matrix { margin: calc(1.5 * var(--pw-space)) calc(-2 * var(--pw-space)) 0; }
`;

class WhatIf extends PwElement {
  constructor() {
    super();
    this.root.adoptedStyleSheets = sheets(STYLE);
    this.plugin = h("select", { id: "plugin" });
    this.weight = h("input", { type: "number", min: "1", max: "1000000", "aria-label": "New weight", placeholder: "weight" });
    this.slider = h("input", { type: "range", class: "wide", min: "1", max: "100", "aria-label": "New weight, as a slider" });
    this.toleration = h("input", { id: "toleration", class: "wide", placeholder: "key=value:NoSchedule", spellcheck: "false" });
    this.resource = h("select", { id: "resource" });
    this.quantity = h("input", { "aria-label": "New request", placeholder: "500m", spellcheck: "false" });
    this.configuration = h("textarea", { id: "configuration", class: "wide", placeholder: "Another KubeSchedulerConfiguration, as YAML or JSON", spellcheck: "false" });
    this.button = h("button", {}, "Try");
    this.error = h("div", { class: "error", role: "alert", hidden: true });
    this.result = h("div", { class: "result stack", hidden: true, role: "status" });
    this.matrix = h("pw-matrix", { hidden: true });
    this.form = h(
      "form",
      {},
      h("label", { for: "plugin" }, "Weight of"),
      this.plugin,
      this.weight,
      this.slider,
      h("label", { for: "toleration" }, "Toleration"),
      this.toleration,
      h("label", { for: "resource" }, "Request"),
      this.resource,
      this.quantity,
      h("label", { for: "configuration" }, "Configuration"),
      this.configuration,
      this.button,
    );
    this.details = h("details", {}, h("summary", {}, "What if…"), this.form, this.error, this.result, this.matrix);
    this.root.append(h("section", { class: "section" }, this.details));
    this.details.addEventListener("toggle", () => this.#opened());
    const moved = throttled(MOVED_MS, () => this.#submit(true));
    this.slider.addEventListener("input", () => {
      this.weight.value = this.slider.value;
      moved();
    });
    for (const field of [this.plugin, this.weight]) field.addEventListener("input", () => this.#placeSlider());
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit(false);
    });
  }

  #placeSlider() {
    this.slider.value = this.weight.value || (this.weights?.[this.plugin.value] ?? 1);
  }

  /** Tries what the form has; while a slider moves, in the same entry of the history. */
  #submit(replace) {
    this.tried = this.#fields();
    address.set({ if: this.tried }, { replace });
    return this.#try();
  }

  start() {
    this.listen(address, "change", () => this.#follow());
  }

  /** Tries what the address has. */
  async #follow() {
    const { if: text = "" } = address.get();
    if (!text) this.tried = "";
    if (!text || text === this.tried || !this.object) return;
    this.tried = text;
    this.details.open = true;
    await this.#opened();
    const { weight = "", toleration = "", request = "", configuration = "" } = parseFields(text);
    const [plugin, value] = weight.split(":");
    if (plugin) this.plugin.value = plugin;
    this.weight.value = value ?? "";
    this.#placeSlider();
    this.toleration.value = toleration;
    const [resource, quantity] = request.split("=");
    if (resource) this.resource.value = resource;
    this.quantity.value = quantity ?? "";
    this.configuration.value = configuration;
    this.#try();
  }

  /** Returns the fields as the address has them. */
  #fields() {
    return fieldsText({
      weight: this.weight.value && `${this.plugin.value}:${this.weight.value}`,
      toleration: this.toleration.value.trim(),
      request: this.quantity.value && `${this.resource.value}=${this.quantity.value.trim()}`,
      configuration: this.configuration.value.trim(),
    });
  }

  /** @param {{pod: string, object: any}} of the pod */
  set of(of) {
    if (this.pod !== of.pod) {
      this.result.hidden = true;
      this.matrix.hidden = true;
      this.error.hidden = true;
      this.tried = "";
    }
    this.pod = of.pod;
    this.object = of.object;
    const requested = Object.keys(of.object?.spec.containers?.[0]?.resources?.requests ?? {});
    options(this.resource, [...new Set([...requested, "cpu", "memory"])].map((name) => [name, name]), this.resource.value || "cpu");
    this.#follow();
  }

  async #opened() {
    if (!this.details.open || this.weights) return;
    try {
      this.loading ??= model().source.get("/podwright/v1/plugins");
      this.weights = weightsOf(await this.loading);
      options(this.plugin, Object.entries(this.weights).map(([name, weight]) => [name, `${name} (${weight})`]), this.plugin.value);
      if (!this.plugin.value) this.plugin.selectedIndex = 0;
      this.#placeSlider();
    } catch (error) {
      this.loading = null;
      this.#fail(error.message);
    }
  }

  #fail(message) {
    this.error.hidden = !message;
    setText(this.error, message);
  }

  async #try() {
    this.#fail("");
    const { pod } = this;
    if (!this.object) return;
    let body;
    try {
      const text = this.configuration.value.trim();
      body = whatIfOfPod(this.object, {
        weights: this.weight.value ? { [this.plugin.value]: Number(this.weight.value) } : {},
        toleration: this.toleration.value,
        requests: this.quantity.value ? { [this.resource.value]: this.quantity.value.trim() } : {},
        configuration: text ? await model().source.read(text) : null,
      });
      if (!body.weights && !body.patches && !body.configuration) throw new Error("Enter a weight, a toleration, a request or a configuration.");
    } catch (error) {
      this.#fail(error.message);
      return;
    }
    this.button.disabled = true;
    try {
      const found = await model().source.send("POST", "/podwright/v1/what-if", body);
      if (pod === this.pod) this.#show(found);
    } catch (error) {
      this.#fail(error.message);
    }
    this.button.disabled = false;
  }

  #show(found) {
    const { before, after } = found.pod;
    const difference = found.pods.find((each) => each.pod === this.pod);
    const place = (placement) => (placement?.node ? nodeLink(placement.node) : "pending");
    const isSame = before?.node === after?.node;
    this.result.hidden = false;
    render(
      this.result,
      h(
        "dl",
        { class: "change" },
        h("dt", {}, "Without it"),
        h("dd", {}, place(before)),
        h("dt", {}, "With it"),
        h("dd", {}, place(after), " ", h("span", { class: isSame ? "tag" : "tag good" }, isSame ? "same" : "different")),
        difference?.reasons.after ? [h("dt", {}, "Because"), h("dd", {}, becauseText(difference.reasons.after))] : null,
        difference?.reasons.before ? [h("dt", {}, after?.node ? "Not before" : "Because"), h("dd", {}, becauseText(difference.reasons.before))] : null,
      ),
      after?.message ? h("p", {}, after.message) : null,
    );
    this.matrix.hidden = !found.matrix?.after;
    if (found.matrix?.after) this.matrix.compared = found.matrix;
  }
}

define("pw-what-if", WhatIf);
