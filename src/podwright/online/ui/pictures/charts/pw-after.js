// The cluster after a change: its map, with what each node gets and loses.

import { address } from "../data/address.js";
import { PwElement, define, h, options, render } from "../parts/dom.js";
import { amountText } from "../parts/format.js";
import { model } from "../data/model.js";
import { coloring, colorings } from "../parts/node_colors.js";
import { shownNodes } from "../parts/node_filter.js";
import { CATEGORIES } from "../parts/palette.js";
import { podsText, shareText, stateAfter } from "../parts/plan.js";
import { sheets } from "../parts/styles.js";
import { isDark, onTheme } from "../parts/theme.js";
import "./pw-heat-map.js";

const ROLE = "role";
const STYLE = `
:host { display: grid; gap: 6px; min-width: 0; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 10px; font-size: var(--pw-type-small); color: var(--pw-muted); }
.legend .key { display: inline-flex; gap: 4px; align-items: center; }
.legend i { width: 12px; height: 12px; border-radius: 2px; background: var(--color); border: 1px solid var(--pw-line); }
`;

class After extends PwElement {
  constructor() {
    super();
    this.root.adoptedStyleSheets = sheets(STYLE);
    this.color = h("select", { "aria-label": "Color by" });
    this.color.addEventListener("change", () => this.invalidate());
    this.legend = h("div", { class: "legend" });
    this.map = h("pw-heat-map", { fits: true });
    this.map.addEventListener("pw-choose", ({ detail }) => this.#choose(detail.slot));
    this.root.append(h("div", { class: "row wrap" }, h("h3", {}, "Before and after"), h("label", { class: "row muted" }, "Color", this.color)), this.legend);
    this.shown = {};
  }

  start() {
    const data = model();
    this.undo.push(data.use(), onTheme(() => this.invalidate()));
    for (const type of ["state", "labels"]) this.listen(data, type, () => this.invalidate());
  }

  /** Shows a node of the cluster; one that a plan adds has nothing to show yet. */
  #choose(slot) {
    const node = model().state.names[slot];
    if (node) address.set({ node, pod: null });
  }

  /** @param {{nodes: Map<string, import("../parts/plan.js").NodeChange> | undefined, added?: any[], isDone?: boolean}} shown */
  set data(shown) {
    this.shown = shown;
    this.invalidate();
  }

  update() {
    const { state, labels } = model();
    const { nodes, added, isDone } = this.shown;
    this.hidden = !nodes?.size || !state.isKnown;
    if (this.hidden) return;
    if (!this.map.isConnected) this.root.append(this.map);
    const after = isDone ? state : stateAfter(state, nodes, added);
    // A comparison knows only how many pods.
    const hasAmounts = [...nodes.values()].some(({ requests }) => Object.keys(requests).length);
    const resources = colorings(state, false, []).filter(({ key }) => (hasAmounts || key === "pods") && state.fields.includes(`allocatable/${key}`));
    // Nodes to add have their cells, empty, in the picture before it too.
    const sides = { before: added?.length ? stateAfter(state, new Map(), added) : state, after };
    const choices = resources.flatMap(({ key, title }) => Object.keys(sides).map((side) => [`${side} ${key}`, `${title}, ${side}`]));
    options(this.color, [[ROLE, "what changes"], ...choices], this.color.value || ROLE);
    const [side, resource] = this.color.value.split(" ");
    const colors = side === ROLE ? byRole(after, nodes) : coloring(resource, sides[side], labels, null, isDark());
    const scale = colors.legend.length === 10 ? colors.legend.filter((_, index) => index % 3 === 0) : colors.legend;
    render(this.legend, scale.map(({ color, text }) => h("span", { class: "key" }, h("i", { style: { "--color": color } }), text)), h("span", {}, shareText(state, after)));
    const describe = (slot) => {
      const change = nodes.get(after.names[slot]);
      const amounts = Object.entries(change?.requests ?? {}).filter(([, amount]) => amount);
      const lines = amounts.map(([name]) => {
        const [was, is] = [state, after].map((each) => amountText(name, each.column(`requested/${name}`)[slot] ?? 0));
        return `${name}: ${was} → ${is} of ${amountText(name, after.column(`allocatable/${name}`)[slot] ?? 0)}`;
      });
      return [after.names[slot], change?.role || "stays as it is", ...(change?.pods ? [`${podsText(change)} pods`] : []), ...lines].join("\n");
    };
    this.map.data = { groups: shownNodes(after, labels, {}).groups, state: sides[side] ?? after, coloring: colors, selected: new Set(), current: address.get().node ?? "", describe };
  }
}

/** Colors nodes by what they are to a plan. */
function byRole(state, nodes) {
  const roles = [...new Set([...nodes.values()].map(({ role }) => role))];
  const colorOf = (role) => CATEGORIES[roles.indexOf(role) % CATEGORIES.length];
  return {
    legend: roles.map((role) => ({ color: colorOf(role), text: role })),
    of(slot) {
      const change = nodes.get(state.names[slot]);
      return { color: change ? colorOf(change.role) : null, text: podsText(change), step: 0 };
    },
  };
}

define("pw-after", After);
