// The styles of all elements. The custom properties are those of base.css.

const TEXT = `
*, :host { box-sizing: border-box; }
:host { display: block; color: var(--pw-text); font: var(--pw-type)/1.45 var(--pw-font); }
[hidden], :host([hidden]) { display: none !important; }
*::before, *::after { box-sizing: border-box; }
h2, h3 { margin: 0; font-weight: 600; }
h2 { font-size: var(--pw-type-large); line-height: 1.3; }
h3 { font-size: var(--pw-type); line-height: 1.5; }
p { margin: 0; }
ul, ol { margin: 0; padding: 0; list-style: none; }
a { color: var(--pw-accent); text-decoration: none; }
a:hover { text-decoration: underline; }
:focus-visible { outline: 2px solid var(--pw-accent); outline-offset: 1px; border-radius: 3px; }
code, .mono { font-family: var(--pw-mono); font-size: 0.95em; }
.num { font-variant-numeric: tabular-nums; text-align: right; }
.muted { color: var(--pw-muted); }
.small { font-size: var(--pw-type-small); }
.bad { color: var(--pw-bad); }
.good { color: var(--pw-good); }
.name { font-family: var(--pw-mono); font-size: 0.95em; overflow-wrap: anywhere; unicode-bidi: isolate; }
.clip { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; min-width: 0; }
.row { display: flex; align-items: center; gap: var(--pw-space); min-width: 0; }
.wrap { flex-wrap: wrap; }
.grow { flex: 1; min-width: 0; }
.stack { display: grid; gap: var(--pw-space); align-content: start; }
.stack > * { min-width: 0; }
.section { padding: calc(1.5 * var(--pw-space)) calc(2 * var(--pw-space)); border-top: 1px solid var(--pw-line); }
.hidden-text { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.tag { display: inline-block; padding: 0 6px; border: 1px solid var(--pw-line-strong); border-radius: 3px;
  font-size: var(--pw-type-small); line-height: 18px; color: var(--pw-muted); white-space: nowrap; }
.tag.quiet { border-color: transparent; padding: 0; }
.tag.bad { color: var(--pw-bad); border-color: currentcolor; }
.tag.good { color: var(--pw-good); border-color: currentcolor; }
.tag.warn { color: var(--pw-warning); border-color: currentcolor; }
button, select, input { font: inherit; color: inherit; }
button { min-height: 26px; padding: 1px 10px; border: 1px solid var(--pw-line-strong); border-radius: 4px;
  background: var(--pw-raised); cursor: pointer; white-space: nowrap; }
button:hover:not(:disabled) { background: var(--pw-hover); }
button:disabled { color: var(--pw-muted); cursor: default; opacity: 0.7; }
button.primary { background: var(--pw-accent); border-color: var(--pw-accent); color: var(--pw-on-accent); font-weight: 600; }
button.primary:hover:not(:disabled) { background: var(--pw-accent-hover); }
button.plain { border-color: transparent; background: none; }
button.plain:hover:not(:disabled) { background: var(--pw-hover); }
button.link { min-height: 0; padding: 0; border: 0; background: none; color: var(--pw-accent); text-align: left; white-space: normal; }
button.link:hover:not(:disabled) { background: none; text-decoration: underline; }
button[aria-pressed="true"], button[aria-selected="true"] { background: var(--pw-selected); border-color: var(--pw-accent); }
input, select { min-height: 26px; padding: 1px 8px; border: 1px solid var(--pw-line-strong); border-radius: 4px; background: var(--pw-field); min-width: 0; }
input::placeholder { color: var(--pw-muted); opacity: 1; }
input[aria-invalid="true"] { border-color: var(--pw-bad); }
.error { padding: var(--pw-space) calc(1.5 * var(--pw-space)); border-left: 3px solid var(--pw-bad);
  background: var(--pw-bad-surface); overflow-wrap: anywhere; white-space: pre-wrap; }
.empty { padding: calc(3 * var(--pw-space)) calc(2 * var(--pw-space)); color: var(--pw-muted); }
table { border-collapse: collapse; width: 100%; }
th { font-size: var(--pw-type-small); font-weight: 600; color: var(--pw-muted); text-align: left; text-transform: uppercase; letter-spacing: 0.03em; }
th, td { padding: 3px var(--pw-space); border-bottom: 1px solid var(--pw-line); vertical-align: top; }
th:first-child, td:first-child { padding-left: 0; }
th:last-child, td:last-child { padding-right: 0; }
dl.facts { display: grid; grid-template-columns: max-content 1fr; gap: 2px calc(1.5 * var(--pw-space)); margin: 0; }
dl.facts dt { color: var(--pw-muted); }
dl.facts dd { margin: 0; min-width: 0; overflow-wrap: anywhere; }
@media (prefers-reduced-motion: reduce) { * { animation: none !important; transition: none !important; } }
`;

const made = new Map();

/**
 * Returns a style sheet of a text; the same one for the same text.
 *
 * @param {string} text
 */
export function sheetOf(text) {
  if (!made.has(text)) {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(text);
    made.set(text, sheet);
  }
  return made.get(text);
}

/**
 * Returns the sheets of an element: the common one and its own.
 *
 * @param {...string} own
 */
export function sheets(...own) {
  return [TEXT, ...own].map(sheetOf);
}
