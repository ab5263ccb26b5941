// A server as the source of data, through the page's origin.

import { RequestError, errorMessage } from "./source.js";

const HIDDEN_MS = 10_000;

/** @implements {import("./source.js").Source} */
export class HttpSource {
  /**
   * @param {string} base where the server's paths start on this origin
   * @param {string} feeds where the shared streams are
   */
  constructor(base = "/server", feeds = "/feeds") {
    this.base = base;
    this.feeds = feeds;
    this.isLive = true;
  }

  state(listener) {
    let events = null;
    let timer = 0;
    const open = () => {
      events = new EventSource(`${this.feeds}/state`);
      for (const type of ["snapshot", "changes", "nodes", "disconnected"]) {
        events.addEventListener(type, (event) => listener(type, JSON.parse(event.data)));
      }
      events.addEventListener("open", () => listener("connected", {}));
      events.addEventListener("error", () =>
        listener("disconnected", { reason: "The process of this page does not answer." }),
      );
    };
    const close = () => {
      events?.close();
      events = null;
    };
    // Browsers open six connections to an origin, so a page that is not seen keeps none.
    const follow = () => {
      clearTimeout(timer);
      if (document.hidden) timer = setTimeout(close, HIDDEN_MS);
      else if (!events) open();
    };
    document.addEventListener("visibilitychange", follow);
    follow();
    return () => {
      document.removeEventListener("visibilitychange", follow);
      clearTimeout(timer);
      close();
    };
  }

  async get(path, headers = {}) {
    const reply = await this.request(path, { headers: { Accept: "application/json", ...headers } });
    return reply.json();
  }

  async bytes(path) {
    const reply = await this.request(path, {});
    return reply.arrayBuffer();
  }

  async send(method, path, body, contentType = "application/json") {
    const headers = { "X-Podwright-Page": "1", Accept: "application/json" };
    if (body !== undefined) headers["Content-Type"] = contentType;
    const text = body === undefined || typeof body === "string" || body instanceof Blob ? body : JSON.stringify(body);
    const reply = await this.request(path, { method, headers, body: text });
    const received = await reply.text();
    return received ? JSON.parse(received) : null;
  }

  /**
   * Sends a body, and returns the last line of a reply of lines of JSON.
   *
   * @param {string} path
   * @param {any} body
   * @param {(line: any) => void} listener receives each line before the last one
   * @param {AbortSignal} signal ends the request
   * @returns {Promise<any>} rejects with the `detail` of the last line, if it has one
   */
  async lines(path, body, listener, signal) {
    const headers = { "X-Podwright-Page": "1", "Content-Type": "application/json" };
    const reply = await this.request(path, { method: "POST", headers, body: JSON.stringify(body), signal });
    const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    let last = null;
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      const complete = (text + part.value).split("\n");
      text = complete.pop();
      for (const line of complete) {
        if (last) listener(last);
        last = JSON.parse(line);
      }
    }
    if (!last || last.detail) throw new RequestError(last?.detail ?? "The reply broke off.", 0);
    return last;
  }

  /**
   * Returns a text of YAML or JSON as data.
   *
   * @param {string} text
   * @returns {Promise<any>} rejects with the error and its line
   */
  async read(text) {
    const headers = { "X-Podwright-Page": "1", "Content-Type": "application/yaml" };
    const reply = await this.request("/documents", { method: "POST", headers, body: text }, "");
    const { document, problem } = await reply.json();
    if (problem) throw new RequestError(problem, 400);
    return document;
  }

  async request(path, options, base = this.base) {
    let reply;
    try {
      reply = await fetch(base + path, { cache: "no-store", ...options });
    } catch {
      throw new RequestError("The process of this page does not answer.", 0);
    }
    if (!reply.ok) {
      const fallback = `${reply.status} ${reply.statusText}`.trim();
      throw new RequestError(errorMessage(await reply.text(), fallback), reply.status);
    }
    return reply;
  }
}
