"""Resource quotas: their status has what the objects of their namespaces use.

Admission adds the usage of new objects; this controller computes all of it when a quota changes,
and when objects that it counts are removed, terminate, or change what they use.

Upstream: pkg/controller/resourcequota/{resource_quota_controller,resource_quota_monitor}.go
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from podwright._checkpointed import Saved
from podwright.apimachinery.objects import (
    Document,
    KubernetesObject,
    NamespacedName,
    Pod,
    encode,
    format_quantity,
    parse_quantity,
)
from podwright.apimachinery.schema import built_in
from podwright.cluster.api import QuotaEvaluators, patched, section
from podwright.cluster.controllers.interface import (
    ALL_KINDS,
    Actions,
    Controller,
    Keys,
    PodChange,
    Version,
)
from podwright.cluster.controllers.kinds import RESOURCE_QUOTA
from podwright.cluster.controllers.lister import Lister
from podwright.cluster.store import GroupKind, kind_of

_PERIOD_NS: Final = 1_000_000_000
_MANY: Final = 200
"""A quota that counts more objects and names is computed at most once a second."""

_CHANGING: Final = frozenset({"Service", "PersistentVolumeClaim", "ResourceClaim"})
"""The kinds besides pods whose objects can change what they use."""


class ResourceQuotaController(Controller):
    """Writes the status of quotas.

    Parameters
    ----------
    lister : Lister
    evaluators : QuotaEvaluators
        How objects count.
    """

    name = "resourcequota-controller"
    kinds = (ALL_KINDS,)
    pod_changes = PodChange.STATUS | PodChange.SPEC | PodChange.DELETED
    _computed: Saved[dict[NamespacedName, tuple[int, int]]]

    def __init__(self, lister: Lister, evaluators: QuotaEvaluators) -> None:
        super().__init__(lister)
        self._evaluators = evaluators
        self._quotas: dict[str, dict[NamespacedName, None]] = {}
        self.pending_work = self._quotas
        self._computed = {}

    def observe(self, old: Version, new: Version) -> Keys:
        """Return a quota that is new or changed, and those that a change frees."""
        obj = self.latest_of(old, new)
        if obj.kind == "ResourceQuota" and kind_of(obj) == RESOURCE_QUOTA:
            return self._observe_quota(old, new, obj)
        if not self._quotas:
            return ()
        quotas = self._quotas.get(obj.metadata.namespace)
        if quotas is None or old is None:
            return ()
        if new is not None and not _changes_usage(old, new):
            return ()
        evaluator = self._evaluators.of(*_resource(kind_of(obj)))
        return [
            key
            for key in quotas
            if (quota := self._lister.get(RESOURCE_QUOTA, key)) is not None
            and evaluator.matching((section(quota, "spec").get("hard") or {}).keys())
        ]

    def _observe_quota(self, old: Version, new: Version, obj: KubernetesObject) -> Keys:
        quotas = self._quotas.setdefault(obj.metadata.namespace, {})
        if new is None:
            quotas.pop(obj.key, None)
            self._computed.pop(obj.key, None)
            if not quotas:
                del self._quotas[obj.metadata.namespace]
            return self._uncounted(obj)
        quotas[obj.key] = None
        if old is not None and section(old, "spec") == section(new, "spec"):
            # Upstream restores a changed status at its next complete pass, every five minutes.
            status = section(new, "status")
            return () if status.get("hard") == section(new, "spec").get("hard") else (obj.key,)
        return [obj.key, *(self._uncounted(obj) if old is None else ())]

    def _uncounted(self, obj: KubernetesObject) -> list[NamespacedName]:
        """Return the other quotas of a namespace that count quotas."""
        return [key for key in self._quotas.get(obj.metadata.namespace, ()) if key != obj.key]

    def sync(self, key: NamespacedName, now_ns: int) -> Actions:
        """Write the status of a quota if it is another one.

        Upstream: syncResourceQuota
        """
        quota = self._lister.get(RESOURCE_QUOTA, key)
        if quota is None:
            return []
        hard = section(quota, "spec").get("hard") or {}
        status = section(quota, "status")
        last_ns, count = self._computed.get(key, (0, 0))
        is_same = status.get("hard") == hard
        if is_same and count > _MANY and now_ns < last_ns + _PERIOD_NS:
            return [self.sync_at(key, last_ns + _PERIOD_NS)]
        counted = len(hard)
        kinds: dict[tuple[str, str], list[GroupKind]] = {}
        for each in self._lister.kinds():
            kinds.setdefault(_resource(each), []).append(each)

        def objects(group: str, plural: str) -> Iterable[Document]:
            nonlocal counted
            for kind in kinds.get((group, plural), ()):
                for _, obj in sorted(
                    self._lister.in_namespace(kind, quota.metadata.namespace).items()
                ):
                    counted += 1
                    yield encode(obj)

        usage = self._evaluators.usage(encode(quota), objects, now_ns)
        self._computed[key] = (now_ns, counted)
        used = {name: text for name, text in (status.get("used") or {}).items() if name in hard}
        is_equal = set(used) == set(status.get("used") or {})
        for name, amount in usage.items():
            if name not in used or parse_quantity(used[name]).nano != amount.nano:
                used[name] = format_quantity(amount)
                is_equal = False
        if is_same and is_equal and "used" in status:
            return []
        new = patched(quota, status={"hard": hard, "used": dict(sorted(used.items()))})
        return [self.update(new, "status")]


def frees(old: KubernetesObject, new: KubernetesObject) -> bool:
    """Whether a changed quota may allow more: less is used, or another amount is allowed."""
    before, after = section(old, "status"), section(new, "status")
    used = before.get("used") or {}
    return before.get("hard") != after.get("hard") or any(
        name not in used or parse_quantity(text).nano < parse_quantity(used[name]).nano
        for name, text in (after.get("used") or {}).items()
    )


def _changes_usage(old: KubernetesObject, new: KubernetesObject) -> bool:
    """Whether an update can change what an object uses.

    Upstream: pkg/quota/v1/install/update_filter.go
    """
    if not isinstance(new, Pod) or not isinstance(old, Pod):
        return new.kind in _CHANGING
    return (
        old.spec is not new.spec
        or old.is_terminal != new.is_terminal
        or _actual_resources(old) != _actual_resources(new)
    )


def _actual_resources(pod: Pod) -> list[Document]:
    status = section(pod, "status")
    return [
        {"name": each.get("name"), "resources": each.get("resources")}
        for name in ("containerStatuses", "initContainerStatuses")
        for each in status.get(name) or ()
    ]


def _resource(kind: GroupKind) -> tuple[str, str]:
    """Return the group and the plural of a kind; those of custom kinds follow the usual rule."""
    known = built_in().of(*kind)
    return kind[0], known.row.resource if known is not None else f"{kind[1].lower()}s"
