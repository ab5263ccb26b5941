// What if this pod, or a weight of the scheduler, were different: tried in a copy of the cluster.

import { PwElement, define, h, render, setText } from "./dom.js";
import { nodeLink } from "./explanation.js";
import { model } from "./model.js";
import { options } from "./pw-nodes.js";
import { sheets } from "./styles.js";
import { becauseText, weightsOf, whatIfOfPod } from "./what_if.js";
import "./pw-matrix.js";

const STYLE = `
summary { cursor: pointer; font-weight: 600; }
form { display: grid; grid-template-columns: max-content minmax(0, 1fr) minmax(0, 92px); gap: var(--pw-space); align-items: center; padding-top: var(--pw-space); }
form label { color: var(--pw-muted); }
form .wide { grid-column: 2 / 4; }
form button { grid-column: 2; justify-self: start; }
.result { padding-top: var(--pw-space); }
.change { display: grid; grid-template-columns: max-content 1fr; gap: 2px calc(1.5 * var(--pw-space)); margin: 0; }
.change dt { color: var(--pw-muted); } .change dd { margin: 0; overflow-wrap: anywhere; }
pw-matrix { margin: 0 calc(-2 * var(--pw-space)); }
`;

class WhatIf extends PwElement {
  constructor() {
    super();
    this.root.adoptedStyleSheets = sheets(STYLE);
    this.plugin = h("select", { id: "plugin" });
    this.weight = h("input", { type: "number", min: "1", max: "1000000", "aria-label": "New weight", placeholder: "weight" });
    this.toleration = h("input", { id: "toleration", class: "wide", placeholder: "key=value:NoSchedule", spellcheck: "false" });
    this.resource = h("select", { id: "resource" });
    this.quantity = h("input", { "aria-label": "New request", placeholder: "500m", spellcheck: "false" });
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
      h("label", { for: "toleration" }, "Toleration"),
      this.toleration,
      h("label", { for: "resource" }, "Request"),
      this.resource,
      this.quantity,
      this.button,
    );
    this.details = h("details", {}, h("summary", {}, "What if…"), this.form, this.error, this.result, this.matrix);
    this.root.append(h("section", { class: "section" }, this.details));
    this.details.addEventListener("toggle", () => this.#opened());
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#try();
    });
  }

  /** @param {{pod: string, object: any}} of the pod */
  set of(of) {
    if (this.pod !== of.pod) {
      this.result.hidden = true;
      this.matrix.hidden = true;
      this.error.hidden = true;
    }
    this.pod = of.pod;
    this.object = of.object;
    const requested = Object.keys(of.object?.spec.containers?.[0]?.resources?.requests ?? {});
    options(this.resource, [...new Set([...requested, "cpu", "memory"])].map((name) => [name, name]), this.resource.value || "cpu");
  }

  async #opened() {
    if (!this.details.open || this.weights) return;
    try {
      this.weights = weightsOf(await model().source.get("/podwright/v1/plugins"));
      options(this.plugin, Object.entries(this.weights).map(([name, weight]) => [name, `${name} (${weight})`]), this.plugin.value);
      if (!this.plugin.value) this.plugin.selectedIndex = 0;
    } catch (error) {
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
      body = whatIfOfPod(this.object, {
        weights: this.weight.value ? { [this.plugin.value]: Number(this.weight.value) } : {},
        toleration: this.toleration.value,
        requests: this.quantity.value ? { [this.resource.value]: this.quantity.value.trim() } : {},
      });
      if (!body.weights && !body.patches) throw new Error("Enter a weight, a toleration or a request.");
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
