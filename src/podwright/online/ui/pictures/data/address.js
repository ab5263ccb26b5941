// The state of the screen as the address of the page: what is selected, colored, filtered, and when.
//
// The address is the only place of this state, so each state has a link.

/** The keys of the address, in their order. */
export const KEYS = [
  "view",
  "pod",
  "node",
  "color",
  "only",
  "filter",
  "group",
  "search",
  "attempt",
  "value",
  "why",
  "if",
  "at",
  "change",
  "configuration",
  "run",
  "with",
  "plan",
];

/** Those that are about the selected pod, and end with its selection. */
const OF_POD = ["attempt", "why", "if", "only"];

/**
 * Returns the state of a query string.
 *
 * @param {string} search
 * @returns {Object<string, string>}
 */
export function parse(search) {
  const query = new URLSearchParams(search);
  const state = {};
  for (const key of KEYS) if (query.get(key)) state[key] = query.get(key);
  return state;
}

/**
 * Returns the query string of a state, without a `?`; characters that names often have stay legible.
 *
 * @param {Object<string, string | null | undefined>} state
 */
export function format(state) {
  return KEYS.filter((key) => state[key])
    .map((key) => `${key}=${encodeURIComponent(state[key]).replaceAll("%2F", "/").replaceAll("%3A", ":")}`)
    .join("&");
}

/** Returns the query of this page; that of a file is after `#`. */
function queryOfPage() {
  const { protocol = "", search = "", hash = "" } = globalThis.location ?? {};
  return protocol === "file:" ? hash.slice(1) : search;
}

class Address extends EventTarget {
  constructor() {
    super();
    this.state = parse(queryOfPage());
    globalThis.addEventListener?.("popstate", () => this.#move(parse(queryOfPage())));
  }

  /** Returns the current state. */
  get() {
    return this.state;
  }

  /**
   * Changes some keys; those that are null are removed.
   *
   * @param {Object<string, string | null>} changes
   * @param {{replace?: boolean}} [options] replace: make no entry in the history
   */
  set(changes, { replace = false } = {}) {
    const next = parse(format(this.#changed(changes)));
    const query = format(next);
    if (query === format(this.state)) return;
    const url = query ? `?${query}` : location.pathname;
    // A page of a file may change only the part after `#`.
    const shown = location.protocol === "file:" ? `#${query}` : url;
    history[replace ? "replaceState" : "pushState"](null, "", shown);
    this.#move(next);
  }

  /** Returns the link of the current state with some keys changed. */
  link(changes) {
    const query = format(this.#changed(changes));
    return location.protocol === "file:" ? `#${query}` : `?${query}`;
  }

  #changed(changes) {
    const kept = { ...this.state };
    if ("pod" in changes && changes.pod !== kept.pod) for (const key of OF_POD) delete kept[key];
    return { ...kept, ...changes };
  }

  #move(next) {
    const before = this.state;
    this.state = next;
    const changed = KEYS.filter((key) => before[key] !== next[key]);
    if (changed.length) this.dispatchEvent(new CustomEvent("change", { detail: changed }));
  }
}

/** The address of this page. */
export const address = new Address();
