"""Builds a cluster, an algorithm and extenders from a case of the v1.16 families."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from podwright.apimachinery.objects import Pod, decode_pod
from podwright.apimachinery.schema import decode
from podwright.scheduler.classic import (
    REGISTERED,
    Algorithm,
    ClassicCluster,
    ClassicScheduler,
    Decision,
    Extender,
    ExtenderAnswer,
    ExtenderError,
    ExtenderSettings,
    Failure,
    PolicyError,
    Preemption,
    PriorityMetadata,
    SchedulingError,
    ScoreTable,
    Weighted,
    algorithm_from_policy,
    algorithm_of_provider,
    lower_nominated,
    preempt,
    prioritize,
    read_policy,
    request_body,
    select_host,
)
from podwright.testing.parity.comparison import Case, Check, Comparison, equal, only


def classic_cluster_of(objects: Iterable[dict[str, Any]]) -> ClassicCluster:
    """Put a case's objects into a cluster."""
    cluster = ClassicCluster()
    for document in objects:
        cluster.put(decode(document))
    return cluster


def classic_algorithm_of(case: Case) -> Algorithm:
    """Return the algorithm of a case's policy or provider."""
    weight = _weight_of(case)
    if "policy" in case:
        policy = read_policy(case["policy"], hard_pod_affinity_weight=weight)
        return algorithm_from_policy(policy, hard_pod_affinity_weight=weight)
    provider = case.get("provider", "DefaultProvider")
    return algorithm_of_provider(provider, hard_pod_affinity_weight=weight)


def _weight_of(case: Case) -> int:
    """Return the weight of required affinity of placed pods, as the scheduler is set."""
    weight: int = case.get("hard_pod_affinity_symmetric_weight", 1)
    return weight


class RecordedExtenders:
    """Extenders that reply as a case specifies, and record their calls.

    Parameters
    ----------
    cluster : ClassicCluster
        For the nodes in the bodies of requests.
    answers : sequence of dict
        By index in the policy.
    """

    def __init__(self, cluster: ClassicCluster, answers: Sequence[Mapping[str, Any]]) -> None:
        self._cluster = cluster
        self._answers = answers
        self.calls: list[dict[str, Any]] = []

    def build(self, algorithm: Algorithm) -> list[Extender]:
        """Return the algorithm's extenders, ignorable ones last."""
        return [self._extender(index, settings) for index, settings in algorithm.extenders]

    def _extender(self, index: int, settings: ExtenderSettings) -> Extender:
        answer = self._answers[index] if index < len(self._answers) else {}

        def ask_filter(pod: Pod, node_names: Sequence[str]) -> ExtenderAnswer:
            self._note(index, settings, settings.filter_verb, pod, node_names)
            reply = _body(answer.get("filter", {}), settings, settings.filter_verb)
            # The recorded extenders let pass only nodes that they were sent.
            passed = tuple(name for name in reply.get("nodes") or () if name in node_names)
            return ExtenderAnswer(passed, reply.get("failed", {}), reply.get("error", ""))

        def ask_scores(pod: Pod, node_names: Sequence[str]) -> Mapping[str, int]:
            self._note(index, settings, settings.prioritize_verb, pod, node_names)
            reply = _body(answer.get("prioritize", {}), settings, settings.prioritize_verb)
            scores: Mapping[str, int] = reply.get("scores", {})
            return scores

        return Extender(settings, filter=ask_filter, prioritize=ask_scores)

    def _note(
        self,
        index: int,
        settings: ExtenderSettings,
        verb: str,
        pod: Pod,
        node_names: Sequence[str],
    ) -> None:
        nodes = [self._cluster.node_infos[name] for name in node_names]
        body = request_body(settings, pod, nodes)
        items = (body["Nodes"] or {}).get("items", ())
        sent = body["NodeNames"] or [item["metadata"]["name"] for item in items]
        self.calls.append(
            {"extender": index, "verb": verb, "keys": sorted(body), "nodes": sorted(sent)}
        )


def _body(reply: Mapping[str, Any], settings: ExtenderSettings, verb: str) -> Mapping[str, Any]:
    if reply.get("status", 200) != 200:
        url = f"{settings.url_prefix}/{verb}"
        raise ExtenderError(f"Failed {verb} with extender at URL {url}, code {reply['status']}")
    if "body" in reply:
        # Scores are a list; any other reply is an error, which adds no scores.
        try:
            entries = msgspec.json.decode(reply["body"])
            return {"scores": _scores_of(msgspec.convert(entries, list[dict[str, Any]] | None))}
        except (msgspec.DecodeError, msgspec.ValidationError) as error:
            raise ExtenderError(str(error)) from None
    return reply


class _HostPriority(msgspec.Struct, kw_only=True):
    host: str = ""
    score: int = 0


def _scores_of(entries: list[dict[str, Any]] | None) -> dict[str, int]:
    scores: dict[str, int] = {}
    for entry in entries or ():
        # Go matches keys case-insensitively.
        read = msgspec.convert({key.lower(): value for key, value in entry.items()}, _HostPriority)
        scores[read.host] = scores.get(read.host, 0) + read.score
    return scores


def classic_scheduler_of(case: Case, cluster: ClassicCluster) -> ClassicScheduler:
    """Build the scheduler of a case."""
    algorithm = classic_algorithm_of(case)
    extenders = RecordedExtenders(cluster, case.get("extender_answers", ())).build(algorithm)
    return ClassicScheduler(
        algorithm,
        cluster,
        extenders=extenders,
        non_preempting_priority=case.get("non_preempting_priority", False),
    )


def shown_failures(failures: Sequence[Failure]) -> list[dict[str, str]]:
    """Return reasons in the form of `expect.failed`."""
    return [
        {"predicate": failure.predicate, "reason": failure.reason}
        | ({"detail": failure.detail} if failure.detail else {})
        for failure in failures
    ]


def shown_priorities(algorithm: Algorithm, table: ScoreTable) -> dict[str, Any]:
    """Return scores in the form of `expect.priorities`."""
    shown: dict[str, Any] = {}
    for index, entry in enumerate(algorithm.priorities):
        final = dict(zip(table.node_names, table.rows[index], strict=True))
        mapped = table.mapped[index]
        scores: dict[str, Any] = {"weight": entry.weight}
        if entry.priority.function is not None:
            scores["function"] = final
        elif mapped is None:
            scores["map"] = final
        else:
            scores["map"] = dict(zip(table.node_names, mapped, strict=True))
            scores["reduce"] = final
        shown[entry.priority.name] = scores
    return shown


def shown_totals(table: ScoreTable) -> dict[str, int]:
    """Return totals by node."""
    return dict(zip(table.node_names, table.totals, strict=True))


# Classic decisions, scores, choices and preemption: every field of `expect`.

_PROVIDERS = ("DefaultProvider", "ClusterAutoscalerProvider")
_BESIDE = (
    "MostRequestedPriority",
    "RequestedToCapacityRatioPriority",
    "EqualPriority",
    "ServiceSpreadingPriority",
)
"""Listed in `classic_priorities` beside those of the default provider, with weight 1."""


_FIELDS = frozenset({
    "best", "error", "failed", "feasible", "message", "preemption", "priorities", "total",
})  # fmt: skip
_PREEMPTION = frozenset({
    "acceptable", "candidates", "clear", "clear_nominations", "criterion", "eligible",
    "nominated_node", "potential", "result", "victims",
})  # fmt: skip


def check_classic_decision(case: Case) -> Check:
    """Compare a decision, and what preemption makes of it."""
    expect = case["expect"]
    pod = decode_pod(case["pod"])
    scheduler = classic_scheduler_of(case, classic_cluster_of(case["objects"]))
    decision = scheduler.decide(pod)
    yield from only("", expect, _FIELDS)
    if "error" in expect or decision.error:
        yield Comparison(
            "error",
            expect.get("error"),
            decision.error,
            bool(decision.error) == ("error" in expect),
        )
        return
    yield from compare_decision(expect, scheduler.algorithm, decision)
    if "preemption" in expect:
        found = preempt(scheduler, pod, decision.failed)
        yield from compare_preemption(expect["preemption"], found)
    else:
        needs_room = case["family"] == "classic_preemption" and not decision.node
        yield equal("preemption", None, "missing" if needs_room else None)


def compare_decision(expect: dict[str, Any], algorithm: Algorithm, decision: Decision) -> Check:
    """Compare the nodes of a decision."""
    yield equal("feasible", expect["feasible"], sorted(decision.feasible))
    failed = {name: shown_failures(failures) for name, failures in decision.failed.items()}
    yield equal("failed", expect["failed"], failed)
    yield equal("message", expect.get("message", ""), decision.message)
    table = decision.table
    yield equal(
        "priorities",
        expect.get("priorities"),
        None if table is None else shown_priorities(algorithm, table),
    )
    yield equal("total", expect.get("total"), None if table is None else shown_totals(table))
    yield equal("best", expect.get("best", []), sorted(decision.best))
    yield Comparison(
        "node", expect.get("best"), decision.node, decision.node in expect.get("best", [""])
    )


def compare_preemption(expect: dict[str, Any], found: Preemption) -> Check:
    """Compare every field of `expect.preemption`."""
    yield from only("preemption", expect, _PREEMPTION)
    yield equal("eligible", expect["eligible"], found.is_eligible)
    yield equal("result", expect["result"], found.result)
    if found.is_eligible:
        yield equal("potential", expect["potential"], sorted(found.potential))
    candidates = {
        name: {
            "victims": [pod.key for pod in victims.pods],
            "pdb_violations": victims.violations_count,
        }
        for name, victims in found.candidates.items()
    }
    yield equal("candidates", expect.get("candidates", {}), candidates)
    if not found.node:
        yield equal("nominated_node", expect.get("nominated_node"), None)
        yield equal("clear", expect.get("clear", []), sorted(pod.key for pod in found.clear))
        return
    yield equal("acceptable", expect["acceptable"], sorted(found.choice.node_names))
    yield equal("criterion", expect.get("criterion"), found.choice.criterion)
    yield equal("nominated_node", expect["nominated_node"], found.node)
    yield equal("victims", expect["victims"], [pod.key for pod in found.victims])


def check_classic_preemption(case: Case) -> Check:
    """Compare a decision with its preemption, and the nominations that are cleared."""
    yield from check_classic_decision(case)
    expect = case["expect"].get("preemption", {})
    if "clear_nominations" in expect or "acceptable" in expect:
        pod = decode_pod(case["pod"])
        scheduler = classic_scheduler_of(case, classic_cluster_of(case["objects"]))
        cleared = {
            name: sorted(other.key for other in lower_nominated(scheduler, pod, name))
            for name in expect.get("acceptable", ())
        }
        yield equal(
            "clear_nominations",
            {name: keys for name, keys in expect.get("clear_nominations", {}).items() if keys},
            {name: keys for name, keys in cleared.items() if keys},
        )


# ------------------------------------------------------------------------------ scores


def check_classic_priorities(case: Case) -> Check:
    """Compare the scores of all nodes by all priorities, and the totals of both providers."""
    expect = case["expect"]
    pod = decode_pod(case["pod"])
    cluster = classic_cluster_of(case["objects"])
    weight = _weight_of(case)
    meta = PriorityMetadata(pod, cluster, weight)
    nodes = cluster.nodes()
    beside = tuple(Weighted(REGISTERED[name], 1) for name in _BESIDE)
    algorithm = algorithm_of_provider(hard_pod_affinity_weight=weight)
    wide = msgspec.structs.replace(algorithm, priorities=algorithm.priorities + beside)
    yield from only("", expect, ("best", "priorities", "total"))
    names = [entry.priority.name for entry in wide.priorities]
    yield from only("priorities", expect["priorities"], names)
    for field in ("best", "total"):
        yield from only(field, expect[field], _PROVIDERS)
    for entry in wide.priorities:
        single = msgspec.structs.replace(wide, priorities=(entry,))
        name = entry.priority.name
        try:
            actual = shown_priorities(single, prioritize(single, meta, nodes))[name]
        except SchedulingError as error:
            actual = {"error": str(error)}
        expected = expect["priorities"][name]
        if "error" in expected and "error" in actual:
            actual = expected  # only the presence is compared
        yield equal(name, expected, actual)
    for provider in _PROVIDERS:
        algorithm = algorithm_of_provider(provider, hard_pod_affinity_weight=weight)
        try:
            table = prioritize(algorithm, meta, nodes)
        except SchedulingError:
            yield equal("total", ["error"], list(expect["total"][provider]))
            continue
        yield equal("total", expect["total"][provider], shown_totals(table))
        yield equal("best", expect["best"][provider], sorted(table.best()))


_PRIORITIZE = frozenset({
    "best", "config_error", "error", "extender_calls", "order", "priorities", "select", "total",
})  # fmt: skip


def check_classic_prioritize(case: Case) -> Check:
    """Compare scores under a policy, calls of extenders, and choices by given draws."""
    expect = case["expect"]
    try:
        algorithm = classic_algorithm_of(case)
    except PolicyError as error:
        yield equal("config_error", expect.get("config_error"), error.upstream)
        return
    yield equal("config_error", expect.get("config_error"), None)
    yield from only("", expect, _PRIORITIZE)
    if "config_error" in expect:
        return
    pod = decode_pod(case["pod"])
    cluster = classic_cluster_of(case["objects"])
    nodes = cluster.nodes()
    recorded = RecordedExtenders(cluster, case.get("extender_answers", ()))
    meta = PriorityMetadata(pod, cluster, algorithm.hard_pod_affinity_weight)
    try:
        table = prioritize(algorithm, meta, nodes, recorded.build(algorithm))
    except SchedulingError:
        yield Comparison("error", expect.get("error"), "an error", "error" in expect)
        return
    if "error" in expect:
        yield equal("error", expect["error"], None)
        return
    yield equal("priorities", expect["priorities"], shown_priorities(algorithm, table))
    yield equal("total", expect["total"], shown_totals(table))
    yield equal("best", expect["best"], sorted(table.best()))
    calls = sorted(recorded.calls, key=lambda call: call["extender"])
    yield equal("extender_calls", expect.get("extender_calls", []), calls)
    yield equal("order", sorted(expect["order"]), sorted(table.node_names))
    totals = [expect["total"][name] for name in expect["order"]]
    yield equal("selections", len(case["draws"]), len(expect["select"]))
    for selected in expect["select"]:
        yield from only("select", selected, ("chosen", "draws"))
        asked: list[list[int]] = []
        chosen = select_host(totals, _replay(selected["draws"], asked))
        yield equal("chosen", selected["chosen"], expect["order"][chosen])
        yield equal("draws", selected["draws"], asked)


def _replay(draws: Sequence[Sequence[int]], asked: list[list[int]]) -> Callable[[int], int]:
    def draw_below(n: int) -> int:
        value = draws[len(asked)][1] if len(asked) < len(draws) else 0
        asked.append([n, value])
        return value

    return draw_below
