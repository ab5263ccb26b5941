// The data of a report, which is in the page itself.

import { RequestError } from "./source.js";

/** @implements {import("./source.js").Source} */
export class EmbeddedSource {
  /**
   * @param {{title: string, labels: Object<string, Object<string, string>>, timeline: string,
   *   replies: Object<string, any>}} data `timeline` is compressed by gzip, in base64
   */
  constructor(data) {
    this.data = data;
    this.labels = data.labels;
    this.isLive = false;
  }

  state() {
    return () => {};
  }

  /** Returns the `summary` of the run; null before its end. */
  async results() {
    return { summary: this.data.results };
  }

  async get(path) {
    const found = this.data.replies[path];
    if (found === undefined) throw new RequestError("This report does not have it; write one with a greater --pods.", 404);
    return found;
  }

  async bytes(path) {
    if (path !== "/podwright/v1/timeline") throw new RequestError("This report does not have it.", 404);
    const packed = Uint8Array.from(atob(this.data.timeline), (character) => character.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).arrayBuffer();
  }

  async send() {
    throw new RequestError("A report cannot be changed.", 405);
  }
}
