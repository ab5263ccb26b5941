// A report: the screen with the data of the page itself.

import { address } from "../data/address.js";
import { PwElement, define, h } from "../parts/dom.js";
import { EmbeddedSource } from "../data/embedded_source.js";
import { selectFirstPending } from "../data/first_pending.js";
import { model, setSource } from "../data/model.js";
import { sheets } from "../parts/styles.js";
import "./pw-screen.js";

const STYLE = `
header { display: flex; gap: calc(2 * var(--pw-space)); align-items: center; height: var(--pw-bar-height); padding: 0 calc(2 * var(--pw-space));
  background: var(--pw-surface); border-bottom: 1px solid var(--pw-line); }
header .title { max-width: 260px; }
@media (max-width: 1100px) { header { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: 0 var(--pw-space); padding: 0 var(--pw-space); } header pw-time { grid-column: 1 / -1; } }
`;

const data = JSON.parse(document.getElementById("pw-data").textContent);
setSource(new EmbeddedSource(data));
if (!location.hash) address.set({ view: "results" }, { replace: true });

class Report extends PwElement {
  constructor() {
    super();
    this.root.adoptedStyleSheets = sheets(STYLE);
    this.root.append(
      h("header", {}, h("strong", {}, "podwright"), h("span", { class: "title clip", title: data.title }, data.title), h("pw-time")),
      h("pw-screen"),
    );
  }

  start() {
    this.undo.push(model().use());
    selectFirstPending(model());
  }
}

define("pw-report", Report);
