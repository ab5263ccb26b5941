"""Builds a cluster, an algorithm and extenders from a case of the v1.16 families."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from podwright.apimachinery.objects import Pod
from podwright.apimachinery.schema import decode
from podwright.scheduler.classic import (
    Algorithm,
    ClassicCluster,
    ClassicScheduler,
    Extender,
    ExtenderAnswer,
    ExtenderError,
    ExtenderSettings,
    Failure,
    ScoreTable,
    algorithm_from_policy,
    algorithm_of_provider,
    read_policy,
    request_body,
)
from podwright.testing.parity.comparison import Case


def classic_cluster_of(objects: Iterable[dict[str, Any]]) -> ClassicCluster:
    """Put a case's objects into a cluster."""
    cluster = ClassicCluster()
    for document in objects:
        cluster.put(decode(document))
    return cluster


def classic_algorithm_of(case: Case) -> Algorithm:
    """Return the algorithm of a case's policy or provider."""
    weight = case.get("hard_pod_affinity_symmetric_weight", 1)
    if "policy" in case:
        policy = read_policy(case["policy"], hard_pod_affinity_weight=weight)
        return algorithm_from_policy(policy, hard_pod_affinity_weight=weight)
    provider = case.get("provider", "DefaultProvider")
    return algorithm_of_provider(provider, hard_pod_affinity_weight=weight)


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
            return ExtenderAnswer(
                tuple(reply.get("nodes") or ()), reply.get("failed", {}), reply.get("error", "")
            )

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


class _HostPriority(msgspec.Struct):
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
