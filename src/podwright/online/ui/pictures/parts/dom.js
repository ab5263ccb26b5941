// Builds DOM nodes from data, and the base class of the elements.
//
// Data becomes text nodes and attribute values only; no markup is ever parsed.

import { clockText, countText, utcText } from "./format.js";
import { sheets } from "./styles.js";

/**
 * Returns a new HTML element.
 *
 * @param {string} tag
 * @param {Object<string, *>} [properties] attributes; `on` has listeners by event, `style` CSS
 *   properties; attributes that are false, null or undefined are left out
 * @param {...(Node | string | number | null | false | undefined | Array)} children
 * @returns {HTMLElement}
 */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === false || value === null || value === undefined) continue;
    if (name === "on") {
      for (const [type, listener] of Object.entries(value)) element.addEventListener(type, listener);
    } else if (name === "style") {
      for (const [property, text] of Object.entries(value)) element.style.setProperty(property, text);
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  append(element, children);
  return element;
}

function append(parent, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) append(parent, child);
    else parent.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/**
 * Replaces the children of a parent; the focus stays on the element with the same `data-focus`.
 *
 * @param {Element | ShadowRoot} parent
 * @param {...*} children as for `h`
 */
export function render(parent, ...children) {
  const root = parent.getRootNode();
  const active = root.activeElement;
  const key = active && parent.contains(active) ? active.getAttribute("data-focus") : null;
  const holder = document.createDocumentFragment();
  append(holder, children);
  parent.replaceChildren(holder);
  if (key) {
    for (const found of parent.querySelectorAll("[data-focus]")) {
      if (found.getAttribute("data-focus") === key) found.focus({ preventScroll: true });
    }
  }
}

/** Sets a text without touching the DOM if it is the same. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Sets an attribute without touching the DOM if it is the same; an empty one is none. */
export function setAttribute(node, name, value) {
  if ((node.getAttribute(name) ?? "") === value) return;
  if (value) node.setAttribute(name, value);
  else node.removeAttribute(name);
}

/**
 * Makes the children of a parent those of a list of items, and keeps the nodes of known keys.
 *
 * @param {Element} parent
 * @param {Array} items
 * @param {(item: *) => string} keyOf
 * @param {(item: *) => HTMLElement} create
 * @param {(node: HTMLElement, item: *, index: number) => void} update
 */
export function keyed(parent, items, keyOf, create, update) {
  const known = (parent.pwKeyed ??= new Map());
  const used = new Map();
  items.forEach((item, index) => {
    const key = keyOf(item);
    const node = known.get(key) ?? create(item);
    used.set(key, node);
    if (parent.children[index] !== node) parent.insertBefore(node, parent.children[index] ?? null);
    update(node, item, index);
  });
  for (const [key, node] of known) if (!used.has(key)) node.remove();
  parent.pwKeyed = used;
}

/** Whether an event happens in a field that takes keys. */
export function isInField(event) {
  const [target] = event.composedPath();
  return target instanceof HTMLElement && target.matches("input:not([type=checkbox]), select, textarea, [contenteditable]");
}

/** Whether a key belongs to the browser, or was taken by another listener. */
export function isTaken(event) {
  return event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented;
}

/** Whether a key is none of the page's: it belongs to a field or to the browser. */
export function isTyping(event) {
  return isTaken(event) || isInField(event);
}

/**
 * Returns a link whose plain click is followed within the page; another opens its address.
 *
 * @param {string} href
 * @param {Object<string, *>} properties as for `h`
 * @param {() => void} follow
 * @param {...*} children as for `h`
 */
export function innerLink(href, properties, follow, ...children) {
  const link = h("a", { href, ...properties }, children);
  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    follow();
  });
  return link;
}

/**
 * Returns a table.
 *
 * @param {(string | [string, string] | Node)[]} heads a text, or a text and the class of its column
 * @param {*[][]} rows the contents of the cells; a row that is a node is taken as it is
 */
export function table(heads, rows) {
  const columns = heads.map((head) => (Array.isArray(head) ? head : [head, null]));
  const cells = (row) => h("tr", {}, row.map((cell, at) => h("td", { class: columns[at]?.[1] }, cell)));
  return h(
    "table",
    {},
    heads.length ? h("thead", {}, h("tr", {}, columns.map(([text, kind]) => h("th", { scope: "col", class: kind }, text)))) : null,
    h("tbody", {}, rows.map((row) => (row instanceof Node ? row : cells(row)))),
  );
}

/** Returns how many more there are than are shown; null for none. */
export function more(count, noun) {
  return count > 0 ? h("p", { class: "muted" }, `and ${countText(count, noun)} more`) : null;
}

/** Sets the options of a select, if they are others. */
export function options(select, choices, value) {
  const key = JSON.stringify(choices);
  if (select.pwOptions !== key) {
    select.pwOptions = key;
    select.replaceChildren(...choices.map(([name, title]) => h("option", { value: name }, title)));
  }
  if (select.value !== value) select.value = value;
}

/** Returns an RFC 3339 time: date and time of day in the reader's zone, and UTC as its title. */
export function dateTime(time) {
  return h("time", { datetime: time, title: utcText(time) }, `${new Date(time).toLocaleDateString("sv")} ${clockText(time)}`);
}

/** Returns a name in camel case with places where its line may break. */
export function humps(name) {
  return name.split(/(?=[A-Z][a-z])/).flatMap((part, index) => (index ? [h("wbr"), part] : [part]));
}

/** A custom element that renders once per frame, however often it is invalidated. */
export class PwElement extends HTMLElement {
  constructor() {
    super();
    this.root = this.attachShadow({ mode: "open" });
    this.root.adoptedStyleSheets = sheets();
    this.undo = [];
    this.frame = 0;
  }

  connectedCallback() {
    this.start();
    this.invalidate();
  }

  disconnectedCallback() {
    for (const undo of this.undo.splice(0)) undo();
    cancelAnimationFrame(this.frame);
    this.frame = 0;
  }

  /** Connects to the data; overridden. */
  start() {}

  /** Draws; overridden. */
  update() {}

  /** Calls `update` before the next frame. */
  invalidate() {
    if (this.frame || !this.isConnected) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      if (this.isConnected) this.update();
    });
  }

  /** Calls a function with each size of an element, without forcing a layout. */
  sized(element, callback) {
    const observer = new ResizeObserver(([{ contentRect }]) => callback(contentRect));
    observer.observe(element);
    this.undo.push(() => observer.disconnect());
  }

  /** Moves the focus among links: with `j` and `k` from anywhere, with the arrows once one has it. */
  rowKeys(links) {
    this.listen(document, "keydown", (event) => {
      const all = [...links()];
      const at = all.indexOf(this.root.activeElement);
      const step = { j: 1, k: -1, ...(at >= 0 && { ArrowDown: 1, ArrowUp: -1 }) }[event.key];
      if (!step || isTyping(event)) return;
      event.preventDefault();
      (at < 0 ? all.at(Math.min(0, step)) : all[at + step])?.focus();
    });
  }

  /** Adds a listener for as long as the element is in the document. */
  listen(target, type, listener) {
    target.addEventListener(type, listener);
    this.undo.push(() => target.removeEventListener(type, listener));
  }

  /** Calls a function again and again for as long as the element is in the document. */
  every(milliseconds, callback) {
    const timer = setInterval(() => document.hidden || callback(), milliseconds);
    this.undo.push(() => clearInterval(timer));
  }

  /** Dispatches an event that leaves the shadow root. */
  emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail, bubbles: true, composed: true }));
  }
}

/** Defines a custom element, once. */
export function define(name, kind) {
  if (!customElements.get(name)) customElements.define(name, kind);
}
