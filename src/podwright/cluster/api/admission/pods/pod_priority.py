"""The priority of pods and PodGroups from their priority class, and at most one default class.

Upstream: plugin/pkg/admission/priority/admission.go
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import Document
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
from podwright.cluster.store import GroupKind

_POLICY = "PreemptLowerPriority"
_CLASS: Final[GroupKind] = ("scheduling.k8s.io", "PriorityClass")


class Priority(Plugin):
    """Sets the priority of pods and PodGroups, and checks priority classes."""

    name = "Priority"
    decides_alike = True
    resources: Resources = PODS | {
        ("scheduling.k8s.io", "podgroups"),
        ("scheduling.k8s.io", "priorityclasses"),
    }
    template_kinds = frozenset({_CLASS})

    def __init__(self, context: AdmissionContext) -> None:
        super().__init__(context)
        self._classes = CurrentObjects(context.store, _CLASS)

    def admit(self, attributes: Attributes) -> None:
        """Set the priority of a pod or a group."""
        if attributes.is_for("scheduling.k8s.io", "podgroups"):
            if attributes.operation == "CREATE" and self._context.sets_group_priority:
                self._admit_group(attributes)
            return
        if not attributes.is_for("", "pods"):
            return
        if attributes.operation == "CREATE":
            self._admit_new(attributes)
        elif attributes.operation == "UPDATE":
            stored, spec = (attributes.old or {}).get("spec") or {}, spec_of(attributes)
            kept = {
                name: stored[name]
                for name in ("priority", "preemptionPolicy")
                if name in stored and name not in spec
            }
            if kept:
                set_spec(attributes, **kept)

    def _admit_new(self, attributes: Attributes) -> None:
        spec = spec_of(attributes)
        name = spec.get("priorityClassName") or ""
        keeps_given = self._keeps_given(attributes)
        found = self._class_of(attributes, spec)
        priority = 0 if found is None else found.get("value", 0)
        policy = _POLICY if found is None else found.get("preemptionPolicy") or _POLICY
        given = spec.get("priority")
        if keeps_given:
            priority = priority if given is None else given
            policy = spec.get("preemptionPolicy") or policy
        elif given is not None and given != priority:
            raise rejected(
                attributes,
                f"the integer value of priority ({given}) must not be provided in pod spec;"
                f" priority admission controller computed {priority} from the given PriorityClass"
                " name",
            )
        given = spec.get("preemptionPolicy")
        if given not in (None, policy) and not keeps_given:
            raise rejected(
                attributes,
                f"the string value of PreemptionPolicy ({given}) must not be provided in pod spec;"
                f" priority admission controller computed {policy} from the given PriorityClass"
                " name",
            )
        fields: Document = {"priority": priority, "preemptionPolicy": policy}
        if found is not None and not name and priority == found.get("value", 0):
            fields["priorityClassName"] = found["metadata"]["name"]
        set_spec(attributes, **fields)

    def _admit_group(self, attributes: Attributes) -> None:
        spec = spec_of(attributes)
        found = self._class_of(attributes, spec)
        computed = 0 if found is None else found.get("value", 0)
        given = spec.get("priority")
        if self._keeps_given(attributes):
            # Without a field, it is 0 for the scheduler.
            if given is None and computed:
                set_spec(attributes, priority=computed)
            return
        if given not in (None, computed):
            raise rejected(
                attributes,
                f"priority set in the pod group ({given}) must match the priority computed"
                f" ({computed}) based on the priority class set in the spec",
            )
        fields: Document = {"priority": computed}
        if found is not None:
            fields["priorityClassName"] = found["metadata"]["name"]
        set_spec(attributes, **fields)

    def _keeps_given(self, attributes: Attributes) -> bool:
        # Upstream has no restored objects. They were admitted once, with other default classes.
        return self._context.keeps_given or attributes.is_restored

    def _class_of(self, attributes: Attributes, spec: Document) -> Document | None:
        """Return the named class, or the default one; None if there is none."""
        name = spec.get("priorityClassName") or ""
        if not name:
            return self._default()
        found = self._classes.by_key().get(name)
        is_given = self._keeps_given(attributes) and spec.get("priority") is not None
        if found is None and not is_given:
            raise rejected(attributes, f"no PriorityClass with name {name} was found")
        return found

    def _default(self) -> Document | None:
        """Return the default class with the lowest value.

        Upstream: getDefaultPriorityClass
        """
        defaults = [each for each in self._classes.by_key().values() if each.get("globalDefault")]
        return min(defaults, key=lambda each: each.get("value", 0), default=None)

    def validate(self, attributes: Attributes) -> None:
        """Reject a second default class."""
        if not attributes.is_for("scheduling.k8s.io", "priorityclasses"):
            return
        new = attributes.object
        if attributes.operation not in ("CREATE", "UPDATE") or not (new or {}).get("globalDefault"):
            return
        default = self._default()
        if default is None or new is None:
            return
        name = default["metadata"]["name"]
        if attributes.operation == "CREATE" or name != attributes.name:
            raise rejected(
                attributes,
                f"PriorityClass {name} is already marked as default. Only one default can exist",
            )
