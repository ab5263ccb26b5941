// The clock of the cluster, between two looks at it.

import { timeNs } from "../parts/format.js";

export class ClusterClock {
  /** @param {import("./source.js").Source} source */
  constructor(source) {
    this.source = source;
    this.state = null; // as GET /podwright/v1/clock has it
    this.readMs = 0;
  }

  /** Looks at the clock; without a reply it is not known. */
  async look() {
    try {
      this.take(await this.source.get("/podwright/v1/clock"));
    } catch {
      this.state = null; // the stream reports a server that is gone
    }
  }

  /** Takes a state of the clock that a request has returned. */
  take(state) {
    this.state = state;
    this.readMs = performance.now();
  }

  /** The time of the cluster now, in nanoseconds since 1970; null if it is not known. */
  nowNs() {
    if (!this.state) return null;
    const elapsed = this.state.isPaused ? 0 : (performance.now() - this.readMs) * this.state.speed;
    return timeNs(this.state.time) + BigInt(Math.round(elapsed * 1e6));
  }
}
