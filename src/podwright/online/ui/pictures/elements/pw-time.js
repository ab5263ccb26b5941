// The time: live, paused or past; play, pause, step, speed, and the bar to scrub.

import { isAllowed } from "../data/access.js";
import { address } from "../data/address.js";
import { PwElement, define, h, isTyping, options, setText } from "../parts/dom.js";
import { clockText, durationText, momentText, timeNs, timeText, utcText } from "../parts/format.js";
import { model, throttled } from "../data/model.js";
import { sheets } from "../parts/styles.js";
import { colorOf, onTheme } from "../parts/theme.js";
import { COLORS, axisBegin, drawMarks, placeOf, sized, stepped } from "../parts/time_marks.js";
import { NO_SCHEDULER } from "../data/waiting.js";

const SPEEDS = [0.1, 0.5, 1, 2, 5, 10, 60, 300, 3600];
const PAST_SPEEDS = [1, 5, 10, 60, 300, 3600];
const ADDRESS_MS = 1000;
const STYLE = `
:host { display: flex; flex: 1; min-width: 0; align-items: center; gap: var(--pw-space); }
.badge { flex: none; min-width: 116px; text-align: center; padding: 3px 6px; border-radius: 3px; font-size: var(--pw-type-small); font-weight: 700; letter-spacing: 0.04em;
  font-variant-numeric: tabular-nums; border: 1px solid currentcolor; }
.badge.live { color: var(--pw-good); } .badge.paused { color: var(--pw-warning); }
.badge.past { background: var(--pw-past); border-color: var(--pw-past); color: var(--pw-raised); }
.badge.off { color: var(--pw-bad); }
.time { flex: none; min-width: 62px; font-variant-numeric: tabular-nums; font-family: var(--pw-mono); font-size: var(--pw-type-small); }
.controls { display: flex; gap: 2px; }
.controls button { width: 28px; padding: 0; text-align: center; }
select { padding: 1px 2px; width: 72px; }
.track { position: relative; flex: 1; min-width: 80px; height: 30px; cursor: pointer; touch-action: none; }
.track canvas { position: absolute; inset: 0; width: 100%; height: 100%; }
.error { padding: 2px 8px; max-width: 260px; font-size: var(--pw-type-small); max-height: 38px; overflow: auto; }
.back { flex: none; }
@media (max-width: 900px) {
  :host { gap: 4px; }
  .badge { width: auto; min-width: 56px; padding-inline: 4px; }
  .controls button { width: 30px; min-height: 30px; }
  select { width: 58px; }
  .track { min-width: 40px; }
}
`;

class Time extends PwElement {
  constructor() {
    super();
    this.root.adoptedStyleSheets = sheets(STYLE);
    this.badge = h("span", { class: "badge", role: "status" });
    this.time = h("span", { class: "time" });
    this.back = h("button", { title: "One step back (,)", "aria-label": "One step back" }, "◂");
    this.play = h("button", { "data-focus": "play" });
    this.forward = h("button", { title: "One step forward (.)", "aria-label": "One step forward" }, "▸");
    this.speed = h("select", { "aria-label": "Speed" });
    this.canvas = h("canvas", {});
    this.marks = h("canvas", {}); // never in the document
    this.track = h("div", { class: "track", role: "slider", tabindex: "0", "aria-label": "Time", "aria-valuemin": 0, "aria-valuemax": 1000, "aria-valuenow": 1000, title: "Drag to see the past" }, this.canvas);
    this.live = h("button", { class: "back primary", hidden: true, title: "Back to live (l)" }, "Back to live");
    this.problem = h("span", { class: "error", role: "alert", hidden: true });
    this.root.append(this.badge, this.time, h("span", { class: "controls" }, this.back, this.play, this.forward), this.speed, this.track, this.problem, this.live);
    this.back.addEventListener("click", () => this.#step(-1));
    this.forward.addEventListener("click", () => this.#step(1));
    this.play.addEventListener("click", () => this.#toggle());
    this.live.addEventListener("click", () => this.#toLive());
    this.speed.addEventListener("change", () => this.#setSpeed(Number(this.speed.value)));
    this.track.addEventListener("pointerdown", (event) => this.#grab(event));
    this.track.addEventListener("keydown", (event) => this.#keyOnTrack(event));
    this.size = { width: 0, height: 0 };
    this.error = "";
    this.pastSpeed = 10;
    this.allowed = false;
    this.look = throttled(1000, () => this.#look());
  }

  start() {
    const data = model();
    this.undo.push(data.use(), onTheme(() => this.invalidate()));
    this.sized(this.track, (size) => {
      this.size = size;
      this.invalidate();
    });
    for (const type of ["state", "mode", "connection"]) this.listen(data, type, () => this.invalidate());
    this.listen(document, "keydown", (event) => this.#key(event));
    this.every(2000, this.look);
    this.every(250, () => this.#showTime());
    this.look();
    data.schedulers();
    this.#access();
  }

  async #access() {
    this.allowed = await isAllowed(model().source, { verb: "post", path: "/podwright/v1/clock/pause" });
    this.invalidate();
  }

  async #look() {
    if (!model().source.isLive) return;
    await model().clock.look();
    this.invalidate();
  }

  /** The time of the cluster now, in nanoseconds since 1970; null if it is not known. */
  get #nowNs() {
    const { clock, live } = model();
    return clock.nowNs() ?? (live.time ? timeNs(live.time) : null);
  }

  /** Whether this page can show the past. */
  get #hasPast() {
    return model().hasScheduler && !this.hasAttribute("present");
  }

  get #range() {
    const { past } = model();
    const now = this.#nowNs;
    if (!past) return null;
    const end = now !== null && now > past.endNs ? now : past.endNs;
    return { begin: axisBegin(past, end), end };
  }

  #momentText(ns) {
    const range = this.#range;
    return range ? momentText(ns, range.begin, range.end) : clockText(timeText(ns));
  }

  update() {
    const data = model();
    const { isPast, isLoadingPast } = data;
    const isPaused = model().clock.state?.isPaused ?? false;
    const isRunning = isPast ? data.isPlaying : !isPaused;
    const mode = isPast ? "past" : !data.connection.isConnected ? "off" : isPaused ? "paused" : "live";
    const title = { past: `PAST ${isPast && data.past ? this.#momentText(data.past.timeNs) : ""}`, off: "OFFLINE", paused: model().clock.state?.stoppedAt ? "STOPPED" : "PAUSED", live: "LIVE" }[mode];
    this.badge.className = `badge ${mode}`;
    this.badge.title = isPast ? utcText(data.state.time) : "";
    setText(this.badge, isLoadingPast ? "LOADING…" : title);
    setText(this.play, isRunning ? "❚❚" : "▶");
    this.play.title = isRunning ? "Pause (p)" : "Play (p)";
    this.play.setAttribute("aria-label", isRunning ? "Pause" : "Play");
    const isControllable = isPast || (this.allowed && data.isEditable);
    for (const part of [this.play, this.forward, this.speed]) part.disabled = !isControllable;
    this.back.disabled = !this.#hasPast;
    this.track.title = this.#hasPast ? "Drag to see the past" : data.hasScheduler ? "The pages Cluster and Queue show the past" : NO_SCHEDULER;
    this.track.setAttribute("aria-disabled", String(!this.#hasPast));
    this.live.hidden = !isPast || !data.source.isLive;
    this.problem.hidden = !this.error;
    setText(this.problem, this.error);
    this.#speeds(isPast);
    this.#showTime();
    this.#draw();
  }

  #speeds(isPast) {
    const value = isPast ? this.pastSpeed : (model().clock.state?.speed ?? 1);
    const speeds = isPast ? PAST_SPEEDS : SPEEDS;
    const all = speeds.includes(value) ? speeds : [...speeds, value].sort((a, b) => a - b);
    options(this.speed, all.map((speed) => [speed, `${speed}×`]), String(value));
  }

  #showTime() {
    const data = model();
    const now = data.isPast ? data.past?.timeNs : this.#nowNs;
    this.time.hidden = data.isPast; // the badge has it
    const isShown = now !== null && now !== undefined && !data.isPast;
    setText(this.time, isShown ? this.#momentText(now) : "");
    this.time.title = isShown ? `The time of the cluster: ${utcText(timeText(now))}` : "";
    if (!data.isPast) return;
    const range = this.#range;
    if (!range) return;
    const at = Number(((data.past.timeNs - range.begin) * 1000n) / (range.end - range.begin || 1n));
    this.track.setAttribute("aria-valuenow", String(Math.max(0, Math.min(1000, at))));
    this.track.setAttribute("aria-valuetext", `${this.#momentText(data.past.timeNs)}, ${durationText(Number(range.end - data.past.timeNs) / 1e6)} ago`);
  }

  #draw() {
    const { width, height } = this.size;
    if (!width) return;
    const data = model();
    const range = this.#range;
    const colors = COLORS.map((name) => colorOf(this.root, name));
    const [line, accent, , , muted] = colors;
    const axis = height / 2 + 4;
    const context = sized(this.canvas, width, height);
    context.fillStyle = line;
    context.fillRect(0, axis, width, 3);
    let x = width - 4;
    if (range) {
      // The marks may be many, so they are drawn once and copied.
      const placed = { past: data.past, begin: range.begin, end: stepped(range, width), width, height, theme: colors.join() };
      if (Object.entries(placed).some(([key, value]) => this.marksDrawn?.[key] !== value)) {
        this.marksDrawn = placed;
        drawMarks(this.marks, data.past, placed, axis, colors);
      }
      context.drawImage(this.marks, 0, 0, width, height);
      if (data.isPast) x = placeOf(Math.max(0, Number(data.past.timeNs - range.begin)), Number(range.end - range.begin), width);
    } else {
      context.fillStyle = muted;
      context.font = "11px system-ui, sans-serif";
      context.fillText(data.source.isLive && this.#hasPast ? "drag to rewind" : "", 6, axis - 6);
    }
    context.fillStyle = accent;
    context.fillRect(0, axis, x, 3);
    context.beginPath();
    context.arc(Math.min(width - 6, Math.max(6, x)), axis + 1.5, 6, 0, 7);
    context.fill();
  }

  async #grab(event) {
    if (event.button || !this.#hasPast) return;
    this.track.setPointerCapture(event.pointerId);
    this.#stop();
    let isHeld = true;
    let last = event;
    const move = (moved) => {
      last = moved;
      this.#seekTo(moved);
    };
    const release = () => {
      isHeld = false;
      this.track.removeEventListener("pointermove", move);
      if (model().isPast) this.#keep();
    };
    this.track.addEventListener("pointerup", release, { once: true });
    this.track.addEventListener("pointermove", move);
    if (!model().past || !model().isPast) {
      await model().loadPast();
      if (!model().past) {
        this.error = model().pastError;
        this.invalidate();
        return;
      }
    }
    await this.#seekTo(last);
    if (!isHeld) this.#keep();
  }

  async #seekTo(event) {
    const range = this.#range;
    if (!range) return;
    const { left, width } = this.track.getBoundingClientRect();
    const share = Math.max(0, Math.min(1, (event.clientX - left - 4) / (width - 8)));
    const ns = range.begin + BigInt(Math.round(share * Number(range.end - range.begin)));
    const { endNs } = model().past;
    await model().seek(ns > endNs ? endNs : ns);
  }

  /** Makes the shown time that of the address. */
  #keep(replace = false) {
    const { past } = model();
    if (past) address.set({ at: timeText(past.timeNs) }, { replace: replace || Boolean(address.get().at) });
  }

  async #request(path, body) {
    this.error = "";
    try {
      const { source, clock } = model();
      clock.take(await source.send("POST", `/podwright/v1/clock/${path}`, body));
    } catch (error) {
      this.error = error.message;
    }
    this.invalidate();
  }

  #toggle() {
    const data = model();
    if (!data.isPast) this.#request(model().clock.state?.isPaused ? "resume" : "pause");
    else if (data.isPlaying) this.#stop();
    else this.#playPast();
    this.invalidate();
  }

  #setSpeed(speed) {
    if (model().isPast) this.pastSpeed = speed;
    else this.#request("speed", { speed });
  }

  #playPast() {
    const data = model();
    if (data.past.timeNs >= data.past.endNs) data.seek(data.past.beginNs);
    data.isPlaying = true;
    let [before, kept] = [performance.now(), performance.now()];
    const frame = (now) => {
      if (!data.isPlaying || !data.isPast) return;
      const next = data.past.timeNs + BigInt(Math.round((now - before) * 1e6 * this.pastSpeed));
      before = now;
      const isOver = next >= data.past.endNs;
      data.seek(isOver ? data.past.endNs : next);
      if (isOver) this.#stop();
      else if (now - kept > ADDRESS_MS) {
        kept = now;
        this.#keep(true);
      }
      if (!isOver) requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }

  #stop() {
    const data = model();
    if (!data.isPlaying) return;
    data.isPlaying = false;
    this.#keep(true);
    data.dispatchEvent(new Event("mode"));
  }

  /** Steps to the next or the previous change of the past; live, runs a second. */
  async #step(direction) {
    const data = model();
    this.#stop();
    if (direction < 0 && !this.#hasPast) return;
    if (!data.isPast) {
      if (direction > 0) {
        this.#request("step", { duration: "1s" });
        return;
      }
      await data.loadPast();
      if (!data.past) {
        this.error = data.pastError;
        this.invalidate();
        return;
      }
      await data.seek(data.past.endNs);
    }
    const { timesNs } = data.past.timeline;
    const { row } = data.past.player;
    const current = data.past.timeNs;
    if (direction > 0 && row < timesNs.length) await data.seek(timesNs[row]);
    if (direction < 0) {
      let before = row - 1;
      while (before >= 0 && timesNs[before] >= current) before -= 1;
      await data.seek(before >= 0 ? timesNs[before] : data.past.beginNs);
    }
    this.#keep();
  }

  #toLive() {
    this.#stop();
    address.set({ at: null });
    this.error = "";
  }

  #keyOnTrack(event) {
    if (event.key === "ArrowLeft") this.#step(-1);
    else if (event.key === "ArrowRight") this.#step(1);
    else return;
    event.preventDefault();
  }

  #key(event) {
    if (isTyping(event)) return;
    const actions = { p: () => this.#toggle(), ",": () => this.#step(-1), ".": () => this.#step(1), l: () => this.#toLive() };
    if (!actions[event.key]) return;
    event.preventDefault();
    if (event.key === "p" && this.play.disabled) return;
    actions[event.key]();
  }
}

define("pw-time", Time);
