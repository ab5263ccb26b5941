// Work of the server that takes a while: a bar, the remaining time, and a button that cancels it.

import { h, setText } from "./dom.js";
import { progressText } from "./format.js";

export class Work {
  /** @param {(isRunning: boolean) => void} changed is called at its start and at its end */
  constructor(changed) {
    this.bar = h("progress", { "aria-label": "Progress" });
    this.left = h("span", { class: "muted", role: "status" });
    this.cancel = h("button", { type: "button", on: { click: () => this.abort() } }, "Cancel");
    this.problem = h("div", { class: "error", role: "alert", hidden: true });
    this.row = h("div", { class: "row wrap" }, this.bar, this.left, this.cancel);
    this.changed = changed;
    this.running = null;
    this.#show(false);
  }

  abort() {
    this.running?.abort();
  }

  #show(isRunning) {
    this.bar.hidden = this.cancel.hidden = !isRunning;
    this.bar.removeAttribute("value");
    this.changed(isRunning);
  }

  /** Shows an error; none for an empty text. */
  fail(message) {
    this.problem.hidden = !message;
    setText(this.problem, message);
  }

  /**
   * Does work, after what still runs is cancelled, and shows its error.
   *
   * @param {string} noun what its progress counts
   * @param {(signal: AbortSignal, show: (progress: {done: number, total?: number}) => void) => Promise<void>} work
   */
  async run(noun, work) {
    this.abort();
    const running = new AbortController();
    this.running = running;
    this.fail("");
    setText(this.left, "");
    this.#show(true);
    const begunMs = performance.now();
    const show = (progress) => {
      if (this.running !== running) return;
      if (progress.total) [this.bar.max, this.bar.value] = [progress.total, progress.done];
      setText(this.left, progressText(progress, noun, performance.now() - begunMs));
    };
    try {
      await work(running.signal, show);
    } catch (error) {
      if (!running.signal.aborted) this.fail(error.message);
    }
    if (this.running !== running) return;
    this.running = null;
    setText(this.left, running.signal.aborted ? "Cancelled." : "");
    this.#show(false);
  }
}
