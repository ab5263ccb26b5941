// Where the elements get their data.
//
// An element does not know whether a server or a file is behind it: both implement the same
// interface.

/**
 * @typedef {Object} Source
 * @property {boolean} isLive whether it is a server, which changes and accepts requests
 * @property {Object<string, Object<string, string>>} [labels] those of nodes, if it is not a server
 * @property {(listener: StateListener) => (() => void)} state delivers the events of the stream of
 *   the state (docs/reference/state.md) until the returned function is called
 * @property {(path: string, headers?: Object<string, string>) => Promise<any>} get the JSON of a path
 * @property {(path: string) => Promise<ArrayBuffer>} bytes the body of a path
 * @property {(method: string, path: string, body?: any, contentType?: string) => Promise<any>} send
 *   sends a request that changes something or has a body
 * @property {(path: string, body: any, listener: (line: any) => void, signal: AbortSignal) => Promise<any>}
 *   [lines] sends a body, and returns the last line of a reply of lines, if it is a server
 * @property {() => Promise<any>} [results] those of a run as `summary`, if it is not a server
 * @property {(text: string) => Promise<any>} [read] a text of YAML or JSON as data, if it is a server
 */

/**
 * @callback StateListener
 * @param {"snapshot" | "changes" | "nodes" | "disconnected" | "connected"} event
 * @param {any} data that of the event; for `disconnected` a `reason`; for `nodes` a `type`, and the
 *   `name`, `resourceVersion`, `labels` and `isCopied` of a node unless the type is STARTED
 * @returns {void}
 */

/** A request that failed; the message is that of the server. */
export class RequestError extends Error {
  /**
   * @param {string} message
   * @param {number} status the HTTP status; 0 if there was no reply
   */
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/**
 * Returns an object of a collection by its name; null if it does not exist.
 *
 * A list is requested: browsers report replies of 404 as errors of the page.
 *
 * @param {Source} source
 * @param {string} collection its path
 * @param {string} name
 */
export async function findNamed(source, collection, name) {
  const { items } = await source.get(`${collection}?fieldSelector=${encodeURIComponent(`metadata.name=${name}`)}`);
  return items[0] ?? null;
}

/**
 * Returns the message of an error's body: a Kubernetes Status, or a problem document.
 *
 * @param {string} text
 * @param {string} fallback
 */
export function errorMessage(text, fallback) {
  let body;
  try {
    body = JSON.parse(text);
  } catch {
    return text.length > 0 && text.length < 500 && !text.startsWith("<") ? text : fallback;
  }
  if (body?.kind === "Status" && body.message) return body.message;
  if (body?.detail) return body.field ? `${body.field}: ${body.detail}` : body.detail;
  return body?.message ?? body?.title ?? fallback;
}
