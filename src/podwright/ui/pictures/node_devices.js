// The devices of a node, and the claims that have them.

import { isAllowed } from "./access.js";

const GROUP = "resource.k8s.io";
const PATH = `/apis/${GROUP}/v1`;

/**
 * @typedef {Object} DeviceRow
 * @property {string} name
 * @property {string} pool
 * @property {string} driver
 * @property {string} details attributes and capacities
 * @property {string[]} taints as kubectl writes them
 * @property {{claim: string, pods: string[]}[]} claims those that the device is allocated to, as
 *   namespace/name, with the pods that they are reserved for
 */

/**
 * Returns the devices that drivers publish for a node; null if the user may not see them.
 *
 * @param {import("./source.js").Source} source
 * @param {string} node
 * @returns {Promise<DeviceRow[] | null>}
 */
export async function devicesOf(source, node) {
  if (!(await isAllowed(source, { verb: "list", group: GROUP, resource: "resourceslices" }))) return null;
  const slices = await source.get(`${PATH}/resourceslices?fieldSelector=${encodeURIComponent(`spec.nodeName=${node}`)}`);
  if (!slices.items.length) return [];
  const canList = await isAllowed(source, { verb: "list", group: GROUP, resource: "resourceclaims" });
  const claims = canList ? await source.get(`${PATH}/resourceclaims`) : { items: [] };
  return deviceRows(slices.items, claims.items);
}

/** Returns the devices of ResourceSlices, with those of ResourceClaims that have them. */
export function deviceRows(slices, claims) {
  const poolOf = ({ spec }) => JSON.stringify([spec.driver, spec.pool.name]);
  const generations = new Map();
  for (const slice of slices) {
    const pool = poolOf(slice);
    generations.set(pool, Math.max(generations.get(pool) ?? 0, slice.spec.pool.generation));
  }
  const users = new Map();
  for (const { metadata, status } of claims) {
    const pods = (status?.reservedFor ?? []).filter(({ resource }) => resource === "pods").map(({ name }) => `${metadata.namespace}/${name}`);
    for (const { driver, pool, device } of status?.allocation?.devices?.results ?? []) {
      const key = JSON.stringify([driver, pool, device]);
      if (!users.has(key)) users.set(key, []);
      users.get(key).push({ claim: `${metadata.namespace}/${metadata.name}`, pods });
    }
  }
  return slices
    .filter((slice) => slice.spec.pool.generation === generations.get(poolOf(slice)))
    .flatMap(({ spec }) =>
      (spec.devices ?? []).map((device) => ({
        name: device.name,
        pool: spec.pool.name,
        driver: spec.driver,
        details: detailsOf(device),
        taints: (device.taints ?? []).map(({ key, value, effect }) => `${key}${value ? `=${value}` : ""}:${effect}`),
        claims: users.get(JSON.stringify([spec.driver, spec.pool.name, device.name])) ?? [],
      })),
    );
}

function detailsOf({ attributes = {}, capacity = {} }) {
  const values = Object.entries(attributes).map(([name, value]) => `${name}=${Object.values(value)[0]}`);
  return [...values, ...Object.entries(capacity).map(([name, { value }]) => `${name}=${value}`)].join(", ");
}
