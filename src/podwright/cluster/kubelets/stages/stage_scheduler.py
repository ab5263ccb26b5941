"""The choice of the next stage of an object, and of the time at which it is due.

A change of an object reschedules its stage only if it changes the basis: the stages that apply,
their weights, and the values that define delays (`basis_of`). Draws depend on the seed, the object
(kind, name, uid) and its schedule count, not on other objects.

Upstream: KWOK pkg/kwok/controllers/stage_controller.go, preprocess
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

from podwright.apimachinery.cel import StageExpressionError
from podwright.apimachinery.objects import (
    DELAY_STREAM,
    SOURCE_UID,
    STAGE_STREAM,
    Node,
    Pod,
    draw,
    encode,
)
from podwright.cluster.kubelets.object_state import (
    KUBELET,
    KUBELET_NAME,
    KubeletSyncs,
    LifecycleAction,
    ObjectState,
    ScheduledStage,
    ScheduleStage,
)
from podwright.cluster.kubelets.stages.stage import FixedSchedule, basis_of, choose, delay_between
from podwright.cluster.kubelets.stages.stage_play import stage_error


class StageScheduler:
    """Schedules stages, and syncs of kubelets.

    Parameters
    ----------
    seed : int
        The seed of all draws.
    syncs : KubeletSyncs, optional
        The kubelets of the objects to which no stage applies.
    schedule_count : int
        Of the machine that is restored.

    Attributes
    ----------
    schedule_count : int
        How many stages have been scheduled: the number of the next one.
    """

    def __init__(self, seed: int, syncs: KubeletSyncs | None, schedule_count: int) -> None:
        self._seed = seed
        self._syncs = syncs
        self.schedule_count = schedule_count

    def schedule(self, entry: ObjectState, now_ns: int) -> list[LifecycleAction]:
        """Schedule the next stage of an object, or keep or cancel the scheduled one.

        Raises
        ------
        StageError
            The delay of the stage is not valid for the object.
        """
        obj, scheduled, staged = entry.obj, entry.scheduled, entry.staged
        applying: tuple[int, ...] = ()
        if isinstance(obj, Node) and SOURCE_UID in obj.metadata.annotations:
            pass  # its status is that of another cluster
        elif not isinstance(obj, Pod):
            applying = staged.matcher.match(encode(obj), now_ns)
        elif obj.spec.node_name:
            applying = staged.matcher.match_pod(obj, now_ns)
        if not applying:
            return self._schedule_needed_sync(entry, now_ns)
        fixed: FixedSchedule | None = None
        if len(applying) == 1:
            schedules = staged.schedules[applying[0]]
            fixed = schedules.always or schedules.for_document(encode(obj))
        if fixed is not None:  # the common case
            if scheduled is not None and scheduled.basis == fixed[0]:
                return []
            basis, delay_ns, index, name = fixed
            due_ns = now_ns + delay_ns
        else:
            found = self._draw_stage(entry, applying, now_ns)
            if found is None:
                return []
            basis, due_ns, index, name = found
        entry.schedule_count += 1
        return [self._assign(entry, index, due_ns, basis, name)]

    def schedule_again(self, entry: ObjectState, due_ns: int, basis: str) -> ScheduleStage:
        """Schedule the scheduled stage of an object for a later time, with another basis."""
        assert entry.scheduled is not None, f"{entry.key} has no scheduled stage"
        return self._assign(entry, entry.scheduled.stage, due_ns, basis, entry.stage_name)

    def schedule_sync(self, entry: ObjectState, due_ns: int) -> ScheduleStage:
        """Schedule a sync of an object by its kubelet."""
        return self._assign(entry, KUBELET, due_ns, "", KUBELET_NAME)

    def _assign(
        self, entry: ObjectState, index: int, due_ns: int, basis: str, name: str
    ) -> ScheduleStage:
        number = self.schedule_count
        self.schedule_count = number + 1
        entry.scheduled = ScheduledStage(number, index, due_ns, basis)
        return ScheduleStage(due_ns, entry.due_event(number), name)

    def _schedule_needed_sync(self, entry: ObjectState, now_ns: int) -> list[LifecycleAction]:
        """Schedule a sync of an object to which no stage applies, if its kubelet needs one."""
        syncs, obj = self._syncs, entry.obj
        if syncs is not None and entry.is_removed:
            return []
        if syncs is None or not syncs.has_kubelet(obj):
            entry.scheduled = None
            return []
        needed = syncs.is_needed(obj, entry.scheduled, now_ns)
        return [self.schedule_sync(entry, now_ns)] if needed else []

    def _draw_stage(
        self, entry: ObjectState, applying: Sequence[int], now_ns: int
    ) -> tuple[str, int, int, str] | None:
        """Draw a stage and its delay.

        Returns
        -------
        (str, int, int, str) or None
            Basis, due time, index and name of the stage; None if the scheduled stage stays.
        """
        document = encode(entry.obj)
        stages = [entry.staged.stages[index] for index in applying]
        try:
            weights = [stage.weight.of(document, now_ns) for stage in stages]
            sources = [stage.delay.sources(document, now_ns) for stage in stages]
        except StageExpressionError:
            # As in KWOK, no stage is played until the object changes.
            entry.scheduled = None
            return None
        basis = basis_of(applying, weights, sources)
        if entry.scheduled is not None and entry.scheduled.basis == basis:
            return None
        chosen = 0
        if len(applying) > 1:
            number = draw(self._seed, STAGE_STREAM, _counter(entry))
            chosen = choose(weights, number)
        stage = stages[chosen]
        try:
            least_ns, most_ns = stage.delay.bounds(sources[chosen], now_ns)
        except ValueError as error:
            raise stage_error(stage, entry.obj, str(error)) from None
        number = draw(self._seed, DELAY_STREAM, _counter(entry))
        due_ns = now_ns + delay_between(least_ns, most_ns, number)
        return basis, due_ns, applying[chosen], stage.name


def _counter(entry: ObjectState) -> int:
    """Return the counter of a draw, which depends on the object and its schedule count only."""
    staged = entry.staged
    parts = (staged.group, staged.name, entry.key, entry.obj.uid, str(entry.schedule_count))
    text = "\0".join(parts)
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")
