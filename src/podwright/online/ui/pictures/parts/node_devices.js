// The devices of a node, and the claims that have them.

import { isAllowed } from "../data/access.js";
import { quantityValue } from "./format.js";

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
 * @property {boolean} isFree whether it is not allocated, and the counters that it shares with other
 *   devices, such as the partitions of one card, suffice
 */

/**
 * Returns the devices that drivers publish for a node; null if the user may not see them.
 *
 * @param {import("../data/source.js").Source} source
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
  const current = slices.filter((slice) => slice.spec.pool.generation === generations.get(poolOf(slice)));
  const users = new Map();
  const taking = new Set();
  for (const { metadata, status } of claims) {
    const pods = (status?.reservedFor ?? []).filter(({ resource }) => resource === "pods").map(({ name }) => `${metadata.namespace}/${name}`);
    for (const { driver, pool, device, adminAccess } of status?.allocation?.devices?.results ?? []) {
      const key = JSON.stringify([driver, pool, device]);
      if (!adminAccess) taking.add(key);
      if (!users.has(key)) users.set(key, []);
      users.get(key).push({ claim: `${metadata.namespace}/${metadata.name}`, pods });
    }
  }
  const left = countersLeft(current, taking);
  return current.flatMap(({ spec }) =>
    (spec.devices ?? []).map((device) => {
      const key = JSON.stringify([spec.driver, spec.pool.name, device.name]);
      return {
        name: device.name,
        pool: spec.pool.name,
        driver: spec.driver,
        details: detailsOf(device),
        taints: (device.taints ?? []).map(({ key, value, effect }) => `${key}${value ? `=${value}` : ""}:${effect}`),
        claims: users.get(key) ?? [],
        isFree: !users.has(key) && consumptionOf(spec, device).every(([counter, amount]) => (left.get(counter) ?? 0) >= amount),
      };
    }),
  );
}

/** Returns what the allocated devices leave of the counters of pools. */
function countersLeft(slices, taking) {
  const left = new Map();
  for (const { spec } of slices) {
    for (const { name, counters } of spec.sharedCounters ?? []) {
      for (const [counter, { value }] of Object.entries(counters)) left.set(counterKey(spec, name, counter), quantityValue(value));
    }
  }
  for (const { spec } of slices) {
    for (const device of spec.devices ?? []) {
      if (!taking.has(JSON.stringify([spec.driver, spec.pool.name, device.name]))) continue;
      for (const [counter, amount] of consumptionOf(spec, device)) left.set(counter, (left.get(counter) ?? 0) - amount);
    }
  }
  return left;
}

function consumptionOf(spec, { consumesCounters = [] }) {
  return consumesCounters.flatMap(({ counterSet, counters }) =>
    Object.entries(counters).map(([counter, { value }]) => [counterKey(spec, counterSet, counter), quantityValue(value)]),
  );
}

function counterKey({ driver, pool }, set, counter) {
  return JSON.stringify([driver, pool.name, set, counter]);
}

function detailsOf({ attributes = {}, capacity = {} }) {
  const values = Object.entries(attributes).map(([name, value]) => `${name}=${Object.values(value)[0]}`);
  return [...values, ...Object.entries(capacity).map(([name, { value }]) => `${name}=${value}`)].join(", ");
}
