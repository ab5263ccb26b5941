// Nodes as cards with their pods, while there are few.

import { address } from "../data/address.js";
import { h, innerLink, keyed, setText } from "./dom.js";
import { amountText, percentText } from "./format.js";
import { resourcesOf, shareOf } from "../data/live_state.js";

const PODS_SHOWN = 14;
/** The resources of which cards have a meter even if nothing requests them. */
const FIRST = new Set(["cpu", "memory", "pods"]);

export const CARDS_STYLE = `
.cards { overflow: auto; min-height: 0; padding-bottom: calc(2 * var(--pw-space)); }
.group > h3 { overflow-wrap: anywhere; padding: var(--pw-space) 0 4px; }
.group > ul { display: grid; grid-template-columns: repeat(auto-fill, minmax(210px, 1fr)); gap: var(--pw-space); }
.card { position: relative; display: flex; flex-direction: column; gap: 6px; height: 176px; padding: 8px 12px 8px 16px; border: 1px solid var(--pw-line); border-radius: 5px;
  background: var(--pw-raised); overflow: hidden; }
.card::before { content: ""; position: absolute; inset: 0 auto 0 0; width: 5px; background: var(--color, var(--pw-line)); }
.card:hover { border-color: var(--pw-line-strong); }
.card[data-current] { border-color: var(--pw-accent); box-shadow: 0 0 0 1px var(--pw-accent); }
.card[data-marked] { background: var(--pw-selected); }
.card .top { display: flex; gap: 6px; align-items: center; }
.card .top a { flex: 1 0 40%; color: inherit; font-weight: 600; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.card .flags { display: flex; gap: 4px; overflow: hidden; min-width: 0; } .card .flags:empty { display: none; }
.meters { display: grid; grid-template-columns: minmax(52px, max-content) minmax(20px, 1fr) max-content; column-gap: 6px; }
.meter { display: grid; grid-column: 1 / -1; grid-template-columns: subgrid; align-items: center; font-size: var(--pw-type-small); line-height: 15px; }
.meter .track { height: 6px; border-radius: 3px; background: var(--pw-hover); overflow: hidden; }
.meter .track::after { content: ""; display: block; height: 100%; width: calc(100% * min(1, var(--share, 0))); background: var(--pw-accent); }
.card .flags .tag { min-width: 3em; overflow: hidden; text-overflow: ellipsis; }
.card .flags .tag:not(.quiet) { flex: 0 1 auto; }
.chips { display: flex; flex-wrap: wrap; gap: 3px; overflow: hidden auto; scrollbar-width: thin; align-content: flex-start; flex: 1; }
.chips > li { max-width: 100%; min-width: 0; display: flex; }
.chip { height: 18px; max-width: 100%; padding: 0 5px; border: 1px solid var(--pw-line-strong); border-radius: 3px; font-size: 11px; line-height: 16px; font-family: var(--pw-mono);
  color: var(--pw-text); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.chip[data-status="Pending"], .chip[data-status="ContainerCreating"] { border-style: dashed; }
.chip[aria-current="true"] { background: var(--pw-accent); border-color: var(--pw-accent); color: var(--pw-on-accent); animation: landed 1.2s ease-out; }
.chip.bad { border-color: var(--pw-bad); color: var(--pw-bad); }
@keyframes landed { from { box-shadow: 0 0 0 10px color-mix(in srgb, var(--pw-accent) 40%, transparent); } to { box-shadow: none; } }
`;

/**
 * Draws the cards of groups of nodes.
 *
 * @param {HTMLElement} parent
 * @param {{groups: {title: string, slots: number[]}[], state: any, coloring: any, podsOf: (slot: number) => any[],
 *   selected: Set<string>, current: string, pod: string, mark: (slot: number) => void}} drawn
 */
export function drawCards(parent, drawn) {
  keyed(
    parent,
    drawn.groups,
    (group) => group.title,
    () => {
      const node = h("section", { class: "group" });
      node.heading = h("h3", {});
      node.list = h("ul", {});
      node.append(node.heading, node.list);
      return node;
    },
    (node, group) => {
      node.heading.hidden = !group.title;
      setText(node.heading, `${group.title} (${group.slots.length})`);
      keyed(node.list, group.slots, (slot) => drawn.state.names[slot], newCard, (card, slot) => fillCard(card, slot, drawn));
    },
  );
}

function newCard() {
  const card = h("li", { class: "card" });
  const link = innerLink("", { class: "name" }, () => address.set({ node: card.name, pod: null }));
  const value = h("span", { class: "small num muted clip" });
  const mark = h("input", { type: "checkbox" });
  const flags = h("div", { class: "flags" });
  const meters = h("div", { class: "meters" });
  const chips = h("ul", { class: "chips", "aria-label": "Pods" });
  card.append(h("div", { class: "top" }, mark, link, value), flags, meters, chips);
  card.parts = { link, value, mark, flags, meters, chips };
  mark.addEventListener("change", () => card.mark());
  return card;
}

function fillCard(card, slot, { state, coloring, podsOf, selected, current, pod, mark }) {
  const { link, value, mark: box, flags, meters, chips } = card.parts;
  const name = state.names[slot];
  if (card.name !== name) {
    card.name = name;
    link.textContent = name;
    link.title = name;
    link.href = address.link({ node: name, pod: null });
    box.setAttribute("aria-label", `Select ${name}`);
  }
  card.mark = () => mark(slot);
  box.checked = selected.has(name);
  card.toggleAttribute("data-current", name === current);
  card.toggleAttribute("data-marked", selected.has(name));
  const { color, text } = coloring.of(slot);
  if (color) card.style.setProperty("--color", color);
  else card.style.removeProperty("--color");
  // The reason alone, where there is little room.
  setText(value, text.replace(/^\w+: /, ""));
  value.title = text;
  const tags = flagsOf(state, slot).filter(({ kind }) => kind !== "quiet");
  keyed(flags, tags, (tag) => tag.text, (tag) => h("span", { class: `tag ${tag.kind}` }, tag.text), () => {});
  keyed(meters, resourcesOf(state).filter((resource) => FIRST.has(resource) || state.column(`requested/${resource}`).some(Boolean)).slice(0, 4), (resource) => resource, newMeter, (node, resource) => fillMeter(node, state, resource, slot));
  const pods = [...podsOf(slot)].sort((a, b) => Number(b.pod === pod) - Number(a.pod === pod) || (a.pod < b.pod ? -1 : 1));
  const shown = pods.slice(0, pods.length > PODS_SHOWN ? PODS_SHOWN - 1 : PODS_SHOWN);
  const items = shown.length < pods.length ? [...shown, { pod: "", rest: pods.length - shown.length }] : shown;
  keyed(chips, items, (item) => item.pod, newChip, (node, item) => fillChip(node, item, pod));
}

/** Returns the tags of a node's state. */
export function flagsOf(state, slot) {
  const tags = [state.column("ready")[slot] ? { text: "Ready", kind: "quiet" } : { text: "NotReady", kind: "bad" }];
  if (state.column("unschedulable")[slot]) tags.push({ text: "SchedulingDisabled", kind: "warn" });
  const taints = state.column("taints")[slot] ?? 0;
  if (taints) tags.push({ text: `${taints} taint${taints === 1 ? "" : "s"}`, kind: "warn" });
  return tags;
}

function newMeter(resource) {
  const track = h("span", { class: "track" });
  const text = h("span", { class: "num muted clip" });
  const node = h("div", { class: "meter" }, h("span", { class: "clip", title: resource }, resource), track, text);
  node.parts = { track, text };
  return node;
}

function fillMeter(node, state, resource, slot) {
  const share = shareOf(state, resource, slot);
  node.parts.track.style.setProperty("--share", share.toFixed(4));
  const requested = amountText(resource, state.column(`requested/${resource}`)[slot] ?? 0);
  const allocatable = amountText(resource, state.column(`allocatable/${resource}`)[slot] ?? 0);
  setText(node.parts.text, `${requested} / ${allocatable}`);
  node.title = `${resource}: ${percentText(share)} requested`;
}

function newChip(item) {
  const node = h("li", {});
  if (!item.pod) return node;
  const selection = { pod: item.pod, node: null, attempt: null };
  node.link = innerLink(address.link(selection), { class: "chip" }, () => address.set(selection), item.pod.split("/")[1]);
  node.append(node.link);
  return node;
}

const WELL = new Set(["Running", "Succeeded", "Completed", "Pending", "ContainerCreating", "Terminating", ""]);

function fillChip(node, item, current) {
  if (!item.pod) {
    setText(node, `+${item.rest}`);
    return;
  }
  const { link } = node;
  link.title = `${item.pod}\n${item.status}`;
  link.dataset.status = item.status;
  link.classList.toggle("bad", !WELL.has(item.status));
  const isCurrent = String(item.pod === current);
  if (link.getAttribute("aria-current") !== isCurrent) link.setAttribute("aria-current", isCurrent);
}
