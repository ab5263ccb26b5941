// What the user may do, by SelfSubjectAccessReviews; what is forbidden is not offered.

const KEPT_MS = 10_000;
const known = new WeakMap();

/**
 * Returns whether the user may do something with a resource, or send a request to a path; the verb of
 * a path is its HTTP method in lower case.
 *
 * @param {import("./source.js").Source} source
 * @param {{verb: string, group?: string, resource?: string, subresource?: string, namespace?: string,
 *   path?: string}} request
 * @returns {Promise<boolean>}
 */
export async function isAllowed(source, { verb, path, group = "", resource, subresource, namespace }) {
  if (!source.isLive) return false;
  const answers = known.get(source) ?? known.set(source, new Map()).get(source);
  const spec = path
    ? { nonResourceAttributes: { verb, path } }
    : { resourceAttributes: { verb, group, resource, subresource, namespace } };
  const key = JSON.stringify(spec);
  const kept = answers.get(key);
  if (kept && Date.now() - kept.time < KEPT_MS) return kept.answer;
  const answer = source
    .send("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectAccessReview",
      spec,
    })
    .then(
      (review) => review.status.allowed === true,
      () => false,
    );
  answers.set(key, { time: Date.now(), answer });
  return answer;
}

/** Returns what the user may do with nodes. */
export async function nodeRights(source) {
  const [patch, remove, evict, fail] = await Promise.all([
    isAllowed(source, { verb: "patch", resource: "nodes" }),
    isAllowed(source, { verb: "delete", resource: "nodes" }),
    isAllowed(source, { verb: "create", resource: "pods", subresource: "eviction" }),
    isAllowed(source, { verb: "post", path: "/podwright/v1/nodes/any/fail" }),
  ]);
  return { cordon: patch, drain: patch && evict, remove, fail };
}
