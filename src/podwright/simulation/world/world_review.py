"""The review of a world whose objects come from Python, instead of from files.

A simulation reviews its inputs before it starts. A world receives objects at any time: those that
can be in a review are kept, and the load is estimated before virtual time advances first.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Final

from podwright.apimachinery.objects import KubernetesObject, NamespacedName, Node, Pod
from podwright.cluster.kubelets import Stage
from podwright.cluster.store import GroupKind, ObjectStore, kind_of
from podwright.simulation.world.inputs.input_review import (
    InputReview,
    LoadEstimate,
    ignored_kinds,
    load_estimate,
    starts_at_once,
)
from podwright.simulation.world.inputs.job_durations import jobs_without_duration

_NEVER_IN_REVIEWS: Final = (Node, Pod)
_EVENT: Final[GroupKind] = ("", "Event")


class WorldReview:
    """Collects the review of a world.

    Parameters
    ----------
    stages : sequence of Stage, optional
        The stages of the world; the built-in ones if left out.
    given : InputReview, optional
        The review of the inputs, if it exists already: nothing is collected then.
    is_new : bool
        Whether the world is new: the load of a restored world is not estimated.
    """

    def __init__(
        self, stages: Sequence[Stage] | None, given: InputReview | None, *, is_new: bool
    ) -> None:
        self._staged = {(stage.group, stage.kind) for stage in stages or ()}
        self._starts_at_once = starts_at_once(stages)
        self._given = given
        self._added: dict[tuple[GroupKind, NamespacedName], KubernetesObject] = {}
        self._estimate: LoadEstimate | None = None
        self._has_begun = given is not None or not is_new

    def copy(self) -> WorldReview:
        """Return a copy that is continued independently."""
        return deepcopy(self, {id(obj): obj for obj in self._added.values()})

    def add(self, obj: KubernetesObject) -> None:
        """Receive an object that a user creates or replaces."""
        # The many pods and nodes of a world are in no review, so they are not kept.
        if self._given is None and not isinstance(obj, _NEVER_IN_REVIEWS):
            self._added[kind_of(obj), obj.key] = obj

    def begin(self, store: ObjectStore) -> None:
        """Estimate the initial load, once: before time advances first."""
        if not self._has_begun:
            self._has_begun = True
            # Events have no pods, and there may be 100,000 of them, at rest.
            kinds = [kind for kind in store.kinds() if kind != _EVENT]
            objects = (obj for kind in kinds for obj in store.list(kind).objects)
            self._estimate = load_estimate(objects)

    def review(self) -> InputReview:
        """Return the review that was given, or that of the objects so far."""
        if self._given is not None:
            return self._given
        added = tuple(self._added.values())
        return InputReview(
            ignored_kinds=ignored_kinds(added, self._staged),
            estimate=self._estimate,
            jobs_without_duration=jobs_without_duration(added) if self._starts_at_once else (),
            starts_at_once=self._starts_at_once,
        )
