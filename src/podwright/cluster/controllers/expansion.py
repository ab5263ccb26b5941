"""What controllers would create for some objects, without running the controllers.

Most objects of a dry run are nodes and pods. `workload_pods` has what the others need, and is
imported with the first of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from podwright.apimachinery.objects import NamespacedName, Object, Pod, require_objects
from podwright.cluster import controllers
from podwright.cluster.controllers.kinds import (
    CRON_JOB,
    DAEMON_SET,
    DEPLOYMENT,
    HPA,
    JOB,
    REPLICA_SET,
    REPLICATION_CONTROLLER,
    RESOURCE_QUOTA,
    STATEFUL_SET,
)
from podwright.cluster.store import GroupKind, kind_of

if TYPE_CHECKING:
    from podwright.cluster.controllers.autoscaling.autoscaled import HpaBound

EXPANDED_KINDS: Final[tuple[GroupKind, ...]] = (
    DEPLOYMENT,
    REPLICA_SET,
    REPLICATION_CONTROLLER,
    STATEFUL_SET,
    DAEMON_SET,
    JOB,
    CRON_JOB,
)
"""The kinds of workloads, in the order in which they are expanded."""

_THAT_MATTER: Final = frozenset({*EXPANDED_KINDS, HPA, RESOURCE_QUOTA})
"""The kinds of objects besides pods for which something is created, changed or rejected."""

_WITHOUT_EFFECT: Final[dict[GroupKind, str]] = {
    ("", "LimitRange"): "no default requests and limits are set, and no pod is rejected",
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"): "no object is changed",
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): "no object is changed",
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): "no object is rejected",
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): "no object is rejected",
}
"""Built-in kinds whose effect on new pods needs an API server."""


class ExpandedWorkload(msgspec.Struct, frozen=True, kw_only=True):
    """A workload and its pods.

    Parameters
    ----------
    kind : str
    key : str
        `namespace/name`.
    pods : tuple of str
        The pods that exist and those that were added, `namespace/name`.
    new_count : int
        How many were added.
    note : str
        Why the controller creates no pods now; "" otherwise.
    is_of_server : bool
        Whether it is an object of a server, whose controllers have done their work.
    """

    kind: str
    key: NamespacedName
    pods: tuple[NamespacedName, ...]
    new_count: int
    note: str = ""
    is_of_server: bool = False


class Expansion(NamedTuple):
    """The result of an expansion.

    Parameters
    ----------
    objects : list of Object
        The objects to add: pods, replica sets of deployments, claims of stateful sets, and
        resource claims of pods.
    workloads : list of ExpandedWorkload
        In the order of the objects; without replica sets that belong to a deployment.
    changed : dict of str to Pod
        The given pods whose status names their new resource claims, by `namespace/name`.
    notes : list of str
        Why pods get no resource claim, and what autoscalers and quotas change, a sentence each.
    rejected : dict of str to str
        The new pods that a quota rejects, with the reason; they are not among the objects.
    """

    objects: list[Object]
    workloads: list[ExpandedWorkload]
    changed: dict[NamespacedName, Pod]
    notes: list[str]
    rejected: dict[NamespacedName, str]

    def with_objects(self, given: Iterable[Object]) -> list[Object]:
        """Return the given objects, changed where they are, and the added ones."""
        changed, rejected = self.changed, self.rejected
        if not changed and not rejected:
            return [*given, *self.objects]
        kept = [
            changed.get(obj.key, obj) if isinstance(obj, Pod) else obj
            for obj in given
            if not isinstance(obj, Pod) or obj.key not in rejected
        ]
        return [*kept, *self.objects]


def expand(objects: Iterable[Object], *, hpa: HpaBound = "min") -> Expansion:
    """Return the pods and the resource claims that controllers would create.

    A workload from a server (it has a uid and a resourceVersion) has its pods already: those in
    its status count, even if the files do not contain them.

    Parameters
    ----------
    objects : iterable of Object
        All objects of a cluster.
    hpa : str
        The replicas of workloads that a HorizontalPodAutoscaler scales; see `autoscaled`.

    Raises
    ------
    InvalidObject
        With the errors of all workloads.
    """
    given = list(objects)
    require_objects(given)
    without_effect = list(_without_effect(given))
    if any(map(_matters, given)):
        return controllers.expanded(given, hpa, without_effect)
    return Expansion([], [], {}, without_effect, {})


def _matters(obj: Object) -> bool:
    has_claims = isinstance(obj, Pod) and bool(obj.spec.resource_claims)
    return has_claims or kind_of(obj) in _THAT_MATTER


def _without_effect(objects: Iterable[Object]) -> Iterator[str]:
    """Yield a sentence for each kind that changes pods in a cluster, and none of an expansion."""
    counts = Counter(kind_of(obj) for obj in objects)
    for kind, effect in _WITHOUT_EFFECT.items():
        if count := counts[kind]:
            what = f"1 {kind[1]} has" if count == 1 else f"{count} of kind {kind[1]} have"
            yield f"{what} no effect: {effect}"
