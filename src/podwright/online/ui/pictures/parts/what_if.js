// What a user writes into the forms of comparisons, as a request of POST /podwright/v1/what-if.

const EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/**
 * Returns a toleration of a text as kubectl writes taints: KEY, KEY=VALUE, KEY:EFFECT, KEY=VALUE:EFFECT.
 *
 * @param {string} text
 */
export function parseToleration(text) {
  const [, key, value, effect] = /^([^=:\s]+)(?:=([^:\s]*))?(?::(\S+))?$/.exec(text.trim()) ?? [];
  if (!key) throw new Error(`${text}: expected KEY, KEY=VALUE or KEY=VALUE:EFFECT`);
  if (effect && !EFFECTS.includes(effect)) throw new Error(`${text}: ${effect} is not one of ${EFFECTS.join(", ")}`);
  const toleration = value === undefined ? { key, operator: "Exists" } : { key, operator: "Equal", value };
  return effect ? { ...toleration, effect } : toleration;
}

/**
 * Returns weights of a text such as `NodeResourcesFit:5,ImageLocality:2`, the form of the address.
 *
 * @param {string} text
 * @returns {Object<string, number>}
 */
export function parseWeights(text) {
  const weights = {};
  for (const part of text.split(",").map((one) => one.trim()).filter(Boolean)) {
    const [, plugin, weight] = /^([^:\s]+)\s*:\s*(\d+)$/.exec(part) ?? [];
    if (!plugin || Number(weight) < 1) throw new Error(`${part}: expected PLUGIN:WEIGHT, with a weight of 1 or more`);
    weights[plugin] = Number(weight);
  }
  return weights;
}

/** Returns weights as the address has them. */
export function weightsText(weights) {
  return Object.entries(weights)
    .map(([plugin, weight]) => `${plugin}:${weight}`)
    .join(",");
}

/** Returns weights as a KubeSchedulerConfiguration that changes nothing else; "" for none. */
export function configurationText(weights) {
  const plugins = Object.entries(weights).map(([plugin, weight]) => `      - {name: ${plugin}, weight: ${weight}}\n`);
  if (!plugins.length) return "";
  return `apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n- plugins:\n    multiPoint:\n      enabled:\n${plugins.join("")}`;
}

/**
 * Returns the fields of a form as the address has them.
 *
 * @param {Object<string, string>} fields
 */
export function fieldsText(fields) {
  return new URLSearchParams(Object.entries(fields).filter(([, value]) => value)).toString();
}

/** Returns the fields of a text that `fieldsText` has made. */
export function parseFields(text) {
  return Object.fromEntries(new URLSearchParams(text));
}

/**
 * Returns the request for a pod that is changed, or whose scheduler is.
 *
 * @param {any} object the pod
 * @param {{weights?: Object<string, number>, toleration?: string, requests?: Object<string, string>,
 *   configuration?: any}} change
 */
export function whatIfOfPod(object, { weights = {}, toleration = "", requests = {}, configuration = null }) {
  const { metadata, spec } = object;
  const name = `${metadata.namespace}/${metadata.name}`;
  const patch = {};
  // The list is replaced by a strategic merge patch, so it has the current ones.
  if (toleration) patch.tolerations = [...(spec.tolerations ?? []), parseToleration(toleration)];
  if (Object.keys(requests).length) patch.containers = [{ name: spec.containers[0].name, resources: { requests } }];
  const body = { pod: name, matrix: true };
  if (Object.keys(weights).length) body.weights = weights;
  if (configuration) body.configuration = configuration;
  if (Object.keys(patch).length) body.patches = [{ kind: "Pod", name, patch: { spec: patch } }];
  return body;
}

/** Returns the score plugins and their weights of a reply of GET /podwright/v1/plugins. */
export function weightsOf({ plugins }) {
  const found = {};
  for (const { name, profiles } of plugins) {
    const weight = profiles.find((profile) => profile.weight !== null)?.weight;
    if (weight !== undefined && weight !== null) found[name] = weight;
  }
  return found;
}

/** Returns where a pod is, in words. */
export function placeText(placement) {
  if (!placement) return "does not exist";
  if (placement.node) return placement.node;
  return placement.nominatedNode ? `pending, nominated to ${placement.nominatedNode}` : "pending";
}

/** Returns why a pod is in another place, with the plugin that decided. */
export function becauseText(because) {
  if (!because) return "";
  if (because.scores?.length) {
    const scores = because.scores.slice(0, 3).map(({ rule, weighted }) => `${rule} ${weighted > 0 ? "+" : "-"}${Math.abs(weighted)}`);
    return `${because.rule ?? "Score"}: ${scores.join(", ")}`;
  }
  const reasons = because.reasons?.join(", ");
  return [because.rule, reasons].filter(Boolean).join(": ") || because.kind;
}
