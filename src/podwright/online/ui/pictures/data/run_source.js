// A recorded run as the source of data: its folder, read by the server.

import { HttpSource } from "./http_source.js";
import { RequestError } from "./source.js";

const OWN = "/podwright/v1/";

/** @implements {import("./source.js").Source} */
export class RunSource {
  /** @param {string} run its name in the folder of the server */
  constructor(run) {
    this.http = new HttpSource();
    this.run = `${OWN}runs/${encodeURIComponent(run)}/`;
    this.isLive = false;
    this.labels = {};
  }

  /** Loads the labels of the nodes; before the elements use them. */
  async loadLabels() {
    this.labels = (await this.http.get(`${this.run}nodes`)).labels;
  }

  state() {
    return () => {};
  }

  /** Returns the `summary` of the run, null before its end, with its `manifest` and its `files`. */
  async results() {
    return this.http.get(this.run.slice(0, -1));
  }

  async get(path) {
    return this.http.get(this.#own(path));
  }

  async bytes(path) {
    return this.http.bytes(this.#own(path));
  }

  async send() {
    throw new RequestError("A recorded run cannot be changed.", 405);
  }

  #own(path) {
    if (!path.startsWith(`${OWN}pods/`) && path !== `${OWN}timeline`) throw new RequestError("A recorded run does not have it.", 404);
    return this.run + path.slice(OWN.length);
  }
}
