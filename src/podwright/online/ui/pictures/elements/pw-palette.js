// The palette: goes to a page, or to a kind's objects, by its name as in k9s; opened with `:`.

import { PwElement, define, h, isTyping, render } from "../parts/dom.js";
import { PAGES } from "./pw-bar.js";
import { HttpSource } from "../data/http_source.js";
import { listKinds, nameOf } from "../data/resources.js";
import { DIALOG_STYLE } from "../parts/dialogs.js";
import { sheets } from "../parts/styles.js";

const SHOWN_MAX = 12;
const STYLE = `
${DIALOG_STYLE}
dialog { width: min(480px, calc(100vw - 32px)); margin-top: 12vh; padding: 0; }
input { width: 100%; min-height: 40px; border: 0; border-bottom: 1px solid var(--pw-line); border-radius: 0; font-family: var(--pw-mono); }
a { display: flex; gap: var(--pw-space); padding: 6px 12px; color: inherit; }
a[aria-selected="true"] { background: var(--pw-selected); text-decoration: none; }
`;

class Palette extends PwElement {
  constructor() {
    super();
    this.root.adoptedStyleSheets = sheets(STYLE);
    this.input = h("input", { type: "text", "aria-label": "Page or kind", placeholder: "Page or kind, and a namespace: pods kube-system", autocomplete: "off", on: { input: () => this.#choose(0), keydown: (event) => this.#key(event) } });
    this.list = h("ul", { role: "listbox", "aria-label": "Places" });
    this.dialog = h("dialog", { "aria-label": "Go to" }, this.input, this.list);
    this.root.append(this.dialog);
    this.places = PAGES.map(([title, address]) => ({ title, note: "page", address: () => address, names: [title.toLowerCase()] }));
  }

  start() {
    this.listen(document, "pw-palette", ({ detail }) => this.#show(detail));
  }

  async #show(event) {
    if (this.dialog.open || isTyping(event)) return;
    this.input.value = "";
    this.dialog.showModal();
    this.#choose(0);
    try {
      this.kinds ??= await listKinds(new HttpSource());
    } catch {
      return; // the pages remain
    }
    this.#choose(0);
  }

  /** The places of the text, those whose name begins with it first. */
  get #found() {
    const [name, namespace = ""] = this.input.value.trim().toLowerCase().replace(/^:/, "").split(/\s+/);
    const kinds = (this.kinds ?? []).map((kind) => ({
      title: kind.kind,
      note: nameOf(kind),
      names: [nameOf(kind), kind.kind.toLowerCase()],
      address: () => `/resources?kind=${encodeURIComponent(nameOf(kind))}${namespace && kind.isNamespaced ? `&namespace=${encodeURIComponent(namespace)}` : ""}`,
    }));
    const all = [...this.places, ...kinds];
    const begins = all.filter(({ names }) => names.some((each) => each.startsWith(name)));
    const rest = all.filter((each) => !begins.includes(each) && each.names.some((text) => text.includes(name)));
    return [...begins, ...rest].slice(0, SHOWN_MAX);
  }

  #choose(index) {
    const found = this.#found;
    this.index = Math.max(0, Math.min(found.length - 1, index));
    render(this.list, found.length ? found.map(({ title, note, address }, at) => h("li", {}, h("a", { href: address(), role: "option", "aria-selected": String(at === this.index) }, h("span", { class: "grow" }, title), h("span", { class: "muted small" }, note)))) : h("li", { class: "empty" }, "Nothing has this name."));
  }

  #key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) this.#choose(this.index + step);
    else if (event.key === "Enter") this.list.querySelector("a[aria-selected=true]")?.click();
    else return;
    event.preventDefault();
  }
}

define("pw-palette", Palette);
