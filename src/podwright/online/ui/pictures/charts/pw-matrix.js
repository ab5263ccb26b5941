// The matrix of an attempt: a row per node, a column per plugin, drawn only where it is in view.

import { address } from "../data/address.js";
import { PwElement, define, h, humps, innerLink, keyed, render, setText } from "../parts/dom.js";
import { VALUES, filterResult, largestDifference, rowOrder, rowsInView, signed, valuesOf, whyNot, winnerOf } from "../parts/matrix_rows.js";
import { model } from "../data/model.js";
import { matrixOf } from "../parts/scores.js";
import { sheets } from "../parts/styles.js";

const ROW_PX = 26;
const HEAD_PX = 50;
const NAME_PX = 96;
const TOTAL_PX = 52;
const COLUMN_PX = 72;
const ROWS_PX = 420;
/** What the address has as the value if the cells are the results of the filters. */
const FILTERS = "filters";
const STYLE = `
.tools { display: flex; flex-wrap: wrap; gap: var(--pw-space); align-items: center; }
.tools .values { display: inline-flex; }
.tools .values button { border-radius: 0; margin-left: -1px; padding: 1px 8px; font-size: var(--pw-type-small); }
.tools .values button:first-child { border-radius: 4px 0 0 4px; margin-left: 0; } .tools .values button:last-child { border-radius: 0 4px 4px 0; }
.tools input { flex: 1; min-width: 110px; }
.view { position: relative; overflow: auto; max-height: ${ROWS_PX}px; border: 1px solid var(--pw-line); border-radius: 4px; }
.sizer { position: relative; width: max-content; min-width: 100%; }
.line { position: absolute; left: 0; top: 0; width: 100%; display: flex; height: ${ROW_PX}px; border-bottom: 1px solid var(--pw-line); align-items: stretch; background: var(--pw-raised); }
.line.best { background: var(--pw-selected); }
.line.found { outline: 2px solid var(--pw-accent); outline-offset: -2px; }
.head { position: sticky; top: 0; z-index: 2; display: flex; height: var(--head); background: var(--pw-surface); border-bottom: 1px solid var(--pw-line-strong);
  font-size: 11px; font-weight: 600; color: var(--pw-muted); align-items: flex-end; }
.cell { position: relative; flex: none; width: ${COLUMN_PX}px; padding: 0 6px; line-height: ${ROW_PX - 1}px; text-align: right; font-variant-numeric: tabular-nums; overflow: hidden; white-space: nowrap; text-overflow: ellipsis; }
.head .cell { line-height: 14px; padding: 0 4px 5px; white-space: normal; overflow-wrap: anywhere; }
.cell.node { position: sticky; left: 0; z-index: 1; width: max(${NAME_PX}px, min(320px, 100% - ${TOTAL_PX}px - var(--columns) * ${COLUMN_PX}px)); text-align: left; background: inherit; border-right: 1px solid var(--pw-line); }
.head .cell.node { z-index: 3; }
.cell.total { font-weight: 600; width: ${TOTAL_PX}px; }
.cell i { position: absolute; bottom: 2px; height: 3px; border-radius: 1px; left: 50%; width: calc(50% * var(--size)); background: var(--pw-good); }
.cell i.less { left: auto; right: 50%; background: var(--pw-bad); }
.cell.text { flex: 1; width: auto; min-width: 200px; text-align: left; }
.cell.changed { font-weight: 700; text-decoration: underline; text-decoration-style: dotted; text-underline-offset: 3px; }
.no { color: var(--pw-bad); } .never { color: var(--pw-muted); font-style: italic; }
.sentence { overflow-wrap: anywhere; }
`;

class Matrix extends PwElement {
  constructor() {
    super();
    this.root.adoptedStyleSheets = sheets(STYLE);
    this.matrix = null;
    this.error = "";
    this.earlier = null; // the matrix before a change
    this.values = h("div", { class: "values", role: "group", "aria-label": "Value of the cells" });
    this.search = h("input", { type: "search", placeholder: "Why not node…", "aria-label": "Why not this node" });
    this.filters = h("button", { "aria-pressed": "false", title: "Show the result of each filter" }, "Filters");
    this.sentence = h("p", { class: "sentence", role: "status" });
    this.head = h("div", { class: "head" });
    this.rows = h("div", {});
    this.sizer = h("div", { class: "sizer" }, this.head, this.rows);
    this.view = h("div", { class: "view", tabindex: "0", role: "group", "aria-label": "Matrix of nodes and plugins" }, this.sizer);
    this.skipped = h("p", { class: "small muted" });
    this.note = h("p", { class: "muted" });
    this.heading = h("h3", {}, "Nodes and plugins");
    this.tools = h("div", { class: "tools", hidden: true }, this.values, this.filters, this.search);
    this.root.append(
      h("section", { class: "section stack" }, this.heading, this.note, this.tools, this.sentence, this.view, this.skipped),
    );
    this.view.addEventListener("scroll", () => this.#rows());
    this.search.addEventListener("input", () => address.set({ why: this.search.value.trim() }, { replace: true }));
    this.filters.addEventListener("click", () => address.set({ value: this.#isOfFilters ? null : FILTERS }));
  }

  start() {
    this.listen(address, "change", () => this.invalidate());
  }

  /** @param {{pod: string, query: string, version: string}} query which attempt of which pod; another version
   *   is loaded again */
  set query(query) {
    this.requested = query;
    this.#load(query);
  }

  /**
   * Shows the matrix after a change, and marks what differs from the one before.
   *
   * @param {{before: any, after: any}} matrices
   */
  set compared({ before, after }) {
    setText(this.heading, "Nodes and plugins with the change");
    this.earlier = before;
    this.#show(after);
  }

  async #load(requested) {
    try {
      const matrix = await matrixOf(model().source, requested.pod, requested.query, requested.version);
      if (requested === this.requested) this.#show(matrix);
    } catch (error) {
      if (requested !== this.requested) return;
      this.matrix = null;
      this.error = error.message;
      this.invalidate();
    }
  }

  #show(matrix) {
    this.matrix = matrix;
    this.error = "";
    this.order = rowOrder(matrix);
    this.found = -1;
    this.searched = null;
    this.view.scrollTop = 0;
    this.invalidate();
  }

  get #isOfFilters() {
    return address.get().value === FILTERS;
  }

  get #value() {
    const { value } = address.get();
    return VALUES.includes(value) ? value : "weighted";
  }

  update() {
    const { matrix } = this;
    for (const part of [this.view, this.tools]) part.hidden = !matrix;
    this.note.hidden = Boolean(matrix);
    setText(this.note, this.error || "Loading…");
    if (!matrix) return;
    const value = this.#value;
    render(this.values, VALUES.map((name) => h("button", { "aria-pressed": String(name === value && !this.#isOfFilters), "data-focus": name, on: { click: () => address.set({ value: name === "weighted" ? null : name }) } }, name)));
    this.values.hidden = !matrix.scores.length;
    this.filters.setAttribute("aria-pressed", String(this.#isOfFilters));
    this.largest = largestDifference(matrix, value);
    this.winner = winnerOf(matrix);
    this.largestTotal = matrix.totals.reduce((most, one) => (one === null ? most : Math.max(most, Math.abs(one - matrix.totals[this.winner]))), 0);
    const [filters, idle] = divided(matrix.filters, ({ applies }) => applies);
    const [scores, even] = divided(matrix.scores, (column) => valuesOf(column, value).some((one) => one));
    this.columns = this.#isOfFilters ? filters : scores;
    const heads = this.#isOfFilters
      ? filters.map(({ plugin }) => h("span", { class: "cell", title: plugin }, humps(plugin)))
      : [
          ...(matrix.scores.length ? [h("span", { class: "cell total" }, "Total")] : []),
          ...scores.map(({ plugin, weight }) => h("span", { class: "cell", title: weight === null ? plugin : `${plugin}, weight ${weight}` }, humps(plugin), weight === null ? null : ` ×${weight}`)),
          ...(matrix.scores.length ? [] : [h("span", { class: "cell text" }, "Filters")]),
        ];
    this.sizer.style.setProperty("--columns", String(matrix.scores.length || this.#isOfFilters ? this.columns.length : 3));
    render(this.head, h("span", { class: "cell node" }, "Node"), heads);
    // Names of plugins have three lines.
    this.headPx = this.columns.length ? HEAD_PX : ROW_PX;
    this.head.style.setProperty("--head", `${this.headPx}px`);
    this.sizer.style.height = `${this.headPx + this.order.length * ROW_PX}px`;
    const skipped = this.#isOfFilters
      ? listed("Nothing to check for this pod", idle.map(({ plugin }) => plugin))
      : [listed("0 for every node", even.map(({ plugin }) => plugin)), listed("Nothing to score for this pod", matrix.skippedScores)].filter(Boolean).join(" ");
    setText(this.skipped, skipped);
    this.skipped.hidden = !skipped;
    this.#rows();
    this.#find(address.get().why ?? "");
  }

  #rows() {
    if (!this.matrix) return;
    const { first, end } = rowsInView(this.view.scrollTop, Math.min(ROWS_PX, this.view.clientHeight || ROWS_PX), ROW_PX, this.order.length);
    const shown = this.order.slice(first, end).map((index, at) => ({ index, at: first + at }));
    // Cells depend on the chosen value and columns, so rows are of one kind only.
    const kind = `${this.#value} ${this.#isOfFilters}`;
    keyed(this.rows, shown, ({ index }) => `${this.matrix.pod} ${this.matrix.attempt} ${kind} ${index}`, ({ index }) => this.#row(index), (line, { index, at }) => {
      line.style.transform = `translateY(${this.headPx + at * ROW_PX}px)`;
      line.classList.toggle("best", index === this.winner);
      line.classList.toggle("found", index === this.found);
    });
    if (this.drawnMatrix !== this.matrix) {
      this.drawnMatrix = this.matrix;
      this.rows.replaceChildren();
      this.rows.pwKeyed = new Map();
      this.#rows();
    }
  }

  #row(index) {
    const { matrix } = this;
    const name = matrix.nodes[index];
    const line = h("div", { class: "line" });
    const follow = () => {
      this.searched = name; // it is in view
      this.#explain(index);
      address.set({ why: name }, { replace: true });
    };
    line.append(h("span", { class: "cell node" }, innerLink(address.link({ node: name }), { class: "name", title: name }, follow, name)));
    line.append(...(this.#isOfFilters ? this.#filterCells(index) : this.#scoreCells(index)));
    return line;
  }

  #scoreCells(index) {
    const { matrix } = this;
    const cells = [];
    const result = filterResult(matrix, index);
    // A node that is not scored has its reason in place of scores.
    if (matrix.scores.length && result.kind === "passed") {
      const total = matrix.totals[index];
      cells.push(h("span", { class: "cell total" }, total ?? "", this.#bar(total, matrix.totals[this.winner], this.largestTotal)));
      for (const column of this.columns) {
        const values = valuesOf(column, this.#value);
        const value = values[index];
        const best = values[this.winner];
        const was = this.#before(index, column.plugin);
        const isChanged = was !== undefined && was !== value;
        const title = value === null ? "" : `${column.plugin}: ${signed(value - best)} compared with ${matrix.nodes[this.winner]}${isChanged ? `; ${was ?? "none"} before` : ""}`;
        cells.push(h("span", { class: isChanged ? "cell changed" : "cell", title }, value ?? "", this.#bar(value, best, this.largest)));
      }
    }
    if (!cells.length) cells.push(resultCell(result));
    return cells;
  }

  /** Returns the value of a cell before the change; undefined without one. */
  #before(index, plugin) {
    if (!this.earlier) return undefined;
    const column = this.earlier.scores.find((one) => one.plugin === plugin);
    const at = this.earlier.nodes.indexOf(this.matrix.nodes[index]);
    return column && at >= 0 ? valuesOf(column, this.#value)[at] : null;
  }

  #bar(value, best, largest) {
    if (value === null || value === undefined || best === null || value === best || !largest) return null;
    const difference = value - best;
    return h("i", { class: difference < 0 ? "less" : "", style: { "--size": String(Math.abs(difference) / largest) } });
  }

  #filterCells(index) {
    const { matrix } = this;
    return this.columns.map(({ plugin, results }) => {
      const result = matrix.results[results[index]];
      if (result.kind === "passed") return h("span", { class: "cell", title: `${plugin}: passed` }, "✓");
      if (result.kind === "rejected") return h("span", { class: "cell no", title: `${plugin}: ${result.reasons.join(", ")}` }, "✗");
      return h("span", { class: "cell never", title: `${plugin}: not evaluated` }, "n/e");
    });
  }

  #explain(index) {
    this.found = index;
    render(this.sentence, humps(whyNot(this.matrix, index)));
    this.#rows();
  }

  /** Explains the first node with a text in its name, and scrolls to it. */
  #find(text) {
    if (this.root.activeElement !== this.search) this.search.value = text;
    if (text === this.searched) return;
    this.searched = text;
    const query = text.toLowerCase();
    const names = this.matrix.nodes.map((name) => name.toLowerCase());
    const exact = names.indexOf(query);
    const index = exact >= 0 ? exact : query ? names.findIndex((name) => name.includes(query)) : -1;
    if (index < 0) {
      this.found = -1;
      setText(this.sentence, query ? `No node has ${text} in its name.` : "");
      this.#rows();
      return;
    }
    this.#explain(index);
    const top = this.order.indexOf(index) * ROW_PX;
    this.view.scrollTop = Math.max(0, top - ROWS_PX / 3);
    this.#rows();
  }
}

/** Returns the items for which a condition holds, and the others. */
function divided(items, condition) {
  return [items.filter(condition), items.filter((item) => !condition(item))];
}

function listed(title, names) {
  return names.length ? `${title}: ${names.join(", ")}.` : "";
}

function resultCell({ kind, plugin, reasons }) {
  if (kind === "passed") return h("span", { class: "cell text muted" }, "passed");
  if (kind === "excluded") return h("span", { class: "cell text never" }, "excluded by PreFilter");
  if (kind === "notEvaluated") return h("span", { class: "cell text never" }, "not evaluated");
  const text = `${plugin}: ${reasons.join(", ")}`;
  return h("span", { class: "cell text no", title: text }, text);
}

define("pw-matrix", Matrix);
