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

/** Returns the kind of a name in the address, which may lack the group, as for kubectl. */
export function kindNamed(kinds, name) {
  return kinds.find((kind) => nameOf(kind) === name) ?? kinds.find(({ resource }) => resource === name);
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
 * Returns the selectors of a filter as kubectl takes them, and its other text.
 *
 * @param {string} filter such as `web`, `app=web`, `-l app=web,tier!=db` or
 *   `--field-selector spec.nodeName=a`
 * @returns {{labels: string, fields: string, text: string}}
 */
export function parseFilter(filter) {
  const found = { labels: "", fields: "", text: "" };
  const rest = filter.replace(/(?:^|\s)(-l|--selector|--field-selector)[\s=]+((?:[^\s(]|\([^)]*\)| (?:not)?in \()+)/g, (_, option, value) => {
    found[option === "--field-selector" ? "fields" : "labels"] = value;
    return "";
  });
  const text = rest.trim();
  if (/^[\w./-]+\s*(!?=|==|\s(not)?in\s*\()/.test(text)) found.labels = text;
  else found.text = text.toLowerCase();
  return found;
}

const PAGE_OF_ROWS = 500; // read in a few milliseconds, so that scrolling goes on

/**
 * Delivers the server's Table of a kind's objects, kubectl's columns, each time with more rows.
 *
 * @param {import("./source.js").Source} source
 * @param {Kind} kind
 * @param {string} namespace empty for all namespaces
 * @param {{labels: string, fields: string}} selectors as kubectl takes them
 * @param {(table: {columns: {title: string, isWide: boolean}[], rows: {key: string, namespace: string,
 *   name: string, created: string, cells: string[]}[], isComplete: boolean}) => Promise<boolean>} take
 *   with the columns of `-o wide` as well; returns whether the rest is needed
 */
export async function listTable(source, kind, namespace, { labels, fields }, take) {
  const query = new URLSearchParams({ limit: PAGE_OF_ROWS });
  if (labels) query.set("labelSelector", labels);
  if (fields) query.set("fieldSelector", fields);
  const hasNamespace = kind.isNamespaced && !namespace;
  const rows = [];
  do {
    const table = await source.get(`${collectionPath(kind, namespace)}?${query}`, { Accept: TABLE });
    for (const { cells, object: { metadata } } of table.rows) {
      const texts = cells.map(cellText);
      const own = metadata.namespace ?? "";
      if (hasNamespace) texts.unshift(own);
      rows.push({ key: `${own}/${metadata.name}`, namespace: own, name: metadata.name, created: metadata.creationTimestamp ?? "", cells: texts });
    }
    const columns = table.columnDefinitions.map(({ name, priority }) => ({ title: name, isWide: Boolean(priority) }));
    if (hasNamespace) columns.unshift({ title: "Namespace", isWide: false });
    query.set("continue", table.metadata?.continue ?? "");
    if (!(await take({ columns, rows, isComplete: !query.get("continue") }))) return;
  } while (query.get("continue"));
}

const NUMERIC = new Intl.Collator("en", { numeric: true });

/** Returns rows by the cells of a column; ages by when the objects were created. */
export function sortedRows(rows, columns, title, isDescending) {
  const at = columns.findIndex((column) => column.title === title);
  if (at < 0) return rows;
  const sign = isDescending ? -1 : 1;
  const compare = title === "Age" ? (one, other) => NUMERIC.compare(other.created, one.created) : (one, other) => NUMERIC.compare(one.cells[at], other.cells[at]);
  return rows.toSorted((one, other) => sign * compare(one, other));
}

const TONES = [
  ["good", /^(Running|Ready|Bound|Active|Complete|Completed|Succeeded|Available|True|Established)$/],
  ["bad", /(^|,)(NotReady|Failed|Lost|Unknown|.*Err.*|.*BackOff|OOMKilled|Evicted|False)($|,)/],
  ["warn", /(^|,)(Pending|.*Creating|Terminating|SchedulingDisabled|Released|Suspended|Init:.*|SchedulingGated|Unschedulable)($|,)/],
];

/** Returns the color of a status: good, bad, warn, or "" for another one. */
export function toneOf(title, text) {
  if (title !== "Status" && title !== "Phase") return "";
  return TONES.find(([, pattern]) => pattern.test(text))?.[0] ?? "";
}

function cellText(value) {
  return value === null || value === undefined ? "<none>" : String(value);
}

/** The columns that are shown first where there is little room. */
const RANKS = { Name: 0, Status: 1, Phase: 1, Message: 1 };
const LEAST = 20; // characters of a column that has the rest of the room

/**
 * Returns which columns are shown, each with its width in characters, while there is room: names
 * always, then states, the other columns of kubectl and those of `-o wide`; a pod's node wherever all
 * columns of kubectl are.
 *
 * @param {{title: string, isWide: boolean}[]} columns
 * @param {{cells: string[]}[]} rows
 * @param {number} room in characters
 * @returns {{index: number, title: string, width: number}[]}
 */
export function shownColumns(columns, rows, room) {
  const most = Math.min(44, Math.max(LEAST, Math.floor(0.6 * room))); // a long name leaves room for its status
  const sized = columns.map(({ title, isWide }, index) => {
    let width = title.length + 3;
    for (const { cells } of rows.slice(0, 300)) width = Math.max(width, (cells[index] ?? "").length + 1);
    return { index, title, isWide, width: Math.min(width, most) };
  });
  const hasAll = sized.reduce((rest, { isWide, width }) => (isWide ? rest : rest - width - 2), room) >= 0;
  const rankOf = ({ title, isWide }) => (isWide ? 3 : (RANKS[title] ?? 2));
  const kept = new Set();
  let left = room;
  for (const column of sized.toSorted((one, other) => rankOf(one) - rankOf(other))) {
    const { title, isWide } = column;
    if (!isWide && left >= LEAST + 2) column.width = Math.min(column.width, left - 2);
    if (rankOf(column) && !(title === "Node" && hasAll) && left < column.width + 2) continue;
    left -= column.width + 2;
    kept.add(column);
  }
  return sized.filter((column) => kept.has(column));
}
