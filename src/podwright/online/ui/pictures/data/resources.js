// The kinds of the server's API, and the Tables of their objects.

const DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

/**
 * @typedef {Object} Kind
 * @property {string} kind
 * @property {string} group empty for the core group
 * @property {string} version
 * @property {string} resource the plural name
 * @property {boolean} isNamespaced
 * @property {string[]} verbs
 */

/**
 * Returns the kinds that can be listed, each in its preferred version, by group and name.
 *
 * @param {import("./source.js").Source} source
 * @returns {Promise<Kind[]>}
 */
export async function listKinds(source) {
  const documents = await Promise.all(["/api", "/apis"].map((path) => source.get(path, { Accept: DISCOVERY })));
  return documents.flatMap((document) => document.items.flatMap(kindsOfGroup)).sort(compareKinds);
}

function kindsOfGroup({ metadata, versions }) {
  const group = metadata?.name ?? "";
  const found = new Map();
  for (const { version, resources } of versions) {
    for (const { resource, responseKind, scope, verbs } of resources ?? []) {
      if (found.has(resource) || !verbs.includes("list")) continue;
      const isNamespaced = scope === "Namespaced";
      found.set(resource, { kind: responseKind.kind, group, version, resource, isNamespaced, verbs });
    }
  }
  return [...found.values()];
}

function compareKinds(one, other) {
  if (one.group !== other.group) return one.group < other.group ? -1 : 1;
  return one.kind < other.kind ? -1 : 1;
}

/** Returns the name of a kind in the address: `pods`, or `deployments.apps`. */
export function nameOf({ resource, group }) {
  return group ? `${resource}.${group}` : resource;
}

/** Returns the value of apiVersion of a kind's objects. */
export function apiVersionOf({ group, version }) {
  return group ? `${group}/${version}` : version;
}

/**
 * Returns the path of a kind's objects.
 *
 * @param {Kind} kind
 * @param {string} namespace empty for all namespaces
 */
export function collectionPath(kind, namespace) {
  const root = kind.group ? `/apis/${kind.group}/${kind.version}` : `/api/${kind.version}`;
  const place = kind.isNamespaced && namespace ? `/namespaces/${encodeURIComponent(namespace)}` : "";
  return `${root}${place}/${kind.resource}`;
}

/** Returns the path of one object. */
export function objectPath(kind, namespace, name) {
  return `${collectionPath(kind, namespace)}/${encodeURIComponent(name)}`;
}

/**
 * Returns the server's Table of a kind's objects: kubectl's columns.
 *
 * @param {import("./source.js").Source} source
 * @param {Kind} kind
 * @param {string} namespace empty for all namespaces
 * @returns {Promise<{columns: string[], rows: {key: string, namespace: string, name: string, cells: string[]}[]}>}
 */
export async function listTable(source, kind, namespace) {
  const table = await source.get(collectionPath(kind, namespace), { Accept: TABLE });
  const shown = table.columnDefinitions
    .map((column, index) => ({ ...column, index }))
    .filter(({ priority }) => !priority);
  const hasNamespace = kind.isNamespaced && !namespace;
  const rows = table.rows.map(({ cells, object: { metadata } }) => {
    const texts = shown.map(({ index }) => cellText(cells[index]));
    const own = metadata.namespace ?? "";
    if (hasNamespace) texts.unshift(own);
    return { key: `${own}/${metadata.name}`, namespace: own, name: metadata.name, cells: texts };
  });
  const columns = shown.map(({ name }) => name);
  if (hasNamespace) columns.unshift("Namespace");
  return { columns, rows };
}

function cellText(value) {
  return value === null || value === undefined ? "<none>" : String(value);
}

/**
 * Returns the widths of a table's columns, in characters.
 *
 * @param {string[]} columns
 * @param {{cells: string[]}[]} rows
 */
export function widthsOf(columns, rows) {
  const most = 44;
  return columns.map((title, at) => {
    let width = title.length + 3;
    for (const { cells } of rows.slice(0, 300)) width = Math.max(width, (cells[at] ?? "").length + 1);
    return Math.min(at ? width : width + 2, most);
  });
}
