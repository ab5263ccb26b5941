"""The overhead, the node selector and the tolerations of a pod's runtime class.

Upstream: plugin/pkg/admission/runtimeclass/admission.go; pkg/util/tolerations/tolerations.go
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

from podwright.apimachinery.objects import Document, go_quoted
from podwright.apimachinery.schema import path_segment
from podwright.cluster.api.admission.amounts import amounts_of
from podwright.cluster.api.admission.attributes import Attributes
from podwright.cluster.api.admission.plugin import (
    PODS,
    AdmissionContext,
    Plugin,
    Resources,
    rejected,
    set_spec,
    spec_of,
)
from podwright.cluster.api.followed import CurrentObjects
from podwright.cluster.api.rejections import Rejection
from podwright.cluster.store import GroupKind

_CLASS: Final[GroupKind] = ("node.k8s.io", "RuntimeClass")
_OTHER_OVERHEAD: Final = (
    "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
)


class RuntimeClass(Plugin):
    """Completes new pods by their runtime class."""

    name = "RuntimeClass"
    decides_alike = True
    resources: Resources = PODS
    template_kinds = frozenset({_CLASS})

    def __init__(self, context: AdmissionContext) -> None:
        super().__init__(context)
        self._classes = CurrentObjects(context.store, _CLASS)

    def admit(self, attributes: Attributes) -> None:
        """Set the overhead and the scheduling constraints of a new pod."""
        found = self._class_of(attributes)
        if found is None:
            return
        fixed = (found.get("overhead") or {}).get("podFixed")
        if found.get("overhead") is not None:
            own = spec_of(attributes).get("overhead")
            if own and self._context.keeps_given:
                fixed = own
            elif own and not _is_same(own, fixed):
                raise rejected(attributes, _OTHER_OVERHEAD)
            set_spec(attributes, overhead=fixed or {})
        scheduling = found.get("scheduling")
        if scheduling is not None:
            self._set_scheduling(attributes, scheduling)

    def _set_scheduling(self, attributes: Attributes, scheduling: Document) -> None:
        spec = spec_of(attributes)
        selector = dict(spec.get("nodeSelector") or {})
        for key, value in sorted((scheduling.get("nodeSelector") or {}).items()):
            if selector.get(key, value) != value:
                raise rejected(
                    attributes,
                    f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value};"
                    f" pod.spec.nodeSelector[{key}] = {selector[key]}",
                )
            selector[key] = value
        given, added = spec.get("tolerations") or [], scheduling.get("tolerations") or []
        changes: Document = {}
        if selector:
            changes["nodeSelector"] = selector
        if given or added:
            changes["tolerations"] = merged_tolerations([*given, *added])
        if changes:
            set_spec(attributes, **changes)

    def validate(self, attributes: Attributes) -> None:
        """Reject an overhead that is not the one of the class."""
        if not _is_new_pod(attributes) or self._context.keeps_given:
            return
        found = self._class_of(attributes)
        own = spec_of(attributes).get("overhead")
        if found is not None and found.get("overhead") is not None:
            if not _is_same(own, found["overhead"].get("podFixed")):
                raise rejected(attributes, _OTHER_OVERHEAD)
        elif own is not None:
            raise rejected(
                attributes,
                "pod rejected: Pod Overhead set without corresponding RuntimeClass defined"
                " Overhead",
            )

    def _class_of(self, attributes: Attributes) -> Document | None:
        """Return the runtime class of a new pod.

        Raises
        ------
        Rejection
            It does not exist.
        """
        if not _is_new_pod(attributes):
            return None
        name = spec_of(attributes).get("runtimeClassName")
        if name is None:
            return None
        found = self._classes.by_key().get(name)
        if found is None and self._context.keeps_given and spec_of(attributes).get("overhead"):
            return None
        if not name:
            # Upstream: client-go refuses to request an object without a name.
            raise Rejection(500, "", "resource name may not be empty")
        if wrong := path_segment(name):
            # Nor one whose name is not part of a path.
            raise Rejection(
                500, "", f"invalid resource name {go_quoted(name)}: [{' '.join(wrong)}]"
            )
        if found is None:
            raise rejected(attributes, f'pod rejected: RuntimeClass "{name}" not found')
        return found


def _is_new_pod(attributes: Attributes) -> bool:
    return attributes.operation == "CREATE" and attributes.is_for("", "pods")


def _is_same(first: Document | None, second: Document | None) -> bool:
    amounts = [
        {name: amount.nano for name, amount in amounts_of(each).items()} for each in (first, second)
    ]
    return amounts[0] == amounts[1]


def merged_tolerations(tolerations: list[Document]) -> list[Document]:
    """Return tolerations without those that others include; of equal ones, the first.

    Upstream compares each with all others. One that includes another has the same key or none, and
    the same effect or none, so only the widest ones of a few groups are compared here.

    Upstream: MergeTolerations
    """
    widest: dict[_Group, int] = {}
    first: dict[str, int] = {}
    groups = [_group_of(toleration) for toleration in tolerations]
    for index, (toleration, group) in enumerate(zip(tolerations, groups, strict=True)):
        first.setdefault(repr(sorted(toleration.items())), index)
        best = widest.get(group)
        if best is None or (
            toleration != tolerations[best] and _is_as_long(toleration, tolerations[best])
        ):
            widest[group] = index
    merged = []
    # `Exists` and `Equal` are included by others of their group, the rest only by equal ones.
    left = {index for group, index in widest.items() if group[2] in ("Exists", "Equal")}
    left.update(index for index in first.values() if groups[index][2] not in ("Exists", "Equal"))
    for index in sorted(left):
        toleration, group = tolerations[index], groups[index]
        wider = [widest[each] for each in _wider_groups(group) if each in widest]
        if not any(other != index and _includes(tolerations[other], toleration) for other in wider):
            merged.append(toleration)
    return merged


_Group: TypeAlias = tuple[str, str, str, str]
"""Key, effect, operator, and value; of `Exists` no value."""


def _group_of(toleration: Document) -> _Group:
    key, effect, operator, value = (
        toleration.get(name) or "" for name in ("key", "effect", "operator", "value")
    )
    return key, effect, operator, "" if operator == "Exists" else value


def _wider_groups(group: _Group) -> Iterator[_Group]:
    """Yield the groups of tolerations that may include those of a group."""
    key, effect, _, value = group
    for wider_effect in {effect: None, "": None}:
        for wider_key in {key: None, "": None}:
            yield wider_key, wider_effect, "Exists", ""
        for operator in ("Equal", ""):
            yield key, wider_effect, operator, value


def _is_as_long(wide: Document, narrow: Document) -> bool:
    """Whether a toleration tolerates at least as long as another one of its effect."""
    seconds, own = wide.get("tolerationSeconds"), narrow.get("tolerationSeconds")
    is_limited = (wide.get("effect") or "") == "NoExecute" and seconds is not None
    return not is_limited or (own is not None and own <= seconds)


def _includes(wide: Document, narrow: Document) -> bool:
    """Whether a toleration tolerates all that another does."""
    if wide == narrow:
        return True
    key, operator = wide.get("key") or "", wide.get("operator") or ""
    if (narrow.get("key") or "") != key and (key or operator != "Exists"):
        return False
    effect = wide.get("effect") or ""
    if effect and (narrow.get("effect") or "") != effect:
        return False
    if not _is_as_long(wide, narrow):
        return False
    if operator == "Exists":
        return True
    is_equal = (narrow.get("value") or "") == (wide.get("value") or "")
    return operator in ("", "Equal") and narrow.get("operator") == "Equal" and is_equal
