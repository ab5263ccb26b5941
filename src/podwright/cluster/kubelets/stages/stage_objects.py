"""The stages of a cluster: those it starts with, and the objects of KWOK's kind Stage.

Upstream: KWOK pkg/kwok/controllers/stages_manager.go, StagesManager
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias

import msgspec

from podwright.apimachinery.objects import (
    InputError,
    KubernetesObject,
    NamespacedName,
    api_group,
    encode,
)
from podwright.cluster.kubelets.stages.built_in_stages import with_own_stages
from podwright.cluster.kubelets.stages.stage import Stage
from podwright.cluster.kubelets.stages.stage_reader import API_VERSION, read_stage
from podwright.cluster.store import GroupKind

STAGE: Final[GroupKind] = (api_group(API_VERSION), "Stage")

ObjectsOf: TypeAlias = Callable[[GroupKind], Iterable[KubernetesObject]]
"""Returns the objects of a kind."""


class StageObjects:
    """The stages of a cluster, of which the objects of the kind Stage are a part.

    They replace the built-in stages of their kind, and those of the start with the same name.

    Parameters
    ----------
    given : iterable of Stage
        The stages of the start.
    objects : iterable of KubernetesObject
        The Stages that exist; those that cannot be read are left out.
    """

    def __init__(self, given: Iterable[Stage], objects: Iterable[KubernetesObject] = ()) -> None:
        self._given = tuple(given)
        self._read: dict[NamespacedName, tuple[Any, Stage]] = {}
        for obj in objects:
            self.put(obj.key, obj)

    def put(
        self, key: NamespacedName, obj: KubernetesObject | None
    ) -> tuple[set[GroupKind], InputError | None, tuple[str, ...]]:
        """Replace the stage of an object.

        Parameters
        ----------
        key : str
        obj : KubernetesObject, optional
            None if it was deleted.

        Returns
        -------
        (set of GroupKind, InputError or None, tuple of str)
            The kinds whose stages have changed, why the object is not a stage, and the warnings
            about what has no effect in it.
        """
        document = None if obj is None else encode(obj)
        former = self._read.get(key)
        if former is not None and document is not None and former[0] == document.get("spec"):
            return set(), None, ()
        stages = [] if former is None else [self._read.pop(key)[1]]
        error: InputError | None = None
        warnings: tuple[str, ...] = ()
        if document is not None:
            try:
                stage = read_stage(document, source=f"Stage {key}")
            except InputError as found:
                error = found
            else:
                warnings = stage.warnings
                stages.append(msgspec.structs.replace(stage, source=""))
                self._read[key] = document.get("spec"), stages[-1]
        return {(stage.group, stage.kind) for stage in stages}, error, warnings

    def by_kind(self) -> dict[GroupKind, list[Stage]]:
        """Return the stages of each kind that has any."""
        found: dict[GroupKind, list[Stage]] = {}
        own = [self._read[key][1] for key in sorted(self._read)]
        for stage in with_own_stages(self._given, own):
            found.setdefault((stage.group, stage.kind), []).append(stage)
        return found
