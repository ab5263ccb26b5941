"""Which pods the quotas of their namespaces reject, for a dry run without a server."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from podwright.apimachinery.objects import Document, KubernetesObject, Pod, encode
from podwright.cluster.api.admission import QuotaEvaluators
from podwright.cluster.api.admission.amounts import (
    ZERO,
    Amounts,
    add,
    amounts_of,
    masked,
    without_zeros,
)
from podwright.cluster.api.admission.quota.evaluators import scope_requirements
from podwright.cluster.api.admission.quota.resource_quota import exceeded_text
from podwright.cluster.store import GroupKind, ObjectStore, kind_of

_QUOTA: Final[GroupKind] = ("", "ResourceQuota")
_NOW_NS: Final = 0
"""Terminating pods count: their grace period is not over."""


class PodQuotas:
    """The quotas among some objects, and what the pods that exist use of them.

    A container without the requests or limits that a quota counts is not an error here: a
    LimitRange may set them.

    Parameters
    ----------
    objects : iterable of KubernetesObject
    existing : iterable of Pod
        The pods that count already.
    """

    def __init__(self, objects: Iterable[KubernetesObject], existing: Iterable[Pod]) -> None:
        self._evaluator = QuotaEvaluators(ObjectStore()).of("", "pods")
        self._quotas: dict[str, list[tuple[str, Amounts, list[Document]]]] = {}
        self._used: dict[str, Amounts] = {}
        for obj in objects:
            if kind_of(obj) == _QUOTA:
                document = encode(obj)
                spec: dict[str, Any] = document.get("spec") or {}
                hard = amounts_of(spec.get("hard"))
                counted = masked(hard, self._evaluator.matching(hard.keys()))
                entry = (obj.name, counted, scope_requirements(document))
                self._quotas.setdefault(obj.namespace, []).append(entry)
                self._used[obj.key] = dict.fromkeys(counted, ZERO)
        if self._quotas:
            for pod in existing:
                self.rejection(pod, is_forced=True)

    def rejection(self, pod: Pod, *, is_forced: bool = False) -> str:
        """Count a new pod; return why it is rejected, in upstream's words, or "" if it is not.

        Parameters
        ----------
        is_forced : bool
            Whether to count the pod in any case.
        """
        quotas = self._quotas.get(pod.namespace)
        if not quotas:
            return ""
        document = encode(pod)
        usage = self._evaluator.usage(document, _NOW_NS)
        charged: list[tuple[Amounts, Amounts]] = []
        for name, hard, scopes in sorted(quotas, key=lambda entry: entry[0]):
            if not all(self._evaluator.matches_scope(each, document) for each in scopes):
                continue
            used = self._used[f"{pod.namespace}/{name}"]
            requested = masked(without_zeros(usage), hard)
            if not is_forced and (text := exceeded_text(name, requested, used, hard)):
                return text
            charged.append((used, requested))
        for used, requested in charged:
            add(used, requested)
        return ""
