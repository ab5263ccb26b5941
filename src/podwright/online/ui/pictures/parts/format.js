// Texts of quantities, durations and times, as kubectl writes them.

const BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];

/** Returns a number of bytes as a short binary quantity, such as 15.5Gi. */
export function bytesText(bytes) {
  let value = bytes;
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit < BINARY.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${rounded(value)}${BINARY[unit]}`;
}

const EXPONENTS = { n: -9, u: -6, m: -3, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };
const POWERS_OF_1024 = { Ki: 1, Mi: 2, Gi: 3, Ti: 4, Pi: 5, Ei: 6 };

/** Returns the value of a quantity of the API, such as 1536 for 1.5Ki; NaN if it is none. */
export function quantityValue(text) {
  const [, number, suffix = ""] = /^([-+]?[\d.]+(?:[eE][-+]?\d+)?)([KMGTPE]i|[numkMGTPE])?$/.exec(String(text)) ?? [];
  return Number(number) * (suffix in POWERS_OF_1024 ? 1024 ** POWERS_OF_1024[suffix] : 10 ** (EXPONENTS[suffix] ?? 0));
}

/** Returns milli-CPU as a quantity: 500m, 4, 2.5. */
export function cpuText(milliCpu) {
  return Math.abs(milliCpu) < 1000 && milliCpu !== 0 ? `${Math.round(milliCpu)}m` : rounded(milliCpu / 1000);
}

/** Returns an amount of a resource, in the units of docs/reference/state.md. */
export function amountText(resource, value) {
  if (resource === "cpu") return grouped(cpuText(value));
  if (resource === "memory" || resource.endsWith("storage") || resource.startsWith("hugepages-")) {
    return bytesText(value);
  }
  return grouped(rounded(value));
}

/** Returns a share as a percentage without decimals. */
export function percentText(share) {
  return `${Math.round(share * 100)}%`;
}

/**
 * Returns a duration as kubectl writes ages: 45s, 3m20s, 5h, 3d5h, 2y30d.
 *
 * Upstream: staging/src/k8s.io/apimachinery/pkg/util/duration/duration.go, HumanDuration
 */
export function durationText(milliseconds) {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return seconds % 60 ? `${minutes}m${seconds % 60}s` : `${minutes}m`;
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return minutes % 60 ? `${hours}h${minutes % 60}m` : `${hours}h`;
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (hours < 8 * 24) return hours % 24 ? `${days}d${hours % 24}h` : `${days}d`;
  if (days < 2 * 365) return `${days}d`;
  const years = Math.floor(days / 365);
  return days < 8 * 365 && days % 365 ? `${years}y${days % 365}d` : `${years}y`;
}

/**
 * Returns the time of day of an RFC 3339 time in the reader's zone, such as 14:03:20.
 *
 * @param {string} time
 * @param {number} [digits] so many of the fraction of the second
 */
export function clockText(time, digits = 0) {
  if (!time) return "";
  const fraction = (/\.(\d+)/.exec(time)?.[1] ?? "").slice(0, digits).padEnd(digits, "0");
  return `${new Date(time).toTimeString().slice(0, 8)}${fraction && `.${fraction}`}`;
}

/** Returns the time of day of a moment, with its month and day if its range has several days. */
export function momentText(ns, beginNs, endNs) {
  const [day, first, last] = [ns, beginNs, endNs].map((each) => new Date(timeText(each)).toLocaleDateString("sv"));
  return `${first === last ? "" : `${day.slice(5)} `}${clockText(timeText(ns))}`;
}

/** Returns an RFC 3339 time as date and time of day in UTC, for where `clockText` is shown. */
export function utcText(time) {
  return time ? `${new Date(time).toISOString().slice(0, 19).replace("T", " ")} UTC` : "";
}

/** Returns the nanoseconds since 1970 of an RFC 3339 time in UTC. */
export function timeNs(text) {
  const [, seconds, fraction = ""] = /^([^.Z]*)(?:\.(\d+))?Z?$/.exec(text) ?? [];
  const milliseconds = Date.parse(`${seconds}Z`);
  if (Number.isNaN(milliseconds)) throw new Error(`${text}: must be a time such as 2026-01-01T00:00:00Z`);
  return BigInt(milliseconds) * 1_000_000n + BigInt(fraction.slice(0, 9).padEnd(9, "0"));
}

/** Returns nanoseconds since 1970 as an RFC 3339 time in UTC. */
export function timeText(ns) {
  const date = new Date(Number(ns / 1_000_000n)).toISOString().slice(0, 19);
  const fraction = (((ns % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n).toString().padStart(9, "0");
  return `${date}${fraction === "000000000" ? "" : `.${fraction.replace(/0+$/, "")}`}Z`;
}

/** Returns a number with separators: 5,000. */
export function numberText(value) {
  return value.toLocaleString("en-US");
}

/** Returns a count with its noun: 1 node, 2 nodes. */
export function countText(count, noun) {
  return `${numberText(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/**
 * Returns how much is done and how long the rest takes.
 *
 * @param {{done: number, total?: number}} progress without a total, nobody knows
 * @param {string} noun what is counted
 * @param {number} elapsedMs
 */
export function progressText({ done, total }, noun, elapsedMs) {
  if (!total) return countText(done, noun);
  return `${numberText(done)} of ${countText(total, noun)}, about ${durationText((elapsedMs / Math.max(done, 1)) * (total - done))} left`;
}

/** Returns the next number of 2, 4 or 10 times a power of ten, whose half is a whole number. */
export function roundAbove(count) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, count)));
  return [2, 4, 10].map((factor) => factor * power).find((top) => top >= count);
}

function grouped(text) {
  return text.replace(/^\d{4,}$/, (digits) => numberText(Number(digits)));
}

function rounded(value) {
  const text = Math.abs(value) >= 100 || Number.isInteger(value) ? value.toFixed(0) : value.toFixed(1);
  return text.endsWith(".0") ? text.slice(0, -2) : text;
}
