// Nodes as cells on a canvas, for as many as there are.

import { PwElement, define, h } from "../parts/dom.js";
import { TITLE_PX, cellAt, cellOf, edgeOf, heatLayout, neighbor } from "../parts/heat_layout.js";
import { inkOn } from "../parts/palette.js";
import { sheets } from "../parts/styles.js";
import { colorOf, onTheme } from "../parts/theme.js";

const STYLE = `
:host { position: relative; overflow: auto; min-height: 0; }
:host([fits]) { max-height: 300px; }
canvas { display: block; cursor: pointer; }
canvas:focus-visible { outline-offset: -2px; }
.tip { position: absolute; top: 0; left: 0; z-index: 2; pointer-events: none; max-width: 340px; padding: 6px 10px; border: 1px solid var(--pw-line);
  border-radius: 4px; background: var(--pw-raised); box-shadow: 0 2px 10px rgb(0 0 0 / 0.25); font-size: var(--pw-type-small); white-space: pre-line; overflow-wrap: anywhere; }
`;
const FIT_PX = 296;
const MOVES = ["ArrowRight", "ArrowLeft", "ArrowDown", "ArrowUp", "Home", "End"];

class HeatMap extends PwElement {
  constructor() {
    super();
    this.root.adoptedStyleSheets = sheets(STYLE);
    this.canvas = h("canvas", { tabindex: "0", role: "listbox", "aria-multiselectable": "true", "aria-label": "Nodes", "aria-activedescendant": "option" });
    this.option = h("div", { id: "option", role: "option", "aria-selected": "false", class: "hidden-text" }, "No node");
    this.canvas.append(this.option);
    this.tip = h("div", { class: "tip", role: "tooltip", hidden: true });
    this.root.append(this.canvas, this.tip);
    this.size = { width: 0, height: 0 };
    this.cursor = null;
    this.drawn = null;
    this.canvas.addEventListener("pointermove", (event) => this.#hover(event));
    this.canvas.addEventListener("pointerleave", () => (this.tip.hidden = true));
    this.canvas.addEventListener("pointerdown", (event) => this.#press(event));
    this.canvas.addEventListener("pointerup", (event) => this.#release(event));
    this.canvas.addEventListener("keydown", (event) => this.#key(event));
    this.canvas.addEventListener("focus", () => this.invalidate());
    this.canvas.addEventListener("blur", () => this.invalidate());
  }

  start() {
    this.sized(this, (size) => {
      this.size = size;
      this.invalidate();
    });
    this.undo.push(onTheme(() => this.invalidate()));
  }

  /**
   * @param {{groups: {title: string, slots: number[]}[], state: any, coloring: any, describe: (slot: number) => string,
   *   selected: Set<string>, current: string}} drawn
   */
  set data(drawn) {
    this.drawn = drawn;
    this.invalidate();
  }

  update() {
    const { width, height: room } = this.size;
    if (!this.drawn || !width) return;
    const { groups, state, coloring, selected, current } = this.drawn;
    // With the attribute `fits` the element is as high as its cells.
    const fits = this.hasAttribute("fits");
    this.layout = heatLayout(groups, width - 1, fits ? FIT_PX : room - 2);
    const { cellPx, blocks } = this.layout;
    const height = Math.max(this.layout.height, 1);
    const ratio = devicePixelRatio;
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
      this.canvas.style.width = `${width}px`;
      this.canvas.style.height = `${height}px`;
    }
    const context = this.canvas.getContext("2d");
    const [text, line, accent] = ["--pw-text", "--pw-line", "--pw-accent"].map((name) => colorOf(this.root, name));
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const gap = cellPx > 9 ? 2 : 1;
    const size = cellPx - gap;
    const ready = state.column("ready");
    const unschedulable = state.column("unschedulable");
    context.textBaseline = "middle";
    for (let block = 0; block < blocks.length; block++) {
      const { title, slots, top } = blocks[block];
      if (title) {
        context.fillStyle = text;
        context.font = "600 12px system-ui, sans-serif";
        context.textAlign = "left";
        context.fillText(`${title} (${slots.length})`, 0, top - TITLE_PX / 2);
      }
      context.textAlign = "center";
      context.font = "10px system-ui, sans-serif";
      for (let index = 0; index < slots.length; index++) {
        const slot = slots[index];
        const [x, y] = edgeOf(this.layout, { block, index });
        const { color, text: value } = coloring.of(slot);
        context.fillStyle = color ?? line;
        context.fillRect(x, y, size, size);
        const ink = color ? inkOn(color) : text;
        if (size >= 30 && value.length <= 5) {
          context.fillStyle = ink;
          context.fillText(value, x + size / 2, y + size / 2);
        }
        if (!ready[slot]) cross(context, x, y, size, ink);
        else if (unschedulable[slot]) slash(context, x, y, size, ink);
        const name = state.names[slot];
        if (selected.has(name) || name === current) frame(context, x, y, size, accent, text, name === current);
      }
    }
    this.#showCursor(context, size, text);
  }

  #showCursor(context, size, color) {
    if (!this.cursor || this.root.activeElement !== this.canvas) return;
    const { block, index } = this.cursor;
    const slot = this.layout.blocks[block]?.slots[index];
    if (slot === undefined) {
      this.cursor = null;
      return;
    }
    const [x, y] = edgeOf(this.layout, this.cursor);
    context.strokeStyle = color;
    context.lineWidth = 2;
    context.setLineDash([3, 2]);
    context.strokeRect(x - 1, y - 1, size + 2, size + 2);
    context.setLineDash([]);
  }

  #slotAt(event) {
    const found = this.layout && cellAt(this.layout, event.offsetX, event.offsetY);
    return found ? { ...found, slot: this.layout.blocks[found.block].slots[found.index] } : null;
  }

  #hover(event) {
    const found = this.#slotAt(event);
    this.tip.hidden = !found;
    if (found) this.#tip(found);
  }

  #tip(found) {
    const [x, y] = edgeOf(this.layout, found);
    this.tip.hidden = false;
    this.tip.textContent = this.drawn.describe(found.slot);
    const { offsetWidth, offsetHeight } = this.tip;
    const left = Math.min(x + this.layout.cellPx + 6, this.scrollLeft + this.clientWidth - offsetWidth - 4);
    const below = y + this.layout.cellPx + 6;
    const top = below + offsetHeight > this.scrollTop + this.clientHeight ? Math.max(0, y - offsetHeight - 6) : below;
    this.tip.style.transform = `translate(${Math.max(0, left)}px, ${top}px)`;
  }

  #press(event) {
    this.pressed = this.#slotAt(event);
  }

  #release(event) {
    const [from, to] = [this.pressed, this.#slotAt(event)];
    this.pressed = null;
    if (!from || !to) return;
    this.cursor = to;
    if (from.slot !== to.slot) this.emit("pw-mark", { slots: this.#between(from, to), isAdded: true });
    else if (event.ctrlKey || event.metaKey || event.shiftKey) this.emit("pw-mark", { slots: [to.slot], isAdded: !this.#isMarked(to.slot) });
    else this.emit("pw-choose", { slot: to.slot });
  }

  #isMarked(slot) {
    return this.drawn.selected.has(this.drawn.state.names[slot]);
  }

  /** Returns the slots of the rectangle between two cells. */
  #between(from, to) {
    const [ax, ay] = edgeOf(this.layout, from);
    const [bx, by] = edgeOf(this.layout, to);
    const found = [];
    this.layout.blocks.forEach(({ slots }, block) =>
      slots.forEach((slot, index) => {
        const [x, y] = edgeOf(this.layout, { block, index });
        if (x >= Math.min(ax, bx) && x <= Math.max(ax, bx) && y >= Math.min(ay, by) && y <= Math.max(ay, by)) found.push(slot);
      }),
    );
    return found;
  }

  #key(event) {
    if (!this.layout?.blocks.some(({ slots }) => slots.length)) return;
    const current = this.drawn.state.names.indexOf(this.drawn.current);
    this.cursor ??= (current >= 0 && cellOf(this.layout, current)) || { block: 0, index: 0 };
    if (MOVES.includes(event.key)) {
      this.cursor = neighbor(this.layout, this.cursor, event.key);
    } else if (event.key !== "Enter" && event.key !== " ") {
      return;
    }
    event.preventDefault();
    const slot = this.layout.blocks[this.cursor.block].slots[this.cursor.index];
    if (event.key === "Enter") this.emit("pw-choose", { slot });
    if (event.key === " ") this.emit("pw-mark", { slots: [slot], isAdded: !this.#isMarked(slot) });
    this.option.textContent = this.drawn.describe(slot);
    this.option.setAttribute("aria-selected", String(this.#isMarked(slot)));
    this.#tip({ ...this.cursor, slot });
    const [, y] = edgeOf(this.layout, this.cursor);
    if (y < this.scrollTop || y + this.layout.cellPx > this.scrollTop + this.clientHeight) this.scrollTop = y - this.clientHeight / 2;
    this.invalidate();
  }

  focus() {
    this.canvas.focus();
  }
}

function cross(context, x, y, size, color) {
  context.strokeStyle = color;
  context.lineWidth = size > 12 ? 2 : 1;
  context.beginPath();
  context.moveTo(x + size * 0.25, y + size * 0.25);
  context.lineTo(x + size * 0.75, y + size * 0.75);
  context.moveTo(x + size * 0.75, y + size * 0.25);
  context.lineTo(x + size * 0.25, y + size * 0.75);
  context.stroke();
}

function slash(context, x, y, size, color) {
  context.strokeStyle = color;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(x + 1, y + size - 1);
  context.lineTo(x + size - 1, y + 1);
  context.stroke();
}

function frame(context, x, y, size, color, outer, isCurrent) {
  context.lineWidth = 2;
  context.strokeStyle = isCurrent ? outer : color;
  context.strokeRect(x + 1, y + 1, size - 2, size - 2);
}

define("pw-heat-map", HeatMap);
