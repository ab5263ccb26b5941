// The parts of an explanation as DOM nodes: message, reasons, remedies, preemption, extenders.

import { applyText, changeText } from "./actions.js";
import { address } from "../data/address.js";
import { h, innerLink, more, table } from "./dom.js";
import { FITS } from "./node_colors.js";
import { clockText, countText, numberText, utcText } from "./format.js";
import { notExaminedText } from "./matrix_rows.js";

const NODES_SHOWN = 6;
const EXTENDER_NODES_SHOWN = 20;
const MEMBERS_SHOWN = 100;

/** Returns a link that selects a node. */
export function nodeLink(node) {
  return selecting({ node, pod: null }, node);
}

/** Returns a link that selects a pod. */
export function podLink(pod, text = pod) {
  return selecting({ pod, node: null, attempt: null }, text);
}

function selecting(changes, text) {
  return innerLink(address.link(changes), { class: "name" }, () => address.set(changes), text);
}

/** Returns a title and its content. */
export function section(title, ...content) {
  return h("section", { class: "section stack" }, title ? h("h3", {}, title) : null, ...content);
}

/** Returns the first names of a list as links, and how many more there are. */
export function names(list, link = nodeLink, shown = NODES_SHOWN) {
  const rest = list.length - shown;
  const first = list.slice(0, shown).flatMap((name, index) => (index ? [", ", link(name)] : [link(name)]));
  if (rest <= 0) return h("span", {}, first);
  const all = h("details", { class: "rest" }, h("summary", {}, `and ${numberText(rest)} more`));
  // Made when opened: there may be thousands.
  all.addEventListener(
    "toggle",
    () => all.append(h("div", {}, list.slice(shown).flatMap((name, index) => (index ? [", ", link(name)] : [link(name)])))),
    { once: true },
  );
  return h("span", {}, first, " ", all);
}

/** Returns the nodes grouped by the reason that rejected them. */
export function reasonsSection({ reasons, nodeCount, feasible, notExamined, notExaminedReason }) {
  if (!reasons.length && !feasible.length) return null;
  const rows = [...reasons].sort((a, b) => b.nodes.length - a.nodes.length);
  return section(
    "Nodes by reason",
    h(
      "div",
      { class: "reasons" },
      rows.map(({ reason, plugin, nodes, details }) => reasonRow(reason, plugin, nodes, nodeCount, details)),
      feasible.length ? reasonRow("Fits", null, feasible, nodeCount, [], FITS) : null,
      notExamined.length ? reasonRow(`Not evaluated: ${notExaminedText(notExaminedReason)}`, null, notExamined, nodeCount) : null,
    ),
    reasons.length ? h("p", { class: "small muted" }, "Each node counts for the first plugin that rejects it; one with several reasons counts for each.") : null,
  );
}

/** Returns what each of the closest nodes lacks. */
export function nearestSection({ node, nearest }) {
  if (node || !nearest?.length) return null;
  const rows = nearest.map((each) => [nodeLink(each.node), each.lacks.map((text) => h("div", {}, text))]);
  return section("Closest nodes", table(["Node", "Lacks"], rows));
}

function reasonRow(reason, plugin, nodes, nodeCount, details = [], only = plugin && `${plugin}: ${reason}`) {
  const bar = h("span", { class: "bar" });
  bar.style.setProperty("--share", String(nodeCount ? nodes.length / nodeCount : 0));
  return h(
    "div",
    { class: "reason" },
    h("div", { class: "row" }, h("span", { class: "grow" }, only ? h("button", { class: "link", "data-focus": `only ${only}`, title: "Show these nodes only, or all again", on: { click: () => address.set(address.get().only === only ? { only: null } : { view: null, color: "reason", only }) } }, reason) : reason), plugin ? h("span", { class: "muted small" }, plugin) : null),
    h("div", { class: "row" }, bar, h("span", { class: "num small" }, `${numberText(nodes.length)} of ${numberText(nodeCount)}`)),
    details.map(({ text, nodeCount: count }) => h("div", { class: "small detail" }, `${countText(count, "node")}: ${text}`)),
    h("div", { class: "small" }, names(nodes)),
  );
}

/**
 * Returns what would make the pod fit.
 *
 * @param {any} document the explanation
 * @param {{canApply: boolean, apply: (remedy: any) => void, working: any}} options
 */
export function remediesSection(document, { canApply, apply, working }) {
  if (document.node || document.outcome === "Scheduled") return null;
  const { remedies, adviceLimits } = document;
  const limits = adviceLimits.map((limit) => h("p", { class: "small muted" }, limit));
  if (!remedies.length) {
    return section("What would fix it", h("p", { class: "muted" }, "No single change was found that makes a node fit."), limits);
  }
  const items = remedies.map((remedy, index) => remedyItem(remedy, index, document, { canApply, apply, working }));
  return section("What would fix it", h("ol", { class: "remedies" }, items), limits);
}

function remedyItem(remedy, index, document, { canApply, apply, working }) {
  const { changes, note, replicas } = remedy;
  const effects = (changes ?? []).map(({ effect }) => effect).filter(Boolean);
  const commands = [...new Set([...remedy.commands, ...(changes ?? []).map(({ command }) => command).filter(Boolean)])];
  const others = remedy.victims.length ? `, preempts ${countText(remedy.victims.length, "pod")}` : "";
  const isWorking = working?.remedy === remedy.remedy;
  return h(
    "li",
    {},
    h(
      "div",
      { class: "row" },
      h("div", { class: "grow" }, h("div", { class: "remedy" }, sentence(remedy.remedy)), h("div", { class: "small muted" }, "Verified: lands on ", nodeLink(remedy.node), `, ${numberText(remedy.feasibleNodes)} of ${countText(document.nodeCount, "node")} fit${others}`), replicas ? h("div", { class: "small muted" }, `${sentence(replicasText(replicas))}.`) : null),
      changes && canApply
        ? h("button", { class: index ? "" : "primary", "data-focus": `apply-${index}`, disabled: Boolean(working && !working.error), on: { click: () => apply(remedy) } }, isWorking && !working.error ? "Applying…" : applyText(changes))
        : null,
    ),
    isWorking && working.error ? h("div", { class: "error", role: "alert" }, working.error) : null,
    note ? h("div", { class: "small muted" }, `${sentence(note)}.`) : null,
    effects.map((effect) => h("div", { class: "small effect" }, `${sentence(effect)}.`)),
    changes?.length || commands.length
      ? h(
          "details",
          {},
          h("summary", { class: "small" }, "Requests"),
          commands.map((command) => h("pre", { class: "mono" }, `$ ${command}`)),
          (changes ?? []).map((change) => h("pre", { class: "mono" }, changeText(change))),
        )
      : null,
  );
}

function replicasText({ workload, fit, total, isRollout, kept, placed }) {
  const only = fit < total ? "only " : "";
  if (!isRollout) return `${only}${fit} of ${total} pending replicas of ${workload} fit then`;
  const old = kept && fit < total ? `, ${kept} of the old keep${kept === 1 ? "s" : ""} a node` : "";
  const gain = fit + kept - placed;
  return `${only}${fit} of ${total} replicas of ${workload} fit with it${old}${gain > 0 ? "" : gain ? ": fewer than now" : ": as many as now"}`;
}

function sentence(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Returns who won and how. */
export function winnerSection(document) {
  if (!document.node || document.outcome !== "Scheduled") return null;
  const { winners, tiedNodes, score, feasibleNodes, examinedNodes, nodeCount, run } = document;
  return section(
    "Choice",
    h(
      "dl",
      { class: "facts" },
      fact("Node", nodeLink(document.node)),
      score === null ? null : fact("Score", numberText(score)),
      fact("Feasible nodes", `${numberText(feasibleNodes)} of ${numberText(nodeCount)}${examinedNodes < nodeCount ? `, ${numberText(examinedNodes)} evaluated` : ""}`),
      tiedNodes > 1 ? fact("Tied", h("span", {}, `${countText(tiedNodes, "node")} have the highest score; one was drawn: `, names(winners))) : null,
      run?.then.error ? fact("Not bound", run.then.error) : null,
    ),
  );
}

export function fact(name, value) {
  return [h("dt", {}, name), h("dd", {}, value)];
}

/** Returns the candidates of preemption and the criterion that decided. */
export function preemptionSection(document) {
  const found = document.preemption;
  if (!found) return null;
  const { candidates, chosen, criterion, triedNodes, nodesWhereRoomMayHelp, rejections, equallyGood } = found;
  if (!candidates.length && !triedNodes && !rejections.length) return null;
  const facts = h(
    "dl",
    { class: "facts" },
    fact("Tried", `${countText(triedNodes, "node")} of ${numberText(nodesWhereRoomMayHelp)} where room may help`),
    chosen ? fact("Chosen", nodeLink(chosen)) : null,
    criterion ? fact("Decided by", criterion) : null,
    equallyGood.length > 1 ? fact("Equally good", names(equallyGood)) : null,
  );
  const rows = candidates.map((one) => [
    [nodeLink(one.node), one.node === chosen ? [" ", h("span", { class: "tag good" }, "chosen")] : null],
    names(one.victims.map(({ pod }) => pod), podLink, 4),
    one.violatedBudgets,
  ]);
  const budgets = h("span", { title: "How many victims violate a PodDisruptionBudget" }, "PDBs violated");
  const refused = rejections.map(({ reasons, nodeCount }) => h("p", { class: "small" }, `${countText(nodeCount, "node")}: ${reasons.join(", ")}`));
  return section("Preemption", facts, rows.length ? table(["Node", "Victims", [budgets, "num"]], rows) : null, refused);
}

/** Returns what each extender answered. */
export function extendersSection({ extenders }) {
  if (!extenders.length) return null;
  return section(
    "Extenders",
    extenders.map(({ url, candidates, kept, rejected, scores, errors }, index) =>
      h(
        "div",
        { class: "extender" },
        h("div", { class: "row wrap" }, h("span", { class: "name" }, url), h("span", { class: "muted small" }, `extenders[${index}]`)),
        h("div", { class: "small" }, candidates === null ? "Was not called." : `Kept ${kept.length} of ${countText(candidates.length, "node")}.`),
        Object.entries(rejected).slice(0, EXTENDER_NODES_SHOWN).map(([node, { reasons }]) => h("div", { class: "small" }, "Rejected ", nodeLink(node), `: ${reasons.join(", ")}`)),
        addedScores(scores ?? {}),
        (Array.isArray(errors) ? errors : Object.values(errors ?? {})).map((error) => h("div", { class: "error" }, String(error))),
      ),
    ),
  );
}

/** Returns what an extender adds to the totals of nodes, the greatest first. */
function addedScores(scores) {
  const added = Object.entries(scores).filter(([, score]) => score).sort(([, a], [, b]) => b - a);
  if (!added.length) return null;
  const shown = added.slice(0, EXTENDER_NODES_SHOWN).flatMap(([node, score], index) => [index ? ", " : "", nodeLink(node), ` +${score}`]);
  const rest = added.length - EXTENDER_NODES_SHOWN;
  return h("div", { class: "small" }, "Adds to the totals: ", shown, rest > 0 ? ` and of ${countText(rest, "other node")}` : null);
}

/** Returns the workload or gang of the pod. */
export function workloadSection({ workload }) {
  if (!workload) return null;
  const unfit = workload.unfit?.length ? h("div", {}, `Without a node: `, names(workload.unfit, podLink)) : null;
  return section(`${workload.kind} ${workload.name}`, h("p", {}, `${countText(workload.pods, "pod")} are scheduled together.`), unfit);
}

/**
 * Returns the members of the pod's group, which are scheduled together.
 *
 * @param {{name: string, members: import("../data/pods.js").PodRow[]} | null} group
 * @param {string} pod the one that is shown
 */
export function groupSection(group, pod) {
  if (!group) return null;
  const { name, members } = group;
  const placed = members.filter(({ node }) => node).length;
  const rows = members.slice(0, MEMBERS_SHOWN).map((each) => [each.pod === pod ? h("strong", { class: "name" }, each.pod) : podLink(each.pod), each.status, each.node ? nodeLink(each.node) : ""]);
  return section(
    `Pod group ${name}`,
    h("p", { class: "small muted" }, `${countText(members.length, "member")}, ${placed} with a node; they are scheduled together.`),
    table(["Member", "Status", "Node"], rows),
    more(members.length - MEMBERS_SHOWN, "member"),
  );
}

/** Returns the attempts over time. */
export function attemptsSection(attempts, shown) {
  if (!attempts.length) return null;
  const rows = attempts.toReversed().slice(0, 50).map((each) => [
    attemptLink(String(each.attempt), shown),
    h("span", { class: "mono", title: utcText(each.time) }, clockText(each.time, 3)),
    each.node ? ["Scheduled to ", nodeLink(each.node)] : each.nominatedNode ? ["Nominated to ", nodeLink(each.nominatedNode)] : each.outcome,
  ]);
  return section("Attempts", table([["No.", "num"], "Time", "Result"], rows));
}

function attemptLink(attempt, shown) {
  const isShown = attempt === shown;
  return h("button", { class: "link", "aria-current": isShown ? "true" : null, "data-focus": `attempt-${attempt}`, title: `Show attempt ${attempt}`, on: { click: () => address.set({ attempt: isShown ? null : attempt }) } }, isShown ? `▸ ${attempt}` : attempt);
}
