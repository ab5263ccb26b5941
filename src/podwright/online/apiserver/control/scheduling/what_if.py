"""What if: the current pods scheduled with another configuration, or with changed objects.

A copy of the process schedules both sides; the cluster does not change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, UnsetType
from starlette.responses import Response

from podwright.apimachinery.objects import FieldError, InputError, nearest
from podwright.online.apiserver.control.endpoints import ControlledCluster, Endpoint, declared
from podwright.online.apiserver.control.problems import Problem, input_problem
from podwright.online.apiserver.control.scheduling.explanation import responsible_scheduler
from podwright.online.apiserver.control.scheduling.progress import answers, reply
from podwright.online.apiserver.readers import Readers
from podwright.online.apiserver.records.object_changes import (
    NodeTaint,
    ObjectName,
    ObjectPatch,
    changed_objects,
)
from podwright.online.apiserver.scheduling.present_scheduler import present_objects
from podwright.online.apiserver.scheduling.served_scheduler import ServedScheduler
from podwright.scheduler.assembly import assemble, prepare
from podwright.scheduler.config import KubeSchedulerProfile, PluginSet
from podwright.scheduler.machine import SchedulerOptions
from podwright.simulation.capacity import Advance
from podwright.simulation.recording import (
    MOST_REASONS,
    DiffDocument,
    ExplanationMatrix,
    PlacementDocument,
    Scenario,
    counted,
    decision_count,
    diff_scenarios,
    explanation_matrix,
    typed_diff,
    typed_placement,
)


class WhatIf(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """What to change, and which pods to schedule.

    Attributes
    ----------
    configuration : dict, optional
        A KubeSchedulerConfiguration; the current one if left out.
    weights : dict of str to int
        New weights of score plugins in all profiles that enable them.
    objects : list of dict
        Manifests of new objects, or of objects that replace those of the same names.
    patches : list of ObjectPatch
        Strategic merge patches of objects.
    removed : list of ObjectName
        Objects that are taken away. Pods on a removed node are scheduled again.
    without_taints : list of NodeTaint
    pod : str
        The `namespace/name` of the only pod to schedule, with a node or without one; all pending
        pods if left out. Pods that are changed are always scheduled again, on both sides.
    reschedule : bool
        Whether pods that have a node are scheduled again, from an empty cluster.
    matrix : bool
        Whether the reply has the results of all plugins for `pod`, before and after.
    scheduler_name : str
        A schedulerName of the scheduler whose decisions are compared; that of `pod`, or of the
        first scheduler, if left out.
    progress : bool
        Whether the reply is a stream of lines of JSON. A line is a `Progress`; the last one is the
        reply, or has `detail`: why there is none. A comparison ends when its client leaves.
    """

    configuration: dict[str, Any] | None = None
    weights: dict[str, Annotated[int, msgspec.Meta(ge=1)]] = {}
    objects: list[dict[str, Any]] = []
    patches: list[ObjectPatch] = []
    removed: list[ObjectName] = []
    without_taints: list[NodeTaint] = []
    pod: str = ""
    reschedule: bool = False
    matrix: bool = False
    scheduler_name: str = ""
    progress: bool = False


class SidesOfPlacement(msgspec.Struct, frozen=True, kw_only=True):
    """A placement on each side; null if the side does not have the pod."""

    before: PlacementDocument | None
    after: PlacementDocument | None


class SidesOfMatrix(msgspec.Struct, frozen=True, kw_only=True):
    """The results of all plugins on each side; null if the pod was not scheduled there."""

    before: ExplanationMatrix | None
    after: ExplanationMatrix | None


class WhatIfReply(DiffDocument, frozen=True, kw_only=True):
    """The differences that a change makes.

    Attributes
    ----------
    pod : SidesOfPlacement
        The placements of the only pod; left out if all are scheduled.
    matrix : SidesOfMatrix
        Only if requested.
    """

    pod: SidesOfPlacement | UnsetType = UNSET
    matrix: SidesOfMatrix | UnsetType = UNSET


class _WhatIf:
    """The endpoint."""

    def __init__(self, cluster: ControlledCluster) -> None:
        self._turns = cluster.turns
        self._scheduler = cluster.scheduler
        self._readers = Readers(cluster.turns)

    @answers("/what-if", reply=WhatIfReply)
    async def compare(self, body: WhatIf) -> Response:
        """Compare where pods are placed after a change, which is not made."""
        given = body
        if given.pod and given.reschedule:
            raise Problem(422, "pod and reschedule: specify one of them, not both", field="pod")
        if given.matrix and not given.pod:
            raise Problem(422, "needs pod", field="matrix")
        served = self._served(given)
        options = self._options(given, served)
        try:
            return await reply(
                self._readers,
                lambda advance: self._differences(given, served, options, advance),
                has_progress=given.progress,
            )
        except RecursionError as error:
            raise Problem(400, "the body is nested too deeply") from error

    def _served(self, given: WhatIf) -> ServedScheduler:
        """Return the scheduler whose decisions are compared."""
        cluster = self._turns.cluster
        if not given.scheduler_name:
            return responsible_scheduler(cluster, given.pod) or cluster.schedulers[0]
        found = cluster.scheduler_of(given.scheduler_name)
        if found is None:
            names = ", ".join(cluster.scheduler_names)
            message = f"no scheduler of this cluster has it; there are {names}"
            raise Problem(422, message, field="schedulerName")
        return found

    def _options(self, given: WhatIf, served: ServedScheduler) -> SchedulerOptions:
        """Return the options of the scheduler after the change."""
        options = served.options
        try:
            if given.configuration is not None:
                read, _ = self._scheduler.read(given.configuration, served)
                options = msgspec.structs.replace(
                    options, configuration=read.configuration, source=read.source
                )
        except InputError as error:
            raise input_problem(error, prefix="configuration.") from error
        try:
            return with_weights(options, given.weights)
        except InputError as error:
            raise input_problem(error, prefix="weights.") from error

    def _differences(
        self,
        given: WhatIf,
        served: ServedScheduler,
        options: SchedulerOptions,
        advance: Advance,
    ) -> WhatIfReply:
        scheduler = self._scheduler
        objects = changed_objects(
            present_objects(served),
            put=given.objects,
            patches=given.patches,
            removed=given.removed,
            without_taints=given.without_taints,
            rescheduled=given.pod,
        )
        sides = [
            Scenario(
                each,
                of_side,
                reschedule=given.reschedule,
                expands_workloads=False,
                only=(given.pod,) if given.pod else None,
                call_extender=scheduler.new_caller(of_side),
            )
            for each, of_side in zip(objects, (served.options, options), strict=True)
        ]
        total = decision_count(*sides, most_reasons=MOST_REASONS)
        watch = counted(lambda done: advance(done, total))
        diff = diff_scenarios(*sides, most_reasons=MOST_REASONS, watch=watch)
        document = WhatIfReply(**msgspec.structs.asdict(typed_diff(diff)))
        if given.pod:
            before, after = diff.placements.get(given.pod, (None, None))
            placements = SidesOfPlacement(
                before=typed_placement(before), after=typed_placement(after)
            )
            document = msgspec.structs.replace(document, pod=placements)
            if given.matrix:
                before_side, after_side = (_matrix(side, given.pod) for side in sides)
                matrix = SidesOfMatrix(before=before_side, after=after_side)
                document = msgspec.structs.replace(document, matrix=matrix)
        return document


def _matrix(side: Scenario, pod: str) -> ExplanationMatrix | None:
    scheduler = side.scheduler()
    return explanation_matrix(scheduler.explain(pod)) if pod in scheduler.pending else None


def what_if_endpoints(cluster: ControlledCluster) -> list[Endpoint]:
    """Return the endpoint of what-if."""
    return declared(_WhatIf(cluster))


# Options of a scheduler with other weights of score plugins.


def with_weights(options: SchedulerOptions, weights: Mapping[str, int]) -> SchedulerOptions:
    """Return options with other weights in all profiles that have the plugins.

    Parameters
    ----------
    options : SchedulerOptions
    weights : mapping of str to int
        By score plugin; the others keep theirs.

    Raises
    ------
    InputError
        No profile scores with a plugin, the configuration uses the v1.16 rules, or is not valid
        with the weights; the paths are the names of plugins.
    """
    if not weights:
        return options
    ready, registry = prepare(options)
    source = options.source
    if ready.rules_name == "classic":
        message = "the v1.16 rules have priorities of a policy instead; send a configuration"
        raise InputError([FieldError(source=source, path="", message=message)])
    profiles = assemble(ready, registry, options).profiles.values()
    known = {plugin.name for profile in profiles for plugin, _ in profile.score}
    errors = []
    for name in weights:
        if name not in known:
            near = nearest(name, known)
            hint = f"; did you mean {near}?" if near else ""
            message = f"no profile scores with {name}{hint}"
            errors.append(FieldError(source=source, path=name, message=message))
    if errors:
        raise InputError(errors)
    written = ready.configuration
    changed = msgspec.structs.replace(
        written, profiles=tuple(_reweighted(each, weights) for each in written.profiles)
    )
    found = msgspec.structs.replace(options, configuration=changed)
    prepare(found)  # the weights can be too large together
    return found


def _reweighted(profile: KubeSchedulerProfile, weights: Mapping[str, int]) -> KubeSchedulerProfile:
    plugins = profile.plugins
    if plugins is None:
        return profile
    return msgspec.structs.replace(
        profile,
        plugins=msgspec.structs.replace(
            plugins,
            score=_reweighted_set(plugins.score, weights),
            multi_point=_reweighted_set(plugins.multi_point, weights),
        ),
    )


def _reweighted_set(plugins: PluginSet, weights: Mapping[str, int]) -> PluginSet:
    return msgspec.structs.replace(
        plugins,
        enabled=tuple(
            msgspec.structs.replace(each, weight=weights.get(each.name, each.weight))
            for each in plugins.enabled
        ),
    )
