"""The admission of what quotas allow, with the usage in their status.

What an object uses is added to the status of the quotas before the object is stored. It is given
back by the quota controller only, as upstream.

Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/resourcequota/{admission,controller}.go
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import Document, format_quantity
from podwright.cluster.api.admission.amounts import (
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
from podwright.cluster.api.admission.quota.evaluators import Evaluator, scope_requirements
from podwright.cluster.api.admission.quota.registry import QuotaEvaluators
from podwright.cluster.api.followed import CurrentObjects
from podwright.cluster.store import GroupKind

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
    grown: Amounts | None = None
    old = attributes.old
    if attributes.operation == "UPDATE" and old is not None:
        grown = growth(used, evaluator.usage(old, attributes.now_ns))
    charged: list[tuple[Document, Amounts]] = []
    for quota in matching:
        requested = used
        if grown is not None and old is not None and _is_in(quota, evaluator, old):
            requested = grown
        requested = without_zeros(requested)
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
        f"exceeded quota: {name}, requested: {_shown(masked(requested, exceeded))}, used:"
        f" {_shown(masked(used, exceeded))}, limited: {_shown(masked(hard, exceeded))}"
    )


def _shown(amounts: Amounts) -> str:
    return ",".join(f"{name}={format_quantity(amounts[name])}" for name in sorted(amounts))
