/**
 * The bar at the top of each page: the pages, the server, the time and the theme.
 *
 * Attributes: `server`, the address of the server; `current`, the title of the current page.
 * `<pw-time>` is added when that element is defined.
 */

/** The pages: their titles and addresses. */
export const PAGES = [
  ["Cluster", "/"],
  ["Queue", "/queue"],
  ["Resources", "/resources"],
  ["Configuration", "/configuration"],
  ["Runs", "/runs"],
  ["Sync", "/sync"],
];

// Pages that show the current state only.
const PRESENT = ["/resources", "/configuration", "/runs", "/sync"];

// Pages with `pw-screen`, which has the help sheet.
const SCREENS = ["/", "/run"];

const STYLE = `
  :host {
    display: flex; align-items: center; gap: calc(2 * var(--pw-space));
    box-sizing: border-box; height: var(--pw-bar-height); padding: 0 calc(2 * var(--pw-space));
    background: var(--pw-surface); border-bottom: 1px solid var(--pw-line);
    color: var(--pw-text); font: var(--pw-type)/1 var(--pw-font);
    position: sticky; top: 0; z-index: 5;
  }
  .name { font-weight: 650; letter-spacing: 0.01em; }
  nav { display: flex; gap: 2px; height: 100%; }
  a {
    display: flex; align-items: center; padding: 0 10px; color: var(--pw-muted);
    text-decoration: none; border-bottom: 2px solid transparent; border-top: 2px solid transparent;
  }
  a:hover { color: var(--pw-text); }
  a[aria-current] { color: var(--pw-text); border-bottom-color: var(--pw-accent); }
  a:focus-visible, button:focus-visible { outline: 2px solid var(--pw-accent); outline-offset: -2px; }
  .time { flex: 1; min-width: 0; display: flex; align-items: center; }
  .server { color: var(--pw-muted); font-family: var(--pw-mono); font-size: var(--pw-type-small); }
  button {
    font: inherit; color: var(--pw-muted); background: none; cursor: pointer;
    border: 1px solid var(--pw-line); border-radius: var(--pw-radius); padding: 5px 8px;
    min-width: 64px;
  }
  .server { white-space: nowrap; max-width: 240px; overflow: hidden; text-overflow: ellipsis; }
  @media (max-width: 1400px) { :host { gap: var(--pw-space); } a { padding: 0 7px; } button { min-width: 0; } }
  @media (max-width: 1200px) { .server, .name, .theme span { display: none; } }
  @media (max-width: 1100px) {
    :host { display: grid; grid-template: 1fr 1fr / minmax(0, 1fr) auto auto auto; gap: 0 6px; padding: 0 var(--pw-space); }
    nav { overflow-x: auto; scroll-padding-inline: 30px; scrollbar-width: none; mask-image: linear-gradient(to right, #000 calc(100% - 28px), transparent); padding-right: 20px; }
    .time { grid-row: 2; grid-column: 1 / -1; }
  }
  button.help { min-width: 0; }
  pw-help, pw-new-cluster, pw-palette { position: absolute; }
  [hidden] { display: none; }
  button:hover { color: var(--pw-text); }
`;

const THEMES = ["system", "light", "dark"];
const SYMBOLS = { system: "◐", light: "☀", dark: "☾" };
const KEY = "podwright-theme";

/** @returns {string} the theme that the user has chosen */
function chosenTheme() {
  const found = localStorage.getItem(KEY);
  return THEMES.includes(found) ? found : "system";
}

/** Labels the switch of the theme. */
function label(button, theme) {
  const text = document.createElement("span");
  text.textContent = theme;
  button.replaceChildren(`${SYMBOLS[theme]} `, text);
  button.setAttribute("aria-label", `Theme: ${theme}`);
}

/** @param {string} theme one of THEMES */
function show(theme) {
  const root = document.documentElement;
  if (theme === "system") delete root.dataset.theme;
  else root.dataset.theme = theme;
  const isDark = theme === "dark" ||
    (theme === "system" && matchMedia("(prefers-color-scheme: dark)").matches);
  // NiceGUI's elements follow this class.
  document.body.classList.toggle("body--dark", isDark);
  document.body.classList.toggle("body--light", !isDark);
  globalThis.Quasar?.Dark.set(isDark);
}

class PwBar extends HTMLElement {
  connectedCallback() {
    if (this.shadowRoot) return;
    const root = this.attachShadow({ mode: "open" });
    document.documentElement.lang = "en"; // NiceGUI sets none
    const style = document.createElement("style");
    style.textContent = STYLE;
    const name = document.createElement("span");
    name.className = "name";
    name.textContent = "podwright";
    name.title = `The page of ${this.getAttribute("server") ?? ""}`;
    const nav = document.createElement("nav");
    nav.setAttribute("aria-label", "Pages");
    for (const [title, address] of PAGES) {
      const link = document.createElement("a");
      link.href = address;
      link.textContent = title;
      if (title === this.getAttribute("current")) link.setAttribute("aria-current", "page");
      nav.append(link);
    }
    const time = document.createElement("div");
    time.className = "time";
    const server = document.createElement("span");
    server.className = "server";
    server.textContent = (this.getAttribute("server") ?? "").replace(/^https?:\/\//, "");
    server.title = `The server that this page shows: ${this.getAttribute("server") ?? ""}`;
    const theme = document.createElement("button");
    theme.type = "button";
    theme.className = "theme";
    theme.title = "Theme: system, light or dark";
    label(theme, chosenTheme());
    theme.addEventListener("click", () => {
      const next = THEMES[(THEMES.indexOf(chosenTheme()) + 1) % THEMES.length];
      localStorage.setItem(KEY, next);
      label(theme, next);
      show(next);
    });
    const help = document.createElement("button");
    help.type = "button";
    help.className = "help";
    help.title = "Keyboard (?)";
    help.setAttribute("aria-label", "Help: keyboard");
    help.textContent = "?";
    help.addEventListener("click", async () => {
      await import("./pw-help.js"); // which may be on its way
      document.dispatchEvent(new Event("pw-help"));
    });
    const create = document.createElement("button");
    create.type = "button";
    create.className = "help";
    create.title = "New cluster: paste a manifest, or drop a file anywhere";
    create.setAttribute("aria-label", "New cluster");
    create.textContent = "+";
    create.addEventListener("click", async () => {
      await import("./pw-new-cluster.js"); // which may be on its way
      document.dispatchEvent(new Event("pw-new-cluster"));
    });
    root.append(style, name, nav, time, server, create, help, theme, document.createElement("pw-new-cluster"));
    // A file may be dropped on the page.
    if (document.readyState === "complete") import("./pw-new-cluster.js");
    else globalThis.addEventListener("load", () => import("./pw-new-cluster.js"));
    // Where not all pages fit, the current one is in sight.
    requestAnimationFrame(() => nav.querySelector("[aria-current]")?.scrollIntoView({ inline: "nearest", block: "nearest" }));
    if (!SCREENS.includes(location.pathname)) {
      const sheet = document.createElement("pw-help");
      sheet.setAttribute("page", this.getAttribute("current") ?? "");
      root.append(sheet);
      import("./pw-help.js");
    }
    document.addEventListener("keydown", async (event) => {
      if (event.key !== ":") return;
      await import("./pw-palette.js");
      document.dispatchEvent(new CustomEvent("pw-palette", { detail: event }));
    });
    root.append(document.createElement("pw-palette"));
    show(chosenTheme());
    customElements.whenDefined("pw-time").then(() => {
      const bar = document.createElement("pw-time");
      bar.toggleAttribute("present", PRESENT.includes(location.pathname));
      time.append(bar);
    });
  }
}

customElements.define("pw-bar", PwBar);
