"""The scheduler as a Python object: objects in, decisions out, nothing running by itself.

`deciding` has its decisions; advice for pods that do not fit is added here. It comes from trials,
which let the same scheduler decide again in a changed cluster.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

from podwright.scheduler import advice
from podwright.scheduler.assembly.deciding import DecidingScheduler, SchedulerState
from podwright.scheduler.assembly.trials import (
    Displacement,
    ReplicaTrial,
    SchedulerTrial,
    broken_affinity,
    displacement,
)
from podwright.scheduler.framework import Explanation, rejection_details

if TYPE_CHECKING:
    from podwright.scheduler.advice import Advice, NearNode, ReasonGroup, Remedy


class Scheduler(DecidingScheduler):
    """Decides where pods go.

    Parameters
    ----------
    configuration : KubeSchedulerConfiguration or SchedulerOptions, optional
        As `read_configuration` returns it; the default profile if left out.
    plugins, gates, seed, tie_rule, draws_preemption_offset
        As for `SchedulerOptions`.
    call_extender : callable, optional
        Makes the calls to the extenders of the configuration, which needs it if it has some:
        `podwright.online.client.ExtenderClient(configuration).call`, or anything that answers an
        `ExtenderCall` with an `ExtenderReply`. They are called about nodes, scores and
        victims, never to bind.
    parallelize_until : ParallelizeUntil, optional
        How the v1.16 rules run pieces of work that do not depend on each other, such
        as on a pool of threads; one after the other if left out. The decisions do not
        depend on it.

    Raises
    ------
    InputError
        If the configuration is wrong, a plugin does not take its arguments, there are
        extenders without `call_extender`, or an argument has no effect by the rules chosen.

    Examples
    --------
    >>> import podwright as pw
    >>> scheduler = pw.Scheduler()
    >>> scheduler.add(
    ...     pw.testing.make_node("small", cpu="2"), pw.testing.make_node("large", cpu="8")
    ... )
    >>> scheduler.add(pw.testing.make_pod("web", cpu="4"))
    >>> [decision.node for decision in scheduler.schedule_all()]
    ['large']
    """

    def remedies(
        self, explanation: Explanation, *, since: SchedulerState | None = None
    ) -> list[Remedy]:
        """Return changes after which a pod fits, the smallest first.

        `explanation` and `since` are those of `advice`.
        """
        return list(self.advice(explanation, since=since).remedies)

    def advice(self, explanation: Explanation, *, since: SchedulerState | None = None) -> Advice:
        """Return changes after which a pod fits, each of them tried, and what limits them.

        Call it before anything else is scheduled: trials start with the cluster as it is. They are
        reverted.

        Parameters
        ----------
        explanation : Explanation
            Of a pod that does not fit.
        since : SchedulerState, optional
            The state before the pods ahead in the queue were scheduled. They are scheduled again
            after a change of anything but the pod.
        """
        found = advice.find_advice(
            explanation,
            self.cluster,
            SchedulerTrial(self, explanation.pod, since),
            gates=self.configuration.gates,
            priority_classes=self._priority_classes,
            custom_plugins=self._custom_plugins,
        )
        limits = (*broken_affinity(explanation, self.cluster), *found.limits)
        return msgspec.structs.replace(found, limits=limits)

    @contextmanager
    def trying(self, remedy: Remedy) -> Iterator[ReplicaTrial]:
        """Make the changes of `remedy`, for trials of the other replicas; all is reverted.

        Call it in the state of the explanation.
        """
        pods = self.cluster.pods
        change = advice.Change(
            remedy.pod,
            put=remedy.put,
            delete=tuple(pods[key].pod for key in remedy.delete if key in pods),
            drop=remedy.drop,
            bypassed=remedy.bypassed,
        )
        with SchedulerTrial(self, remedy.pod, None).replicas(change) as trial:
            yield trial

    def displacement(self, explanation: Explanation, since: SchedulerState) -> Displacement | None:
        """Return which pods took the place of a pod that would fit alone.

        Parameters
        ----------
        explanation : Explanation
            Of a pod that does not fit.
        since : SchedulerState
            The state before the pods ahead in the queue were scheduled.

        Returns
        -------
        Displacement, optional
            None if the pod fits, or would not fit in that state either.
        """
        if explanation.decision.node or explanation.decision.ignored:
            return None
        return displacement(self, explanation.pod, since)

    def rejection_groups(self, explanation: Explanation) -> list[ReasonGroup]:
        """Return the nodes that reject the pod of `explanation`, grouped by reason.

        Call it before anything else is scheduled: it reads the cluster as it is.
        """
        gates = self.configuration.gates
        return advice.rejection_groups(explanation, self.cluster, gates=gates)

    def nearest_nodes(self, explanation: Explanation, *, limit: int | None = 5) -> list[NearNode]:
        """Return the nodes that come closest to taking a pod, and what each lacks.

        Call it before anything else is scheduled: it reads the cluster as it is.

        Parameters
        ----------
        explanation : Explanation
            Of a pod that does not fit.
        limit : int or None
            The most nodes; None for all.
        """
        gates, pod = self.configuration.gates, explanation.pod
        runner = self._runners.get(pod.spec.scheduler_name)
        details = None
        if runner is not None:
            details = rejection_details(runner.profile, self.cluster, pod)
        return advice.nearest_nodes(
            explanation, self.cluster, limit=limit, gates=gates, details=details
        )
