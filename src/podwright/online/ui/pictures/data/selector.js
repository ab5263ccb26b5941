// Label expressions, as kubectl's --selector reads them.

const KEY = /^(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9](?:[-\w.]{0,61}[A-Za-z0-9])?$/;
const VALUE = /^(?:[A-Za-z0-9](?:[-\w.]{0,61}[A-Za-z0-9])?)?$/;

/** @typedef {{key: string, operator: "in" | "notin" | "exists" | "!", values: string[]}} Requirement */

/**
 * Returns the requirements of an expression such as `zone in (a,b),!spot,tier!=web`.
 *
 * @param {string} text
 * @returns {Requirement[]}
 * @throws {Error} if it is not valid; the message says which part
 */
export function parseSelector(text) {
  return parts(text).map(requirement);
}

/**
 * Returns whether labels meet all requirements.
 *
 * @param {Requirement[]} requirements
 * @param {Object<string, string>} labels
 */
export function matches(requirements, labels) {
  return requirements.every(({ key, operator, values }) => {
    const has = Object.hasOwn(labels, key);
    if (operator === "exists") return has;
    if (operator === "!") return !has;
    // As in Kubernetes, a label that is absent is not among the values.
    return operator === "in" ? has && values.includes(labels[key]) : !has || !values.includes(labels[key]);
  });
}

/** Splits at the commas outside parentheses. */
function parts(text) {
  const found = [];
  let depth = 0;
  let begin = 0;
  for (let at = 0; at <= text.length; at++) {
    const character = text[at];
    if (character === "(") depth += 1;
    if (character === ")") depth -= 1;
    if (depth < 0 || depth > 1) throw new Error(`${text}: the parentheses do not match`);
    if (at === text.length || (character === "," && depth === 0)) {
      found.push(text.slice(begin, at).trim());
      begin = at + 1;
    }
  }
  if (depth) throw new Error(`${text}: a ) is missing`);
  if (found.length === 1 && found[0] === "") return [];
  if (found.includes("")) throw new Error(`${text}: a comma without an expression`);
  return found;
}

function requirement(part) {
  const set = /^(\S+)\s+(in|notin)\s*\(([^)]*)\)$/.exec(part);
  if (set) return checked(part, set[1], set[2], set[3].split(",").map((value) => value.trim()));
  const equality = /^([^=!\s]+)\s*(==|=|!=)\s*(.*)$/.exec(part);
  if (equality) {
    return checked(part, equality[1], equality[2] === "!=" ? "notin" : "in", [equality[3].trim()]);
  }
  if (part.startsWith("!")) return checked(part, part.slice(1).trim(), "!", []);
  return checked(part, part, "exists", []);
}

function checked(part, key, operator, values) {
  if (!KEY.test(key)) {
    throw new Error(`${part}: expected KEY, !KEY, KEY=VALUE, KEY!=VALUE, KEY in (A,B) or KEY notin (A,B)`);
  }
  for (const value of values) if (!VALUE.test(value)) throw new Error(`${part}: ${value} is not a label value`);
  return { key, operator, values };
}
