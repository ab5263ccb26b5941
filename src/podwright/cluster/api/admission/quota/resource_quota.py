"""The admission of what quotas allow, with the usage in their status.

What an object uses is added to the status of the quotas before the object is stored. It is given
back by the quota controller only, as upstream. A dry run without a server asks for the pods that
the quotas of their namespaces reject.

Upstream:
staging/src/k8s.io/apiserver/pkg/admission/plugin/resourcequota/{admission,controller}.go;
pkg/quota/v1/evaluator/core/registry.go; staging/src/k8s.io/apiserver/pkg/quota/v1/resources.go,
CalculateUsage
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set as AbstractSet
from typing import Any, Final, TypeAlias

from podwright.apimachinery.objects import Document, KubernetesObject, Pod, encode, format_quantity
from podwright.cluster.api.admission.amounts import (
    ZERO,
    Amounts,
    add,
    amounts_of,
    growth,
    masked,
    texts_of,
    without_zeros,
)
from podwright.cluster.api.admission.attributes import Attributes
from podwright.cluster.api.admission.plugin import AdmissionContext, Plugin, rejected
from podwright.cluster.api.admission.quota.device_claims import DeviceClaims
from podwright.cluster.api.admission.quota.evaluators import (
    LEGACY_COUNTS,
    Claims,
    Evaluator,
    Services,
    scope_requirements,
)
from podwright.cluster.api.admission.quota.pods import Pods
from podwright.cluster.api.followed import CurrentObjects
from podwright.cluster.api.rejections import Rejection
from podwright.cluster.store import GroupKind, ObjectStore, kind_of

_UNCOUNTED: Final = frozenset(
    {
        ("", "bindings"), ("", "componentstatuses"),
        ("authentication.k8s.io", "tokenreviews"),
        ("authentication.k8s.io", "selfsubjectreviews"),
        ("authorization.k8s.io", "subjectaccessreviews"),
        ("authorization.k8s.io", "selfsubjectaccessreviews"),
        ("authorization.k8s.io", "localsubjectaccessreviews"),
        ("authorization.k8s.io", "selfsubjectrulesreviews"),
        ("", "events"), ("events.k8s.io", "events"),
    }
)  # fmt: skip
_QUOTA: Final[GroupKind] = ("", "ResourceQuota")
_EXCEEDED: Final = "exceeded quota: "


class ResourceQuota(Plugin):
    """Rejects writes that exceed a quota, and counts the others."""

    name = "ResourceQuota"
    template_kinds = frozenset({_QUOTA})

    def __init__(self, context: AdmissionContext) -> None:
        super().__init__(context)
        self._quotas = CurrentObjects(context.store, _QUOTA)
        self._evaluators = QuotaEvaluators(context.store)

    def validate(self, attributes: Attributes) -> None:
        """Reject a write that exceeds a quota, and count what it adds."""
        if attributes.operation not in ("CREATE", "UPDATE") or not attributes.namespace:
            return
        resource = attributes.resource
        key = (resource.group, resource.plural)
        if key in _UNCOUNTED or key == ("", "namespaces"):
            return
        quotas = self._quotas.in_namespace(attributes.namespace)
        if not quotas:
            return
        evaluator = self._evaluators.of(*key)
        if not evaluator.handles(attributes):
            return
        charged = _charged(quotas, attributes, evaluator)
        if attributes.is_dry_run:
            return
        for quota, used in charged:
            status = quota["status"] | {"used": texts_of(used)}
            self._context.update_status(quota | {"status": status}, attributes.now_ns)

    def decides_by_template(self, attributes: Attributes) -> bool:
        """Return whether no quota counts the objects of the namespace."""
        resource = attributes.resource
        is_uncounted = (resource.group, resource.plural) in _UNCOUNTED
        return is_uncounted or not self._quotas.in_namespace(attributes.namespace)


def _charged(
    quotas: list[Document], attributes: Attributes, evaluator: Evaluator
) -> list[tuple[Document, Amounts]]:
    """Return the quotas whose usage the write changes, with their new usage.

    Raises
    ------
    Rejection
        A quota is exceeded.
    """
    obj = attributes.object or {}
    matching = [quota for quota in quotas if _matches(quota, attributes, evaluator, obj)]
    if not matching:
        return []
    used = evaluator.usage(obj, attributes.now_ns)
    negative = sorted(name for name, amount in used.items() if amount.nano < 0)
    if negative:
        text = f"quota usage is negative for resource(s): {','.join(negative)}"
        raise rejected(attributes, text)
    old = attributes.old if attributes.operation == "UPDATE" else None
    grown = used if old is None else growth(used, evaluator.usage(old, attributes.now_ns))
    charged: list[tuple[Document, Amounts]] = []
    for quota in matching:
        has_grown = old is not None and _is_in(quota, evaluator, old)
        requested = without_zeros(grown if has_grown else used)
        after = _after(quota, requested, attributes)
        if after is not None:
            charged.append((quota, after))
    return charged


def _matches(quota: Document, attributes: Attributes, evaluator: Evaluator, obj: Document) -> bool:
    """Whether a quota counts an object.

    Raises
    ------
    Rejection
        The object does not specify what the quota limits, or the usage is not known.
    """
    if not _is_in(quota, evaluator, obj):
        return False
    status: Document = quota.get("status") or {}
    name = quota["metadata"]["name"]
    restricted = evaluator.matching((status.get("hard") or {}).keys())
    if missing := evaluator.missing(restricted, obj):
        raise rejected(attributes, f"failed quota: {name}: {missing}")
    if any(each not in (status.get("used") or {}) for each in restricted):
        names = ",".join(restricted)
        raise rejected(attributes, f"status unknown for quota: {name}, resources: {names}")
    return True


def _is_in(quota: Document, evaluator: Evaluator, obj: Document) -> bool:
    hard = (quota.get("status") or {}).get("hard") or {}
    return bool(evaluator.matching(hard.keys())) and all(
        evaluator.matches_scope(each, obj) for each in scope_requirements(quota)
    )


def _after(quota: Document, requested: Amounts, attributes: Attributes) -> Amounts | None:
    """Return the usage of a quota after a write; None if it stays as it is.

    Raises
    ------
    Rejection
        It exceeds what is allowed.
    """
    status: Document = quota["status"]
    hard, used = amounts_of(status.get("hard")), amounts_of(status.get("used"))
    requested = masked(requested, hard)
    if not requested:
        return None
    after = dict(used)
    add(after, requested)
    text = exceeded_text(quota["metadata"]["name"], requested, used, hard)
    if text and attributes.subresource != "status":
        raise rejected(attributes, text)
    return after


def exceeded_text(name: str, requested: Amounts, used: Amounts, hard: Amounts) -> str:
    """Return upstream's text about what exceeds a quota; empty if nothing does."""
    after = dict(used)
    add(after, requested)
    exceeded = [each for each in requested if after[each].nano > hard[each].nano]
    if not exceeded:
        return ""
    return (
        f"{_EXCEEDED}{name}, requested: {_shown(masked(requested, exceeded))}, used:"
        f" {_shown(masked(used, exceeded))}, limited: {_shown(masked(hard, exceeded))}"
    )


def exceeds_quota(error: Exception) -> bool:
    """Whether a write was rejected because it exceeds a quota."""
    return isinstance(error, Rejection) and f" is forbidden: {_EXCEEDED}" in str(error)


def _shown(amounts: Amounts) -> str:
    return ",".join(f"{name}={format_quantity(amounts[name])}" for name in sorted(amounts))


# -------------------------------------------------------------------------- evaluators of resources

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
                if (group, plural) not in _UNCOUNTED:
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

    def new_status(self, quota: Document) -> Document:
        """Return the status of a quota that has counted no object yet."""
        hard = (quota.get("spec") or {}).get("hard") or {}
        return {"hard": hard, "used": texts_of(self.usage(quota, lambda *_: (), _NOW_NS))}


# ------------------------------------------------------------------------ dry runs without a server

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
