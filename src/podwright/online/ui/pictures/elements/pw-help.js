// The help sheet: the keys of the page, opened with `?`.

import { PwElement, define, h, isTyping } from "../parts/dom.js";
import { DIALOG_STYLE } from "../parts/dialogs.js";
import { sheets } from "../parts/styles.js";

const STYLE = `
${DIALOG_STYLE}
kbd { font-family: var(--pw-mono); font-size: 12px; padding: 1px 6px; border: 1px solid var(--pw-line-strong); border-radius: 3px; white-space: nowrap; }
td { border: 0; padding: 4px 8px 4px 0; }
`;

const OF_CLUSTER = [
  ["1", "Pending pods"],
  ["2", "Nodes"],
  ["3", "Inspector"],
  ["/", "Search nodes"],
  ["c", "Compare, or back to the nodes"],
  ["j, k", "The next or previous pending pod; the arrows as well in a list"],
  ["↑ ↓ ← →", "Move among nodes"],
  ["Enter", "Select"],
  ["Space", "Select one more node"],
  ["Esc", "Select nothing"],
];
const OF_RESOURCES = [
  ["/", "Filter"],
  ["↑ ↓, k j", "Move among the objects; with Shift, select more"],
  ["Home, End", "First or last object"],
  ["Space", "Select one more object, or one less"],
  ["Enter", "Edit the selected object"],
  ["Delete", "Delete the selected objects"],
  ["n", "Create an object"],
  ["Ctrl Space", "Complete a field, in the editor"],
];
const OF_EDITOR = [["Esc, then Tab", "Leave the editor"]];
const OF_TIME = [
  ["p", "Pause or play"],
  [", and .", "One step back or forward in time"],
  ["← →", "The same, on the time bar"],
  ["l", "Back to live"],
];
const OF_ALL = [
  ["Tab, Shift Tab", "The next or previous control; Enter presses it"],
  [":", "Go to a page or a kind"],
  ["?", "This help"],
];
const OF_ROWS = [["j, k", "The next or previous row; Enter opens it"]];
const KEYS = { Resources: [...OF_RESOURCES, ...OF_EDITOR], Configuration: OF_EDITOR, Queue: OF_ROWS, Runs: OF_ROWS, Sync: OF_ROWS };

class Help extends PwElement {
  constructor() {
    super();
    this.root.adoptedStyleSheets = sheets(STYLE);
    this.dialog = h("dialog", { "aria-label": "Keyboard" });
    this.root.append(this.dialog);
  }

  start() {
    const keys = [...(this.hasAttribute("page") ? (KEYS[this.getAttribute("page")] ?? []) : OF_CLUSTER), ...OF_TIME, ...OF_ALL];
    const close = h("button", { on: { click: () => this.dialog.close() } }, "Close");
    this.dialog.replaceChildren(
      h("div", { class: "stack" }, h("h2", {}, "Keyboard"), h("table", {}, h("tbody", {}, keys.map(([key, text]) => h("tr", {}, h("td", {}, h("kbd", {}, key)), h("td", {}, text))))), h("div", {}, close)),
    );
    this.listen(document, "pw-help", () => this.#show());
    this.listen(document, "keydown", (event) => this.#key(event));
  }

  /** Whether the sheet is shown. */
  get open() {
    return this.dialog.open;
  }

  #show() {
    if (!this.dialog.open) this.dialog.showModal();
  }

  #key(event) {
    if (event.key !== "?" || isTyping(event)) return;
    event.preventDefault();
    this.#show();
  }
}

define("pw-help", Help);
