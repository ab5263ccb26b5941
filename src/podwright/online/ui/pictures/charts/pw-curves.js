// Curves of shares over time, several over each other, one chart per resource.

import { PwElement, define, h, render, setText } from "../parts/dom.js";
import { durationText, numberText, percentText, roundAbove } from "../parts/format.js";
import { sheets } from "../parts/styles.js";
import { colorOf, onTheme } from "../parts/theme.js";
import { PENDING } from "../parts/comparison.js";
import { sized } from "../parts/time_marks.js";

const STYLE = `
:host { display: grid; gap: var(--pw-space); }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(300px, 1fr)); gap: calc(1.5 * var(--pw-space)); }
figure { margin: 0; min-width: 0; }
figcaption { display: flex; gap: var(--pw-space); align-items: baseline; }
canvas { display: block; width: 100%; height: 130px; cursor: crosshair; }
.keys { display: flex; flex-wrap: wrap; gap: 2px 16px; }
.keys i { display: inline-block; width: 22px; margin: 0 5px 3px 0; border-top: 2px solid var(--pw-accent); } .keys i.second { border-top: 2px dashed var(--pw-warning); }
`;
const LEFT_PX = 34;
const TOP_PX = 6;
const BOTTOM_PX = 16;
const TOPS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1]; // half of each is a round share too
const LINES = [
  { color: "--pw-accent", dash: [] },
  { color: "--pw-warning", dash: [5, 3] },
];

class Curves extends PwElement {
  constructor() {
    super();
    this.root.adoptedStyleSheets = sheets(STYLE);
    this.keys = h("p", { class: "keys small muted" });
    this.charts = h("div", { class: "charts" });
    this.root.append(this.keys, this.charts);
    this.shown = null;
  }

  start() {
    this.sized(this.charts, () => this.invalidate());
    this.undo.push(onTheme(() => this.invalidate()));
  }

  /**
   * @param {{sides: {name: string, curves: Map<string, {seconds: number, share: number}[]>}[],
   *   seconds: number, atSeconds: number | null, ends?: string[]}} shown the length of the axis, a moment
   *   to mark, and the texts of the ends of the axis; by default they are durations
   */
  set data(shown) {
    this.shown = shown;
    this.invalidate();
  }

  update() {
    if (!this.shown) return;
    const { sides } = this.shown;
    const resources = [...new Set(sides.flatMap(({ curves }) => [...curves.keys()]))];
    const named = JSON.stringify([resources, sides.map(({ name }) => name)]);
    if (named !== this.named) {
      this.named = named;
      this.keys.hidden = sides.length < 2;
      render(this.keys, sides.map(({ name }, index) => h("span", {}, h("i", { class: index ? "second" : "first" }), name)));
      render(this.charts, resources.map((resource) => h("figure", { "data-resource": resource }, h("figcaption", {}, h("span", { class: "mono grow" }, resource), h("span", { class: "small muted values" })), h("canvas", { role: "img", on: { click: ({ offsetX, target }) => this.#choose(offsetX, target) } }))));
    }
    for (const figure of this.charts.children) this.#draw(figure);
  }

  #choose(x, { clientWidth }) {
    const share = (x - LEFT_PX) / (clientWidth - LEFT_PX - 2);
    this.emit("pw-at", Math.max(0, Math.min(1, share)) * this.shown.seconds);
  }

  #draw(figure) {
    const { sides, seconds, atSeconds, ends = ["0s", durationText(seconds * 1000)] } = this.shown;
    const { resource } = figure.dataset;
    const [canvas] = figure.getElementsByTagName("canvas");
    const curves = sides.map((side) => side.curves.get(resource) ?? []);
    const lasts = curves.map((points) => valueAt(points, atSeconds ?? seconds));
    const isCount = resource === PENDING;
    const texts = lasts.map((share) => (share === null ? "none" : isCount ? numberText(share) : percentText(share)));
    setText(figure.querySelector(".values"), texts.join(" · "));
    canvas.setAttribute("aria-label", `${isCount ? "Number of" : "Requested share of"} ${resource}: ${sides.map(({ name }, index) => `${name} ${texts[index]}`).join(", ")}`);
    const { clientWidth: width, clientHeight: height } = canvas;
    if (!width) return;
    const context = sized(canvas, width, height);
    const [line, muted, past] = ["--pw-line", "--pw-muted", "--pw-past"].map((name) => colorOf(this.root, name));
    const most = Math.max(0.05, ...curves.flat().map(({ share }) => share));
    const top = isCount ? roundAbove(most) : (TOPS.find((each) => each >= most) ?? most);
    const x = (at) => LEFT_PX + (at / (seconds || 1)) * (width - LEFT_PX - 2);
    const y = (share) => height - BOTTOM_PX - (share / top) * (height - BOTTOM_PX - TOP_PX);
    context.font = "10px system-ui, sans-serif";
    context.textBaseline = "middle";
    for (const share of [0, top / 2, top]) {
      context.fillStyle = line;
      context.fillRect(LEFT_PX, Math.round(y(share)), width - LEFT_PX, 1);
      context.fillStyle = muted;
      context.textAlign = "right";
      context.fillText(isCount ? SHORT.format(share) : share < 0.1 ? `${+(share * 100).toFixed(1)}%` : percentText(share), LEFT_PX - 5, y(share));
    }
    if (ends[1] !== ends[0]) context.fillText(ends[1], width - 2, height - 6);
    context.textAlign = "left";
    context.fillText(ends[0], LEFT_PX, height - 6);
    curves.forEach((points, index) => {
      const { color, dash } = LINES[index];
      context.strokeStyle = colorOf(this.root, color);
      context.lineWidth = 1.75;
      context.setLineDash(dash);
      context.beginPath();
      points.forEach(({ seconds: at, share }, point) => context[point ? "lineTo" : "moveTo"](x(at), y(share)));
      // Where everything happens at one moment, a line shows its result.
      if (!seconds && points.length) context.lineTo(width - 2, y(points.at(-1).share));
      context.stroke();
    });
    context.setLineDash([]);
    if (atSeconds !== null) {
      context.fillStyle = past;
      context.fillRect(x(atSeconds), TOP_PX, 1.5, height - BOTTOM_PX - TOP_PX);
    }
  }
}

const SHORT = new Intl.NumberFormat("en-US", { notation: "compact" });

/** Returns the share of a curve at a time; null before it starts. */
export function valueAt(points, seconds) {
  let found = null;
  for (const point of points) {
    if (point.seconds > seconds) break;
    found = point.share;
  }
  return found;
}

define("pw-curves", Curves);
