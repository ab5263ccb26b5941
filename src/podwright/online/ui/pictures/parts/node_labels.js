// The labels of the nodes, and which are copies of another cluster's: a list, and the changes since then.

const METADATA = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
const PAGE_OF_NODES = 1000;

/** The annotation of copies of another cluster's nodes; their kubelet is not simulated, so they cannot fail. */
export const SOURCE_UID = "podwright.dev/source-uid";

export class NodeLabels {
  /** @param {import("../data/source.js").Source} source */
  constructor(source) {
    this.source = source;
    this.byNode = new Map(Object.entries(source.labels ?? {}));
    this.copied = new Set(); // names; a node is created as a copy, or never is one
    this.isFollowed = false;
    this.changed = new Map(); // what `byNode` does not have yet
    this.versions = new Map();
  }

  /** Loads the labels of all nodes. */
  async load() {
    const labels = new Map();
    const versions = new Map();
    const copied = new Set();
    let next = "";
    do {
      const query = `limit=${PAGE_OF_NODES}${next ? `&continue=${encodeURIComponent(next)}` : ""}`;
      const list = await this.source.get(`/api/v1/nodes?${query}`, { Accept: METADATA });
      for (const { metadata } of list.items) {
        labels.set(metadata.name, metadata.labels ?? {});
        versions.set(metadata.name, Number(metadata.resourceVersion));
        if (metadata.annotations?.[SOURCE_UID]) copied.add(metadata.name);
      }
      // All pages of a list have the version of the first.
      this.listed = Number(list.metadata.resourceVersion) || 0;
      next = list.metadata.continue ?? "";
    } while (next);
    const later = [...this.versions].filter(([, version]) => version > this.listed);
    const changed = later.map(([name]) => [name, this.changed.get(name) ?? this.byNode.get(name) ?? null]);
    for (const [name] of later) if (this.copied.has(name)) copied.add(name);
    this.byNode = labels;
    this.copied = copied;
    this.versions = versions;
    this.changed = new Map(changed);
    for (const [name, version] of later) this.versions.set(name, version);
    this.publish();
  }

  /**
   * Takes an event of the watch of the nodes, which `publish` makes visible.
   *
   * @param {{type: string, name: string, resourceVersion: string, labels: Object<string, string>,
   *   isCopied: boolean}} event
   */
  take({ type, name, resourceVersion, labels, isCopied }) {
    this.isFollowed = true;
    const version = Number(resourceVersion);
    if (type === "STARTED" || version <= Math.max(this.listed ?? 0, this.versions.get(name) ?? 0)) return;
    this.versions.set(name, version);
    this.changed.set(name, type === "DELETED" ? null : labels);
    if (isCopied) this.copied.add(name);
    else this.copied.delete(name);
  }

  /** Makes a new map with the changes; returns whether anything is different. */
  publish() {
    const different = [...this.changed].filter(([name, labels]) => !isSame(labels, this.byNode.get(name)));
    this.changed.clear();
    if (!different.length) return false;
    this.byNode = new Map(this.byNode);
    for (const [name, labels] of different) {
      if (labels) this.byNode.set(name, labels);
      else this.byNode.delete(name);
    }
    return true;
  }
}

function isSame(one, other) {
  if (!one || !other) return !one && !other;
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length && keys.every((key) => one[key] === other[key]);
}
