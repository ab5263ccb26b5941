// A new cluster of a manifest that is pasted, or of a file that is dropped anywhere on the page.

import { DIALOG_STYLE } from "../parts/dialogs.js";
import { PwElement, define, h, setText } from "../parts/dom.js";
import { HttpSource } from "../data/http_source.js";
import { sheets } from "../parts/styles.js";

const NODES = 3; // that a manifest without nodes gets
const STYLE = `
${DIALOG_STYLE}
dialog { width: min(720px, calc(100vw - 32px)); box-sizing: border-box; }
textarea { width: 100%; height: min(46vh, 380px); font: 12px/1.45 var(--pw-mono); color: inherit; background: var(--pw-field); border: 1px solid var(--pw-line-strong); border-radius: 4px; padding: 8px; resize: vertical; }
textarea::placeholder { color: var(--pw-muted); opacity: 1; }
dialog.over textarea { border: 2px dashed var(--pw-accent); background: var(--pw-selected); }
input[type="number"] { width: 90px; }
`;

class NewCluster extends PwElement {
  constructor() {
    super();
    this.root.adoptedStyleSheets = sheets(STYLE);
    this.text = h("textarea", { "aria-label": "Manifests", spellcheck: "false", placeholder: "Paste manifests here, or drop a file: manifests, a dump of kubectl get -o yaml, or a snapshot of kube-scheduler-simulator", on: { input: () => this.#changed() } });
    this.nodes = h("input", { type: "number", min: "0", max: "5000", value: NODES, "aria-label": "Equal nodes to create" });
    this.choice = h("input", { type: "file", hidden: true, on: { change: () => this.#take(this.choice.files[0]) } });
    this.file = null;
    this.isStarting = false;
    this.isOfDrag = false; // the dialog was opened by a file that is dragged over the page
    this.name = h("span", { class: "name grow" });
    this.problem = h("div", { class: "error", role: "alert", hidden: true });
    this.status = h("span", { class: "muted", role: "status" });
    this.open = h("button", { class: "primary", on: { click: () => this.#open() } }, "Open");
    this.dialog = h(
      "dialog",
      { "aria-label": "New cluster" },
      h(
        "div",
        { class: "stack" },
        h("h2", {}, "New cluster"),
        h("p", { class: "muted" }, "It runs beside this one, which stays as it is, until the server of this page ends."),
        this.text,
        h("div", { class: "row wrap" }, h("button", { on: { click: () => this.choice.click() } }, "Choose a file…"), this.choice, this.name, h("label", { class: "row" }, "Nodes to add", this.nodes)),
        this.problem,
        h("div", { class: "row" }, h("span", { class: "grow" }, this.status), h("button", { on: { click: () => this.dialog.close() } }, "Cancel"), this.open),
      ),
    );
    this.root.append(this.dialog);
  }

  start() {
    this.listen(document, "pw-new-cluster", () => this.#show());
    this.listen(document, "dragover", (event) => {
      // The page has another place for files.
      if (!event.dataTransfer.types.includes("Files") || document.querySelector(".q-uploader")) return;
      event.preventDefault();
      this.isOfDrag ||= !this.dialog.open;
      this.#show();
      this.dialog.classList.add("over");
    });
    this.listen(document, "dragleave", (event) => {
      if (event.relatedTarget) return;
      this.dialog.classList.remove("over");
      if (this.isOfDrag) this.dialog.close();
      this.isOfDrag = false;
    });
    this.listen(document, "drop", (event) => {
      if (!this.dialog.open || !event.dataTransfer.files.length) return;
      event.preventDefault();
      this.#take(event.dataTransfer.files[0]);
    });
    this.#changed();
  }

  #show() {
    if (!this.dialog.open) this.dialog.showModal();
  }

  #take(file) {
    if (!file) return; // the choice was canceled
    this.dialog.classList.remove("over");
    this.isOfDrag = false;
    this.file = file;
    this.choice.value = ""; // so that the same file can be chosen again
    this.text.value = "";
    this.nodes.value = "0"; // dumps have nodes
    this.#changed();
  }

  #changed() {
    const text = this.text.value;
    if (text) {
      this.file = null;
      this.nodes.value = /"?kind"?:\s*"?Node\b/.test(text) ? "0" : String(NODES);
    }
    setText(this.name, this.file?.name ?? "");
    this.problem.hidden = true; // it was one of another text or file
    this.#allowOpen();
  }

  #allowOpen() {
    this.open.disabled = this.isStarting || (!this.text.value.trim() && !this.file);
  }

  async #open() {
    this.problem.hidden = true;
    this.isStarting = true;
    this.#allowOpen();
    setText(this.status, "Starting…");
    const name = (this.file?.name ?? "pasted.yaml").replace(/[^\w.-]+/g, "-").slice(-60).replace(/^\.+/, "") || "file";
    try {
      await this.file?.slice(0, 1).arrayBuffer().catch(() => {
        throw new Error(`${this.file.name} has changed or is gone since it was taken: drop or choose it again.`);
      });
      const { page, problem } = await new HttpSource("").send("POST", `/clusters?${new URLSearchParams({ name, nodes: this.nodes.value || "0" })}`, this.file ?? this.text.value, "application/octet-stream");
      if (problem) throw new Error(problem);
      location.assign(page);
    } catch (error) {
      this.problem.hidden = false;
      setText(this.problem, error.message);
    }
    this.isStarting = false;
    this.#allowOpen();
    setText(this.status, "");
  }
}

define("pw-new-cluster", NewCluster);
