// Dialogs of the elements: their style, and a question that is confirmed.

import { h } from "./dom.js";

export const DIALOG_STYLE = `
dialog { border: 1px solid var(--pw-line-strong); border-radius: 6px; background: var(--pw-raised); color: var(--pw-text); padding: calc(2 * var(--pw-space)); max-width: calc(100vw - 32px); }
dialog::backdrop { background: rgb(0 0 0 / 0.4); }
`;

/**
 * Asks for a confirmation; returns whether it was given.
 *
 * @param {ShadowRoot} root with `DIALOG_STYLE`
 * @param {string} title the question
 * @param {string} text what happens
 * @param {string} verb the text of the button
 * @returns {Promise<boolean>}
 */
export function isConfirmed(root, title, text, verb) {
  return new Promise((done) => {
    const button = (name, kind) => h("button", { class: kind, on: { click: () => dialog.close(name) } }, name);
    const dialog = h("dialog", { "aria-label": title }, h("div", { class: "stack" }, h("h2", {}, title), h("p", {}, text), h("div", { class: "row" }, h("span", { class: "grow" }), button("Cancel", ""), button(verb, "primary"))));
    dialog.addEventListener("close", () => {
      dialog.remove();
      done(dialog.returnValue === verb);
    });
    root.append(dialog);
    dialog.showModal();
  });
}
