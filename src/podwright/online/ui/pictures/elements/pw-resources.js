// All kinds of the server and the Tables of their objects, with what can be done to them.
//
// What opens the editor is an event of NiceGUI: `pw-edit`, `pw-create` or `pw-delete`, with the path.

import { isAllowed } from "../data/access.js";
import { PwElement, define, h, innerLink, isTaken, isTyping, keyed, render, setAttribute, setText } from "../parts/dom.js";
import { countText, numberText } from "../parts/format.js";
import { HttpSource } from "../data/http_source.js";
import { apiVersionOf, collectionPath, kindNamed, listKinds, listTable, nameOf, objectPath, parseFilter, shownColumns, sortedRows, toneOf } from "../data/resources.js";
import { sheets } from "../parts/styles.js";
import "./pw-object.js";

const ROW_PIXELS = 27;
const EXTRA_ROWS = 6;
const CHARACTER_PIXELS = 7.3; // of the table's font
const WIDE = /[^\x20-\x7e]/; // a character may be wider than the others
const SCROLLING_MS = 150; // between two events of one scrolling
const PAGE_PAUSE_MS = 250;
const NO_SELECTORS = JSON.stringify({ labels: "", fields: "" });
const TYPING_MS = 400; // until selectors are sent
const REFRESH_MS = 2000;
/** How much of the time may be spent on refreshing. */
const REFRESH_SHARE = 20;

const SNAPSHOT = "/podwright/v1/snapshot";
const RESET = "/podwright/v1/reset";

const STYLE = `
:host { height: calc(100vh - var(--pw-bar-height)); width: 100%; background: var(--pw-background); }
.frame { display: grid; grid-template: minmax(0, 1fr) / 256px minmax(0, 1fr); height: 100%; }
.kinds { display: flex; flex-direction: column; min-height: 0; border-right: 1px solid var(--pw-line); background: var(--pw-surface); }
.kinds input { margin: var(--pw-space); }
.kinds ul { overflow: auto; flex: 1; padding-bottom: var(--pw-space); }
.group { padding: 10px 12px 2px; font-size: var(--pw-type-small); color: var(--pw-muted); overflow-wrap: anywhere; }
.kinds a { display: block; overflow: hidden; text-overflow: ellipsis; padding: 3px 12px; color: var(--pw-text); border-left: 2px solid transparent; }
.kinds a:hover { background: var(--pw-hover); text-decoration: none; }
.kinds a[aria-current] { background: var(--pw-selected); border-left-color: var(--pw-accent); }
.kinds .cluster { padding: var(--pw-space) 12px; border-top: 1px solid var(--pw-line); justify-content: space-between; }
.kinds .cluster a { display: inline; padding: 0; border: 0; color: var(--pw-accent); }
.objects { display: flex; flex-direction: column; min-width: 0; min-height: 0; }
pw-object { flex: none; max-height: 50%; overflow: auto; border-top: 1px solid var(--pw-line-strong); background: var(--pw-raised); }
.tools { padding: var(--pw-space) calc(2 * var(--pw-space)); gap: var(--pw-space); min-height: 43px; }
.tools input { width: 290px; }
.head, .space { font: 12px/1.4 var(--pw-mono); }
.head { display: grid; align-items: center; border-bottom: 1px solid var(--pw-line-strong); padding: 5px 0 5px 1ch; color: var(--pw-muted); position: sticky; top: 0; background: var(--pw-background); z-index: 1; }
.table { flex: 1; overflow: auto; position: relative; border-top: 1px solid var(--pw-line); }
.space { position: relative; contain: strict; }
.lines { contain: layout style; }
.line { display: flex; height: ${ROW_PIXELS}px; line-height: ${ROW_PIXELS - 1}px; border-bottom: 1px solid var(--pw-line); padding-left: 1ch; cursor: default; }
.line:hover { background: var(--pw-hover); }
.line[aria-selected="true"] { background: var(--pw-selected); }
.line.active { box-shadow: inset 2px 0 0 var(--pw-accent); }
.head > span, .line > span { padding: 0 var(--pw-space); white-space: nowrap; unicode-bidi: isolate; }
.line > span { flex: none; }
.line > span:last-child { flex: 1; min-width: 0; }
/* A clip or a layer of each cell would cost as much as its text: only what is too long has one. */
.head > span, .line > .cut { overflow: hidden; text-overflow: ellipsis; }
.head button { font: inherit; color: inherit; text-transform: inherit; letter-spacing: inherit; padding: 0; min-height: 0; }
.warn { color: var(--pw-warning); }
.head > span { font: 600 var(--pw-type-small)/1.4 var(--pw-font); text-transform: uppercase; letter-spacing: 0.03em; }
.table:focus-visible { outline-offset: -2px; }
.choose { display: none; }
@media (max-width: 900px) {
  .frame { grid-template: minmax(0, 1fr) / minmax(0, 1fr); }
  .choose { display: block; }
  .kinds, .frame.choosing .objects { display: none; }
  .frame.choosing .kinds { display: flex; border: 0; }
  .kinds a { padding-block: 8px; }
  .tools { flex-wrap: wrap; }
}
`;

class Resources extends PwElement {
  constructor() {
    super();
    this.places = new CSSStyleSheet(); // of the columns
    this.root.adoptedStyleSheets = [...sheets(STYLE), this.places];
    this.source = new HttpSource();
    this.kinds = [];
    this.kind = null;
    this.table = { columns: [], rows: [] };
    this.rows = [];
    this.shown = [];
    this.asked = NO_SELECTORS;
    this.selected = new Set();
    this.active = "";
    this.can = {};
    this.load = 0;
    this.scrolledMs = -SCROLLING_MS;
    this.width = this.height = 0;
    this.#build();
  }

  #build() {
    this.kindSearch = h("input", { type: "search", placeholder: "Kind", "aria-label": "Search kinds", on: { input: () => this.#drawKinds() } });
    this.kindList = h("ul", {});
    this.heading = h("h2", {});
    this.version = h("span", { class: "muted small" });
    this.namespace = h("select", { "aria-label": "Namespace", on: { change: () => this.#go({ namespace: this.namespace.value, object: "" }) } });
    this.search = h("input", { type: "search", placeholder: "Filter: text, app=web, --field-selector", "aria-label": "Filter rows", title: "Text of a row, or selectors as kubectl takes them (/)", on: { input: () => this.#filter() } });
    this.count = h("span", { class: "muted small num" });
    const button = (text, title, click) => h("button", { type: "button", title, hidden: true, on: { click } }, text);
    this.create = button("Create…", "Create objects of this kind (n)", () => this.#create());
    this.edit = button("Edit…", "Edit the object as YAML (Enter)", () => this.#edit());
    this.remove = button("Delete…", "Delete what is selected (Delete)", () => this.#delete());
    this.import = button("Import…", "Apply the objects of a snapshot", () => globalThis.emitEvent("pw-import"));
    this.reset = button("Reset…", "Restore the start of the server", () => globalThis.emitEvent("pw-reset"));
    const exported = h("a", { href: `/server${SNAPSHOT}`, download: "snapshot.json", title: "All objects and the configuration, for kube-scheduler-simulator too" }, "Export");
    this.cluster = h("div", { class: "row cluster" }, exported, this.import, this.reset);
    this.problem = h("div", { class: "error", role: "alert", hidden: true });
    this.empty = h("p", { class: "empty", role: "status" }, "Loading…");
    this.head = h("div", { class: "head", role: "row" });
    this.lines = h("div", { class: "lines", role: "rowgroup" });
    this.space = h("div", { class: "space", role: "presentation" }, this.lines);
    this.scroll = h(
      "div",
      { class: "table", role: "grid", tabindex: 0, "aria-label": "Objects", "aria-multiselectable": "true", on: { scroll: () => this.#scrolled(), keydown: (event) => this.#key(event) } },
      this.head,
      this.space,
    );
    this.object = h("pw-object", { hidden: true });
    this.choose = h("button", { class: "choose", title: "Choose another kind", "aria-label": "Choose another kind", on: { click: () => this.frame_.classList.add("choosing") } }, "☰");
    this.root.append(
      (this.frame_ = h(
        "div",
        { class: "frame" },
        h("nav", { class: "kinds", "aria-label": "Kinds" }, this.kindSearch, this.kindList, this.cluster),
        h(
          "section",
          { class: "objects", "aria-label": "Objects" },
          h("div", { class: "row tools" }, this.choose, this.heading, this.version, h("span", { class: "grow" }), this.count, this.namespace, this.search, this.edit, this.remove, this.create),
          this.problem,
          this.empty,
          this.scroll,
          this.object,
        ),
      )),
    );
  }

  async start() {
    this.listen(globalThis, "popstate", () => this.#follow());
    this.listen(document, "keydown", (event) => {
      if (["Escape", "Enter"].includes(event.key) && event.composedPath()[0] === this.search) {
        event.preventDefault(); // the filter stays
        this.scroll.focus();
      }
      if (isTyping(event)) return;
      if (event.key === "/") {
        event.preventDefault();
        this.search.focus();
      } else if ("jk".includes(event.key)) {
        this.scroll.focus();
        this.#key(event);
      }
    });
    this.listen(document, "pw-changed", () => this.#refresh());
    this.sized(this.scroll, ({ width, height }) => {
      Object.assign(this, { width, height });
      if (this.kind) this.#filter({ keepsAddress: true });
    });
    this.undo.push(() => clearTimeout(this.timer));
    for (const [button, path] of [[this.import, SNAPSHOT], [this.reset, RESET]]) {
      isAllowed(this.source, { verb: "post", path }).then((allowed) => (button.hidden = !allowed));
    }
    await this.#loadKinds();
  }

  async #loadKinds() {
    try {
      const [kinds, namespaces] = await Promise.all([listKinds(this.source), this.source.get("/api/v1/namespaces")]);
      this.kinds = kinds;
      this.namespaces = namespaces.items.map(({ metadata }) => metadata.name);
      this.#show("");
      this.#follow();
    } catch (error) {
      this.#show(error.message);
      this.timer = setTimeout(() => this.isConnected && this.#loadKinds(), REFRESH_MS);
    }
  }

  /** Shows what the address says. */
  #follow() {
    const query = new URLSearchParams(location.search);
    const name = query.get("kind") ?? "pods";
    const kind = kindNamed(this.kinds, name);
    if (!kind) {
      this.kind = null;
      this.#drawKinds(); // to choose another one
      this.#show(`The server has no kind "${name}".`);
      return;
    }
    const namespace = query.get("namespace") ?? "";
    if (kind !== this.kind || namespace !== this.place) {
      this.table = { columns: [], rows: [] };
      this.scroll.scrollTop = 0;
      this.#filter({ keepsAddress: true });
    }
    this.kind = kind;
    this.place = namespace;
    const object = query.get("object") ?? "";
    this.selected = new Set(object ? object.split(",") : []);
    this.active = [...this.selected].at(-1) ?? "";
    this.search.value = query.get("filter") ?? "";
    this.#drawKinds();
    setText(this.heading, kind.kind);
    setText(this.version, apiVersionOf(kind));
    this.namespace.hidden = !kind.isNamespaced;
    render(this.namespace, h("option", { value: "" }, "All namespaces"), this.namespaces.map((name) => h("option", { value: name, selected: name === namespace }, name)));
    this.#askWhatIsAllowed();
    this.#refresh();
  }

  #go(changes) {
    const query = new URLSearchParams(location.search);
    for (const [key, value] of Object.entries(changes)) {
      if (value) query.set(key, value);
      else query.delete(key);
    }
    history.pushState(null, "", `?${query}`);
    this.#follow();
  }

  async #askWhatIsAllowed() {
    const { kind, place } = this;
    const verbs = ["create", "update", "delete"];
    const answers = await Promise.all(
      verbs.map((verb) => kind.verbs.includes(verb) && isAllowed(this.source, { verb, group: kind.group, resource: kind.resource, namespace: place || undefined })),
    );
    if (kind !== this.kind || place !== this.place) return;
    this.can = Object.fromEntries(verbs.map((verb, at) => [verb, answers[at]]));
    this.#drawTools();
  }

  async #refresh() {
    clearTimeout(this.timer);
    const load = ++this.load;
    const begin = performance.now();
    if (!document.hidden && this.kind) {
      try {
        this.asked = this.#selectors();
        const isFirst = !this.table.rows.length;
        await listTable(this.source, this.kind, this.place, JSON.parse(this.asked), async (table) => {
          if (load !== this.load) return false;
          if (table.isComplete || isFirst) { // otherwise the rows of before stay until all are there
            this.table = table;
            this.#show("");
            this.#filter({ keepsAddress: true });
          }
          await this.#untilStill();
          return load === this.load;
        });
      } catch (error) {
        if (load !== this.load) return;
        this.#show(error.message);
      }
    }
    const took = performance.now() - begin;
    this.timer = setTimeout(() => this.isConnected && this.#refresh(), Math.max(REFRESH_MS, REFRESH_SHARE * took));
  }

  #show(problem) {
    this.problem.hidden = !problem;
    if (problem) this.empty.hidden = true;
    setText(this.problem, problem);
  }

  #filter({ keepsAddress = false } = {}) {
    const filter = this.search.value.trim();
    if (!keepsAddress) {
      const query = new URLSearchParams(location.search);
      if (filter) query.set("filter", filter);
      else query.delete("filter");
      history.replaceState(null, "", `?${query}`);
      clearTimeout(this.typing);
      this.typing = setTimeout(() => this.#selectors() !== this.asked && this.#refresh(), TYPING_MS);
    }
    const { text } = parseFilter(filter);
    const { rows, columns } = this.table;
    const found = text ? rows.filter(({ cells }) => cells.some((cell) => cell.toLowerCase().includes(text))) : rows;
    const { sort = "", order } = Object.fromEntries(new URLSearchParams(location.search));
    this.rows = sortedRows(found, columns, sort, order === "down");
    if (this.table.isComplete && (this.active || this.selected.size)) {
      const keys = new Set(rows.map(({ key }) => key));
      for (const key of this.selected) if (!keys.has(key)) this.selected.delete(key);
      if (!keys.has(this.active)) this.active = "";
    }
    const shown = shownColumns(columns, this.rows, this.width / CHARACTER_PIXELS - 1);
    const heads = JSON.stringify([shown, sort, order]);
    if (heads !== this.heads) {
      this.heads = heads;
      this.shown = shown;
      this.#placeColumns();
      render(this.head, shown.map(({ title }) => this.#header(title, sort, order)));
    }
    this.space.style.height = `${this.rows.length * ROW_PIXELS}px`;
    this.head.hidden = !this.rows.length;
    this.empty.hidden = this.rows.length > 0 || !this.problem.hidden;
    setText(this.empty, !columns.length ? "Loading…" : rows.length ? "No row has this text." : this.asked !== NO_SELECTORS ? "The selectors match no object." : this.#emptyText());
    const all = `${countText(rows.length, "object")}${this.table.isComplete || !rows.length ? "" : " so far"}`;
    setText(this.count, this.rows.length === rows.length ? all : `${numberText(this.rows.length)} of ${all}`);
    this.#drawLines();
    this.#drawTools();
  }

  /** Gives each column its width, once for all lines. */
  #placeColumns() {
    const rules = this.shown.map(({ width }, at) => `.line > :nth-child(${at + 1}) { width: ${width + 2}ch; }`);
    const all = this.shown.reduce((sum, { width }) => sum + width + 2, 1);
    this.places.replaceSync([...rules, `.head, .space { min-width: ${all}ch; }`].join("\n"));
    this.head.style.gridTemplateColumns = this.shown.map(({ width }, at) => (at === this.shown.length - 1 ? `minmax(${width + 2}ch, 1fr)` : `${width + 2}ch`)).join(" ");
  }

  /** Returns the selectors of the filter, which the server applies, as JSON. */
  #selectors() {
    const { labels, fields } = parseFilter(this.search.value);
    return JSON.stringify({ labels, fields });
  }

  #header(title, sort, order) {
    const isSorted = title === sort;
    const next = { sort: isSorted && order === "down" ? "" : title, order: isSorted && !order ? "down" : "" };
    const button = h("button", { class: "plain", "data-focus": `sort ${title}`, title: `Sort by ${title}`, on: { click: () => this.#go(next) } }, title, isSorted ? (order === "down" ? " ▾" : " ▴") : "");
    return h("span", { role: "columnheader", "aria-sort": isSorted ? (order === "down" ? "descending" : "ascending") : "none" }, button);
  }

  #emptyText() {
    const where = this.place ? ` in the namespace ${this.place}` : "";
    return `There are no objects of kind ${this.kind.kind}${where}.${this.can.create ? " “Create…” makes one." : ""}`;
  }

  #drawKinds() {
    const text = this.kindSearch.value.trim().toLowerCase();
    const items = [];
    let group = null;
    for (const kind of this.kinds) {
      if (text && !kind.kind.toLowerCase().includes(text) && !nameOf(kind).includes(text)) continue;
      if (kind.group !== group) {
        group = kind.group;
        items.push({ key: `group ${group}`, group: group || "core" });
      }
      items.push({ key: nameOf(kind), kind });
    }
    const create = ({ group, kind, key }) =>
      kind
        ? h("li", {}, innerLink(`?kind=${key}`, {}, () => this.#choose(key), kind.kind))
        : h("li", { class: "group" }, group);
    keyed(this.kindList, items, ({ key }) => key, create, (node, { kind }) => {
      if (!kind) return;
      if (kind === this.kind) node.firstChild.setAttribute("aria-current", "page");
      else node.firstChild.removeAttribute("aria-current");
    });
    this.kindList.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  }

  #choose(key) {
    this.frame_.classList.remove("choosing");
    this.#go({ kind: key, filter: "", sort: "", order: "", object: "" });
  }

  #drawTools() {
    const chosen = this.#chosen();
    this.object.show(chosen.length === 1 ? { kind: this.kind, ...chosen[0] } : null, this.can.update && (() => this.#edit()));
    this.create.hidden = !this.can.create;
    this.edit.hidden = !this.can.update;
    this.remove.hidden = !this.can.delete;
    this.edit.disabled = chosen.length !== 1;
    this.remove.disabled = !chosen.length;
  }

  #scrolled() {
    this.scrolledMs = performance.now();
    this.#drawLines();
  }

  /** Waits while rows are scrolled, so that frames get the processors; not for long, as more rows are due. */
  async #untilStill() {
    const begin = performance.now();
    while (performance.now() < Math.min(this.scrolledMs + SCROLLING_MS, begin + PAGE_PAUSE_MS)) {
      await new Promise((resolve) => setTimeout(resolve, SCROLLING_MS / 3));
    }
  }

  /** Draws the rows that are seen and some around them, in lines that are used again for other rows. */
  #drawLines() {
    const { rows, shown } = this;
    // In steps, so that most frames of slow scrolling change nothing.
    const first = Math.max(0, Math.floor(this.scroll.scrollTop / ROW_PIXELS / EXTRA_ROWS) - 1) * EXTRA_ROWS;
    const last = Math.min(rows.length, first + Math.ceil(this.height / ROW_PIXELS) + 3 * EXTRA_ROWS);
    this.lines.style.transform = `translateY(${first * ROW_PIXELS}px)`;
    const lines = this.lines.children;
    while (lines.length > Math.max(0, last - first)) this.lines.lastChild.remove();
    while (lines.length < last - first) this.lines.append(this.#newLine());
    for (let index = first; index < last; index++) {
      const line = lines[index - first];
      const row = rows[index];
      setAttribute(line, "aria-rowindex", String(index + 1));
      setAttribute(line, "aria-selected", String(this.selected.has(row.key)));
      line.classList.toggle("active", row.key === this.active);
      if (line.row === row && line.columns === shown) continue;
      line.row = row;
      line.columns = shown;
      while (line.children.length > shown.length) line.lastChild.remove();
      while (line.children.length < shown.length) line.append(h("span", { role: "gridcell" }, " "));
      for (let at = 0, cell = line.firstChild; cell; at++, cell = cell.nextSibling) {
        const { index: of, title, width } = shown[at];
        const text = row.cells[of];
        if (cell.firstChild.data !== text) cell.firstChild.data = text;
        const isCut = text.length > width || WIDE.test(text);
        setAttribute(cell, "title", isCut ? text : "");
        setAttribute(cell, "class", isCut ? "cut" : text === "<none>" ? "muted" : toneOf(title, text));
      }
    }
  }

  #newLine() {
    const line = h("div", { class: "line", role: "row" });
    line.addEventListener("click", (event) => this.#select(line.row.key, event.ctrlKey || event.metaKey));
    line.addEventListener("dblclick", () => this.#edit());
    return line;
  }

  #select(key, adds) {
    if (!adds) this.selected.clear();
    if (adds && this.selected.has(key)) this.selected.delete(key);
    else this.selected.add(key);
    this.active = key;
    const query = new URLSearchParams(location.search);
    if (this.selected.size) query.set("object", [...this.selected].join());
    else query.delete("object");
    history.replaceState(null, "", `?${query}`);
    this.#drawLines();
    this.#drawTools();
  }

  #key(event) {
    if (event.target.matches("button") || isTaken(event)) return;
    const at = this.rows.findIndex(({ key }) => key === this.active);
    const page = Math.max(1, Math.floor(this.height / ROW_PIXELS) - 2);
    const moves = { ArrowDown: at + 1, j: at + 1, ArrowUp: at - 1, k: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: this.rows.length - 1 };
    if (event.key in moves && this.rows.length) {
      const to = Math.min(this.rows.length - 1, Math.max(0, moves[event.key]));
      this.#select(this.rows[to].key, event.shiftKey);
      const top = to * ROW_PIXELS;
      const { scrollTop, clientHeight } = this.scroll;
      if (top < scrollTop) this.scroll.scrollTop = top;
      else if (top + 3 * ROW_PIXELS > scrollTop + clientHeight) this.scroll.scrollTop = top + 3 * ROW_PIXELS - clientHeight;
    } else if (event.key === " " && this.active) {
      this.#select(this.active, true);
    } else if (event.key === "Enter") {
      this.#edit();
    } else if (event.key === "Delete") {
      this.#delete();
    } else if (event.key === "n") {
      this.#create();
    } else {
      return;
    }
    event.preventDefault();
  }

  #chosen() {
    return this.table.rows.filter(({ key }) => this.selected.has(key));
  }

  #describe() {
    const { kind } = this;
    return { kind: kind.kind, apiVersion: apiVersionOf(kind), isNamespaced: kind.isNamespaced, namespace: this.place };
  }

  #create() {
    if (!this.can.create) return;
    globalThis.emitEvent("pw-create", { ...this.#describe(), collection: collectionPath(this.kind, "") });
  }

  #edit() {
    const [row, ...others] = this.#chosen();
    if (!this.can.update || !row || others.length) return;
    globalThis.emitEvent("pw-edit", { ...this.#describe(), name: row.name, path: objectPath(this.kind, row.namespace, row.name) });
  }

  #delete() {
    const chosen = this.#chosen();
    if (!this.can.delete || !chosen.length) return;
    const objects = chosen.map(({ namespace, name, key }) => ({ key: this.kind.isNamespaced ? key : name, path: objectPath(this.kind, namespace, name) }));
    globalThis.emitEvent("pw-delete", { ...this.#describe(), objects });
  }
}

define("pw-resources", Resources);
