"""Which evaluator counts the objects of a resource, and what all objects of a namespace use.

Upstream: pkg/quota/v1/evaluator/core/registry.go;
staging/src/k8s.io/apiserver/pkg/quota/v1/resources.go, CalculateUsage
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set as AbstractSet
from typing import Final, TypeAlias

from podwright.apimachinery.objects import Document
from podwright.cluster.api.admission.amounts import ZERO, Amounts, add, amounts_of, masked
from podwright.cluster.api.admission.quota.device_claims import DeviceClaims
from podwright.cluster.api.admission.quota.evaluators import (
    LEGACY_COUNTS,
    Claims,
    Evaluator,
    Services,
    scope_requirements,
)
from podwright.cluster.api.admission.quota.pods import Pods
from podwright.cluster.store import ObjectStore

_COUNT: Final = "count/"

ListObjects: TypeAlias = Callable[[str, str], Iterable[Document]]
"""Returns the objects of a group and a plural in one namespace."""


class QuotaEvaluators:
    """The evaluators of all resources.

    Parameters
    ----------
    store : ObjectStore
        Has the device classes.
    """

    def __init__(self, store: ObjectStore) -> None:
        self._evaluators: dict[tuple[str, str], Evaluator] = {
            ("", "pods"): Pods(),
            ("", "services"): Services(),
            ("", "persistentvolumeclaims"): Claims(),
            ("resource.k8s.io", "resourceclaims"): DeviceClaims(store),
        }

    def of(self, group: str, plural: str) -> Evaluator:
        """Return the evaluator of a resource."""
        # Not kept: a quota names as many resources as a client pleases.
        return self._evaluators.get((group, plural)) or Evaluator(group, plural)

    def resources_of(self, hard: AbstractSet[str]) -> list[tuple[str, str]]:
        """Return the group and the plural of the resources that a quota with these names counts."""
        found = {key: None for key, own in self._evaluators.items() if own.matching(hard)}
        for name in hard:
            if name.startswith(_COUNT):
                plural, _, group = name.removeprefix(_COUNT).partition(".")
                found[group, plural] = None
            elif name in LEGACY_COUNTS:
                found["", name] = None
        return list(found)

    def usage(self, quota: Document, list_objects: ListObjects, now_ns: int) -> Amounts:
        """Return what the objects of a quota's namespace use of what it limits.

        Parameters
        ----------
        quota : dict
        list_objects : callable
        now_ns : int
            The current time: pods count until their grace period is over.
        """
        hard = amounts_of((quota.get("spec") or {}).get("hard"))
        scopes = scope_requirements(quota)
        used: Amounts = {}
        for group, plural in self.resources_of(hard.keys()):
            evaluator = self.of(group, plural)
            for name in evaluator.matching(hard.keys()):
                used.setdefault(name, ZERO)
            for obj in list_objects(group, plural):
                if all(evaluator.matches_scope(each, obj) for each in scopes):
                    add(used, evaluator.usage(obj, now_ns))
        return masked(used, hard)
