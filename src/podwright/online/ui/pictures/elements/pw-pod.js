// The inspector of a pod: why it is where it is, and what would change that.

import { isAllowed } from "../data/access.js";
import { applyChanges, deletePod, movePod } from "../parts/actions.js";
import { address } from "../data/address.js";
import { PwElement, define, h, render } from "../parts/dom.js";
import {
  attemptsSection,
  extendersSection,
  fact,
  groupSection,
  nearestSection,
  nodeLink,
  preemptionSection,
  reasonsSection,
  remediesSection,
  section,
  winnerSection,
  workloadSection,
} from "../parts/explanation.js";
import { clockText, timeNs, utcText } from "../parts/format.js";
import { model, throttled } from "../data/model.js";
import { findPod, groupOf, ownPodPath } from "../data/pods.js";
import { sheets } from "../parts/styles.js";
import { NO_SCHEDULER } from "../data/waiting.js";
import "../charts/pw-matrix.js";
import "./pw-what-if.js";

const STYLE = `
header { padding: calc(1.5 * var(--pw-space)) calc(2 * var(--pw-space)); }
header h2 { font-family: var(--pw-mono); overflow-wrap: anywhere; unicode-bidi: isolate; }
.message { font-size: 14px; line-height: 1.5; overflow-wrap: anywhere; }
.reasons { display: grid; gap: calc(1.5 * var(--pw-space)); }
.bar { flex: 1; height: 6px; border-radius: 3px; background: var(--pw-hover); position: relative; overflow: hidden; }
.bar::after { content: ""; position: absolute; inset: 0; width: calc(100% * var(--share)); background: var(--pw-accent); }
.remedies > li { overflow-wrap: anywhere; padding: var(--pw-space) 0; border-top: 1px solid var(--pw-line); }
.remedies > li:first-child { border-top: 0; padding-top: 0; }
.remedy { font-weight: 600; overflow-wrap: anywhere; }
.remedies .row { flex-wrap: wrap; }
.remedies .grow { flex: 1 1 200px; }
.remedies button { max-width: 100%; height: auto; white-space: normal; text-align: start; }
details { font-size: var(--pw-type-small); }
details.rest { display: inline; }
details.rest > summary { display: inline; color: var(--pw-accent); cursor: pointer; }
summary { cursor: pointer; color: var(--pw-muted); }
pre { margin: 4px 0 0; white-space: pre-wrap; overflow-wrap: anywhere; }
.extender { display: grid; gap: 2px; }
.landed { padding: var(--pw-space) calc(2 * var(--pw-space)); background: color-mix(in srgb, var(--pw-good) 14%, transparent); border-left: 3px solid var(--pw-good); }
`;

const NO_ATTEMPT =
  "The scheduler's log has no attempt of this pod up to this time: it was created with a node, or the log starts later.";

class PodInspector extends PwElement {
  constructor() {
    super();
    this.root.adoptedStyleSheets = sheets(STYLE);
    this.body = h("div", { role: "region", "aria-label": "Pod" });
    this.matrix = h("pw-matrix", { hidden: true });
    this.whatIf = h("pw-what-if", { hidden: true });
    this.attemptList = h("div");
    this.root.append(this.body, this.attemptList, this.whatIf, this.matrix);
    this.look = throttled(1000, () => this.#look());
    this.#clear("");
  }

  #clear(pod) {
    this.pod = pod;
    this.object = null;
    this.group = null;
    this.document = null;
    this.query = undefined;
    this.attempts = [];
    this.error = "";
    this.isGone = false;
    this.working = null;
    this.actionError = "";
    this.landed = "";
    this.loadedOf = "";
    this.allowed = {};
  }

  start() {
    const data = model();
    this.undo.push(data.use());
    this.listen(address, "change", () => this.#selected());
    this.listen(data, "live", () => data.isPast || this.look());
    this.listen(data, "mode", () => this.#selected());
    this.listen(data, "connection", () => this.invalidate());
    this.every(3000, () => data.isPast || this.look());
    this.#selected();
  }

  #selected() {
    const { pod = "", attempt = "", at = "" } = address.get();
    const name = pod.includes("/") ? pod : pod && `default/${pod}`;
    const key = [name, attempt, at, model().isPast].join(" ");
    if (name !== this.pod) this.#clear(name);
    if (key !== this.key) {
      this.key = key;
      this.loadedOf = "";
      if (name) this.#look(); // at once, however long the pod before took
    }
    this.invalidate();
  }

  /** Looks whether the pod has changed; if so its explanation is loaded again. */
  async #look() {
    const { pod, key } = this;
    const { source, isPast, isPlaying } = model();
    if (!pod || isPlaying) return;
    try {
      if (!isPast && source.isLive) {
        const object = await findPod(source, pod);
        if (key !== this.key) return;
        this.isGone = object === null;
        if (object) {
          this.#placed(object);
          this.object = object;
          const group = await groupOf(source, object);
          if (key !== this.key) return;
          if (JSON.stringify(group) !== JSON.stringify(this.group)) {
            this.group = group;
            this.invalidate();
          }
        } else if (this.working) {
          return; // it is created again with the change
        }
      }
    } catch (error) {
      if (key !== this.key) return;
      this.error = error.message;
      this.invalidate();
      return;
    }
    const version = this.isGone ? "gone" : (this.object?.metadata.resourceVersion ?? "past");
    if (`${key} ${version}` === this.loadedOf) return;
    this.loadedOf = `${key} ${version}`;
    await this.#explain(pod, key);
  }

  #placed(object) {
    const node = object.spec.nodeName ?? "";
    if (this.object && !this.object.spec.nodeName && node) this.landed = node;
    if (node) this.working = null;
  }

  /** Explains again, because the cluster may have changed. */
  again() {
    this.loadedOf = "";
    this.look();
  }

  async #explain(pod, key) {
    const { source } = model();
    const access = this.#access(pod);
    const names = await model().schedulers();
    if (names?.length === 0) {
      this.document = null;
      this.attempts = [];
      this.error = NO_SCHEDULER;
      this.invalidate();
      return;
    }
    try {
      const [[attempts, found]] = await Promise.all([this.#load(pod, key), access]);
      if (key !== this.key) return;
      this.attempts = attempts;
      this.document = found;
      this.error = found ? "" : NO_ATTEMPT;
    } catch (error) {
      if (key !== this.key) return;
      this.document = null;
      this.error = error.message;
      // A server that did not answer may do so the next time; a rejected request is not repeated.
      if (error.status < 400 || error.status >= 500) this.loadedOf = "";
    }
    this.evaluatedAt = model().live.time;
    if (this.document) {
      const version = this.document.run ? "" : `${this.loadedOf} ${this.evaluatedAt}`;
      this.matrix.query = { pod, query: this.query, version };
      model().explain(pod, this.query, version);
    }
    this.whatIf.of = { pod, object: this.object };
    this.invalidate();
  }

  /** Returns the attempts and the explanation, which goes first if its attempt is known: each keeps a processor busy. */
  async #load(pod, key) {
    const { source } = model();
    const attemptsOf = async () => {
      const { attempts } = await source.get(ownPodPath(pod, "/attempts"));
      // Shown while the explanation is awaited.
      if (key === this.key) {
        this.attempts = attempts;
        this.#drawAttempts();
      }
      return attempts;
    };
    const own = this.#ownQuery();
    const early = own === null ? await attemptsOf() : null;
    const query = own ?? lastQuery(early);
    if (key === this.key) this.query = query;
    this.invalidate();
    const found = query === null ? null : await source.get(ownPodPath(pod, `/explanation${query}`));
    if (!early) attemptsOf().catch(() => {}); // the explanation is shown without them
    return [early ?? this.attempts, found];
  }

  /** Returns which attempt to explain, as a query; null if it depends on the attempts that there are. */
  #ownQuery() {
    const { attempt } = address.get();
    this.shownAttempt = attempt ?? "";
    if (attempt) return `?attempt=${encodeURIComponent(attempt)}`;
    const isPending = this.object && !this.object.spec.nodeName && !this.isGone;
    return isPending && !model().isPast ? "?attempt=now" : null;
  }

  async #access(pod) {
    const { source } = model();
    const namespace = pod.split("/")[0];
    const [patch, create, remove, move] = await Promise.all([
      isAllowed(source, { verb: "patch", resource: "pods", namespace }),
      isAllowed(source, { verb: "create", resource: "pods", namespace }),
      isAllowed(source, { verb: "delete", resource: "pods", namespace }),
      isAllowed(source, { verb: "post", path: `/podwright/v1/queue/${pod}/move` }),
    ]);
    this.allowed = { apply: patch || create, remove, move: move && model().hasScheduler };
  }

  async #apply(remedy) {
    this.working = { remedy: remedy.remedy };
    this.invalidate();
    try {
      await applyChanges(model().source, remedy.changes);
      model().refresh();
      this.again();
    } catch (error) {
      this.working = { remedy: remedy.remedy, error: error.message };
    }
    this.invalidate();
  }

  async #act(action) {
    this.actionError = "";
    try {
      await action(model().source, this.pod);
    } catch (error) {
      this.actionError = error.message;
    }
    this.look();
    this.invalidate();
  }

  update() {
    const { pod, document } = this;
    this.matrix.hidden = !document;
    this.whatIf.hidden = !document || !model().isEditable;
    if (!pod) {
      render(this.body, h("div", { class: "empty" }, "Select a pod or a node to see why it is as it is."));
      return;
    }
    render(this.body, this.#header(), this.#content());
    this.#drawAttempts();
  }

  /** Draws the attempts by themselves: they arrive after the explanation, whose buttons stay. */
  #drawAttempts() {
    const current = this.shownAttempt || (this.document?.run ? String(this.document.run.attempt) : "");
    render(this.attemptList, this.pod ? attemptsSection(this.attempts, current) : null);
  }

  #header() {
    const { metadata, spec, status } = this.object ?? {};
    const past = model().isPast ? model().past?.pod(this.pod) : null;
    const node = model().isPast ? past?.node : spec?.nodeName;
    const phase = model().isPast ? past?.status : metadata?.deletionTimestamp ? "Terminating" : status?.phase;
    const owner = metadata?.ownerReferences?.find(({ controller }) => controller);
    const requests = spec ? requestText(spec) : "";
    const editable = model().isEditable && !this.isGone;
    return h(
      "header",
      { class: "stack" },
      h("div", { class: "row" }, h("span", { class: "muted grow" }, "Pod"), this.isGone ? h("span", { class: "tag bad" }, "Deleted") : phase ? h("span", { class: `tag ${phase === "Running" ? "good" : phase === "Pending" ? "warn" : ""}` }, phase) : null),
      h("h2", {}, this.pod),
      h(
        "dl",
        { class: "facts" },
        node ? fact("Node", nodeLink(node)) : null,
        requests ? fact("Requests", h("span", { class: "mono" }, requests)) : null,
        spec?.priority ? fact("Priority", spec.priority) : null,
        owner ? fact("Controlled by", `${owner.kind}/${owner.name}`) : null,
        spec && spec.schedulerName !== "default-scheduler" ? fact("Scheduler", spec.schedulerName) : null,
      ),
      editable && (this.allowed.move || this.allowed.remove)
        ? h(
            "div",
            { class: "row wrap" },
            this.allowed.move && !node ? h("button", { "data-focus": "move", title: "Try it now, whatever rejected it", on: { click: () => this.#act(movePod) } }, "Move to active queue") : null,
            this.allowed.remove ? h("button", { "data-focus": "delete", on: { click: () => this.#act(deletePod) } }, "Delete") : null,
          )
        : null,
      this.actionError ? h("div", { class: "error", role: "alert" }, this.actionError) : null,
      this.landed ? h("div", { class: "landed", role: "status" }, "Scheduled to ", nodeLink(this.landed), ".") : null,
    );
  }

  #content() {
    const { document } = this;
    if (this.error === NO_SCHEDULER) {
      const scheduled = this.object?.status?.conditions?.find(({ type }) => type === "PodScheduled");
      return section(scheduled?.message ? "Condition PodScheduled" : "", scheduled?.message ? h("p", { class: "message" }, scheduled.message) : null, h("p", { class: "muted" }, this.error));
    }
    if (this.error === NO_ATTEMPT && !document) return section("", h("p", { class: "muted" }, this.error));
    if (this.error && !document) return section("", h("div", { class: "error", role: "alert" }, this.error));
    if (!document) return this.#known();
    return [
      document.message ? section(this.#messageTitle(), h("p", { class: "message" }, document.message)) : this.#lastMessage(),
      remediesSection(document, {
        canApply: model().isEditable && this.allowed.apply,
        apply: (remedy) => this.#apply(remedy),
        working: this.working,
      }),
      winnerSection(document),
      reasonsSection(document),
      nearestSection(document),
      preemptionSection(document),
      workloadSection(document),
      model().isPast ? null : groupSection(this.group, this.pod),
      extendersSection(document),
    ];
  }

  /** Returns what the pod itself says, and what is being computed: on a large cluster that takes seconds. */
  #known() {
    const scheduled = model().isPast ? null : this.object?.status?.conditions?.find(({ type }) => type === "PodScheduled");
    const isPresent = this.query === "?attempt=now";
    const work = isPresent ? "Evaluating each node, and the changes that would make one fit…" : "Replaying the scheduler's log up to the attempt…";
    const message = scheduled?.status === "False" ? scheduled.message : "";
    return [
      section(message ? "Condition PodScheduled" : "", message ? h("p", { class: "message" }, message) : null, h("p", { class: "muted", role: "status" }, this.query === undefined ? "Loading…" : work)),
    ];
  }

  /** Returns why a pod is pending for which there is a node now: its group may be incomplete, or its turn has not come. */
  #lastMessage() {
    const scheduled = this.object?.status?.conditions?.find(({ type, status }) => type === "PodScheduled" && status === "False");
    if (this.query !== "?attempt=now" || !scheduled?.message) return null;
    return section("Why it is pending", h("p", { class: "message" }, scheduled.message), h("p", { class: "muted" }, "That was its last attempt. Alone, it would be placed now:"));
  }

  #messageTitle() {
    if (this.query === "?attempt=now") {
      const again = h("button", { class: "link small", "data-focus": "again", on: { click: () => this.again() } }, "evaluate again");
      return h("span", {}, "Why it is pending ", h("span", { class: "muted small", title: utcText(this.evaluatedAt) }, `as of ${clockText(this.evaluatedAt)} · `), again);
    }
    return `Attempt ${this.document.run?.attempt ?? this.shownAttempt}`;
  }

  focus() {
    this.body.querySelector("button, a")?.focus();
  }
}

/** Returns the query of the last attempt up to the time that is shown; null if there is none. */
function lastQuery(attempts) {
  const { isPast, past } = model();
  const found = isPast && past ? attempts.filter(({ time }) => timeNs(time) <= past.timeNs) : attempts;
  return found.length ? `?attempt=${found.at(-1).attempt}` : null;
}

function requestText(spec) {
  const containers = spec.containers ?? [];
  const total = new Map();
  for (const { resources } of containers) {
    for (const [name, quantity] of Object.entries(resources?.requests ?? {})) {
      if (!total.has(name)) total.set(name, []);
      total.get(name).push(quantity);
    }
  }
  return [...total].map(([name, quantities]) => `${name} ${quantities.join(" + ")}`).join(", ");
}

define("pw-pod", PodInspector);
