"""Build the v1.16 rules from a configuration: the algorithm, runners, and the rule set.

Upstream: cmd/kube-scheduler/app/options/options.go, pkg/scheduler/factory/factory.go (1.16);
pkg/scheduler/scheduler.go, `preempt` (1.16); pkg/scheduler/eventhandlers.go (1.16).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from podwright.apimachinery.objects import (
    FieldError,
    InputError,
    KubernetesObject,
    Object,
    Pod,
    nearest,
)
from podwright.scheduler.assembly.registry import Registry
from podwright.scheduler.classic import (
    PROVIDERS,
    Algorithm,
    ClassicQueue,
    ClassicQueueSettings,
    ClassicRunner,
    MirroredCluster,
    ParallelizeUntil,
    Policy,
    PolicyError,
    affinity_weight_problem,
    algorithm_from_policy,
    algorithm_of_provider,
    called_extender,
    in_order,
    queue_calls,
    read_policy,
)
from podwright.scheduler.columns import Cluster
from podwright.scheduler.config import DEFAULT_GATES, EffectiveConfiguration, Extender, Rules
from podwright.scheduler.framework import (
    CalledExtender,
    ClusterEvent,
    Plugin,
    Profile,
    Runner,
    Status,
)
from podwright.scheduler.machine import (
    DEFAULT_OPTIONS,
    BindingCycles,
    DeletePod,
    EventHandlers,
    Eviction,
    Evictions,
    Failure,
    Machine,
    QueueCallbacks,
    RuleParts,
    RunningProfile,
    SchedulerOptions,
    State,
    emit,
    forget,
    has_lost_its_node,
    object_key,
    patch_status,
)
from podwright.scheduler.preemption import Preemption

ASSUMED_POD_EXPIRY_NS = 30_000_000_000
"""How long a bound pod stayed assumed without confirmation by the API server.

Upstream: pkg/scheduler/scheduler.go, `New` (1.16)
"""

_POLICY_PATH = "rules.policy"


class ClassicSetup(msgspec.Struct, frozen=True, kw_only=True):
    """The v1.16 rules of a configuration.

    Parameters
    ----------
    algorithm : Algorithm
    queue : ClassicQueueSettings
    percentage_of_nodes_to_score : int
        0: by the size of the cluster.
    non_preempting_priority : bool
        The gate of that name.
    parallelize_until : ParallelizeUntil
        How independent pieces of work are run.
    """

    algorithm: Algorithm
    queue: ClassicQueueSettings = ClassicQueueSettings()
    percentage_of_nodes_to_score: int = 0
    non_preempting_priority: bool = False
    parallelize_until: ParallelizeUntil = in_order

    def runner(self, profile: Profile, cluster: MirroredCluster, *, seed: int) -> ClassicRunner:
        """Return the runner of a profile."""
        return ClassicRunner(
            profile,
            cluster,
            self.algorithm,
            seed=seed,
            percentage_of_nodes_to_score=self.percentage_of_nodes_to_score,
            non_preempting_priority=self.non_preempting_priority,
            parallelize_until=self.parallelize_until,
        )


def classic_setup(
    configuration: EffectiveConfiguration,
    *,
    parallelize_until: ParallelizeUntil = in_order,
    source: str = "configuration",
) -> ClassicSetup:
    """Return the v1.16 rules of a configuration that chooses them.

    Raises
    ------
    InputError
        With all errors of the rules.
    """
    rules = configuration.configuration.rules
    assert rules is not None, "the configuration chooses other rules"
    return ClassicSetup(
        algorithm=_algorithm(rules, source),
        queue=ClassicQueueSettings(
            initial_backoff_ns=configuration.pod_initial_backoff_ns,
            max_backoff_ns=configuration.pod_max_backoff_ns,
            backoff_flush_ns=rules.backoff_flush_period_ns,
            unschedulable_flush_ns=rules.unschedulable_flush_period_ns,
            max_unschedulable_ns=rules.max_unschedulable_duration_ns,
        ),
        percentage_of_nodes_to_score=(
            configuration.configuration.percentage_of_nodes_to_score or 0
        ),
        non_preempting_priority=rules.non_preempting_priority,
        parallelize_until=parallelize_until,
    )


def _algorithm(rules: Rules, source: str) -> Algorithm:
    errors: list[FieldError] = []
    weight = rules.hard_pod_affinity_symmetric_weight
    problem = affinity_weight_problem(weight)
    if problem:
        path = "rules.hardPodAffinitySymmetricWeight"
        errors.append(FieldError(source=source, path=path, message=problem))
    provider = rules.algorithm_provider or "DefaultProvider"
    if provider not in PROVIDERS:
        errors.append(_unknown_provider(provider, source))
    policy = Policy()
    if rules.policy is not None:
        try:
            # An invalid weight is reported once.
            policy = read_policy(rules.policy, hard_pod_affinity_weight=1 if problem else weight)
        except PolicyError as error:
            errors += [_in_configuration(one, source) for one in error.errors]
    if errors:
        raise InputError(errors)
    as_1_7 = rules.balanced_allocation == "1.7"
    if rules.policy is None:
        return algorithm_of_provider(
            provider, hard_pod_affinity_weight=weight, balanced_as_1_7=as_1_7
        )
    return algorithm_from_policy(policy, hard_pod_affinity_weight=weight, balanced_as_1_7=as_1_7)


def _unknown_provider(name: str, source: str) -> FieldError:
    near = nearest(name, PROVIDERS)
    hint = f'; did you mean "{near}"?' if near else f"; available: {', '.join(PROVIDERS)}"
    return FieldError(
        source=source,
        path="rules.algorithmProvider",
        value=name,
        message=f'couldn\'t create scheduler using provider "{name}": '
        f'plugin "{name}" has not been registered{hint}',
    )


def _in_configuration(error: FieldError, source: str) -> FieldError:
    """Return an error of a policy with its path in the configuration."""
    path = f"{_POLICY_PATH}.{error.path}" if error.path else _POLICY_PATH
    return FieldError(source=source, path=path, message=error.message)


def policy_extenders(rules: Rules) -> tuple[Extender, ...]:
    """Return the extenders of a policy as those of a configuration.

    They are in the order of the policy; none if the policy is not valid.
    """
    if rules.policy is None:
        return ()
    try:
        policy = read_policy(rules.policy)
    except PolicyError:
        return ()
    return tuple(
        called_extender(index, settings).settings for index, settings in enumerate(policy.extenders)
    )


def called_extenders(algorithm: Algorithm) -> tuple[CalledExtender, ...]:
    """Return the extenders of a policy in the order in which they are called."""
    return tuple(called_extender(index, settings) for index, settings in algorithm.extenders)


def classic_profiles(
    configuration: EffectiveConfiguration, registry: Registry, *, source: str = "configuration"
) -> dict[str, Profile]:
    """Return a profile per scheduler name, with QueueSort and Bind plugins only."""

    def made(plugin: str) -> tuple[Plugin, ...]:
        return tuple(filter(None, [registry.make(plugin, None, source=source)]))

    def one(name: str) -> Profile:
        return Profile(
            scheduler_name=name, queue_sort=made("PrioritySort"), bind=made("DefaultBinder")
        )

    return {
        profile.scheduler_name: one(profile.scheduler_name) for profile in configuration.profiles
    }


class V116Assembly:
    """The parts of a scheduler under the rules of 1.16: an `Assembly`.

    Raises
    ------
    InputError
        With all errors of the rules.
    """

    def __init__(
        self,
        configuration: EffectiveConfiguration,
        registry: Registry,
        options: SchedulerOptions,
        parallelize_until: ParallelizeUntil,
    ) -> None:
        self._setup = classic_setup(
            configuration, parallelize_until=parallelize_until, source=options.source
        )
        self.profiles = classic_profiles(configuration, registry, source=options.source)
        self.extenders = called_extenders(self._setup.algorithm)
        # The gates of 1.36 do not apply to these rules.
        self._options = msgspec.structs.replace(
            options,
            gates=DEFAULT_GATES,
            assumed_pod_expiry_ns=options.assumed_pod_expiry_ns or ASSUMED_POD_EXPIRY_NS,
        )

    def new_cluster(self) -> Cluster:
        """Return an empty cluster with the objects that the rules read beside its columns."""
        return MirroredCluster()

    def reads(self, cluster: Cluster) -> bool:
        """Report whether a cluster has the objects that the rules read."""
        return isinstance(cluster, MirroredCluster)

    def runners(self, cluster: Cluster) -> dict[str, Runner]:
        """Return the runner of every scheduler name."""
        assert isinstance(cluster, MirroredCluster), "the cluster is not that of these rules"
        return {
            name: self._setup.runner(profile, cluster, seed=self._options.seed)
            for name, profile in self.profiles.items()
        }

    def machine(self) -> Machine:
        """Return a machine that runs every profile."""
        rules = V116RuleSet(self._setup, self._options)
        return Machine(self.profiles, self._options, rules=rules)


class _MachineQueue(ClassicQueue):
    """The queue of a machine; changes of objects reach it by `queue_calls` only.

    The machine also reports room that becomes free in its own memory, such as after a failed
    binding. kube-scheduler 1.16 did not move pods for that.
    """

    def move(
        self,
        event: ClusterEvent,
        now_ns: int,
        *,
        old: object | None = None,
        new: object | None = None,
        pre_check: Callable[[Pod], bool] | None = None,
    ) -> list[str]:
        """Move no pod."""
        return []


class V116RuleSet:
    """The rules of kube-scheduler 1.16 for a machine: a `RuleSet`."""

    can_snapshot = False
    """The node tree depends on the order of past events, which the objects do not contain. A run
    is repeated from its start."""

    keeps_nominations = True

    def __init__(self, setup: ClassicSetup, options: SchedulerOptions = DEFAULT_OPTIONS) -> None:
        self._setup = setup
        self._options = options

    def build(self, profiles: Mapping[str, Profile], callbacks: QueueCallbacks) -> RuleParts:
        """Build the queue of 1.16, and a runner per scheduler name over one cluster."""
        start_ns, seed = self._options.start_ns, self._options.seed
        queue = _MachineQueue(self._setup.queue, start_ns=start_ns, lookup=callbacks.lookup)
        cluster = MirroredCluster(queue.nominator)
        running = {
            name: RunningProfile(self._setup.runner(profile, cluster, seed=seed))
            for name, profile in profiles.items()
        }
        return RuleParts(cluster, queue, running)

    def evictions(self, state: State, bindings: BindingCycles) -> ClassicEvictions:
        """Delete victims at once."""
        return ClassicEvictions(state, bindings)

    def event_handlers(self, state: State, bindings: BindingCycles) -> ClassicEventHandlers:
        """Report changes to the queue without details, as 1.16 does."""
        return ClassicEventHandlers(state, bindings)

    def bind_failed(self, status: Status) -> Failure:
        """Describe an error in the words of 1.16.

        Upstream: pkg/scheduler/scheduler.go, scheduleOne
        """
        return Failure(message=f"Binding rejected: {status.message}", nominated_node=None)


# Preemption under the v1.16 rules: within the cycle, all victims at once.
#
# The preemptor is back in the queue and nominated. Then every victim is deleted, and the
# nominations of pods of lower priority to the node are cleared. Nothing waits for these calls:
# each observed deletion is a move request, which makes the preemptor schedulable again.
#
# Upstream waits for each call and stops at the first failure. Here all calls are made together.


class ClassicEvictions(Evictions):
    """Deletes victims in the event in which they are chosen."""

    def is_needed(self, preemption: Preemption) -> bool:
        """Report whether a pod is to be deleted, or a nomination to be cleared."""
        return bool(preemption.victims or preemption.cleared_nominations)

    def announce(
        self, preemptor: Pod, node: str, plugin: str, preemption: Preemption
    ) -> Eviction | None:
        """Prepare the eviction; the preemptor is not gated."""
        eviction = Eviction(preemptor, node, plugin, preemption.victims)
        eviction.to_clear = list(preemption.cleared_nominations)
        return eviction

    def start(self, eviction: Eviction) -> None:
        """Delete the victims, then clear nominations."""
        state, preemptor = self._state, eviction.preemptor
        for victim in eviction.victims:
            state.actions.append(DeletePod(state.next_call(), victim.key, victim.metadata.uid))
            emit(
                state,
                victim,
                "Normal",
                "Preempted",
                "Preempting",
                f"Preempted by {preemptor.key} on node {eviction.node}",
                controller=eviction.scheduler_name,
                related=preemptor.key,
            )
        for pod in eviction.to_clear:
            patch_status(state, pod, nominated_node="")
        state.metrics.preemption_tried(len(eviction.victims))


# Changes of objects under the v1.16 rules.
#
# What an object's change does to the cluster and to assumed pods is the same under all rules. What
# it does to the queue is `classic.queue_calls`, which is all of 1.16's event handlers.


class ClassicEventHandlers(EventHandlers):
    """Handles changes of objects as 1.16 does."""

    def put(self, obj: Object) -> None:
        """Handle a new object or a new version of one."""
        if isinstance(obj, Pod):
            self._put_pod(obj)
            return
        state = self._state
        key = object_key(obj, obj.key)
        old = state.objects.get(key)
        state.objects[key] = obj
        state.cluster.put(obj)
        self._call_queue(old, obj)

    def delete(self, obj: Object) -> None:
        """Handle a deleted object; unknown ones are ignored."""
        if isinstance(obj, Pod):
            self._delete_pod(obj)
            return
        state = self._state
        state.cluster.delete(obj)
        self._call_queue(state.objects.pop(object_key(obj, obj.key), None), None)

    def _put_pod(self, pod: Pod) -> None:
        state = self._state
        old = state.pods.get(pod.key)
        if old is not None and old.metadata.uid != pod.metadata.uid:
            # Deleted and created again; the deletion was not observed.
            self._delete_pod(old)
            old = None
        if has_lost_its_node(old, pod):
            return
        if pod.is_terminal:
            self._delete_pod(pod)
            return
        version = pod.metadata.resource_version
        if old is not None and version and version == old.metadata.resource_version:
            return
        self._keep(pod.key, old, pod)
        binding = state.assumed.get(pod.metadata.uid)
        if pod.spec.node_name:
            state.cluster.put(pod)
            state.assumed.pop(pod.metadata.uid, None)
        elif binding is not None and pod.is_terminating:
            forget(state, binding)
            return
        self._call_queue(old, pod, assumed=None if binding is None else binding.assumed_pod)

    def _delete_pod(self, pod: Pod) -> None:
        state = self._state
        old = state.pods.get(pod.key)
        if old is None or old.metadata.uid != pod.metadata.uid:
            # An outdated event: the pod is gone already, and another one may have its name.
            return
        del state.pods[pod.key]
        state.expired.discard(old.metadata.uid)
        if old.spec.node_name:
            state.cluster.delete(pod)
        elif (binding := state.assumed.get(old.metadata.uid)) is not None:
            # 1.16 makes no move request for an assumed pod.
            forget(state, binding)
        self._call_queue(old, None)

    def _call_queue(
        self,
        old: KubernetesObject | None,
        new: KubernetesObject | None,
        *,
        assumed: Pod | None = None,
    ) -> None:
        state = self._state
        queue, now_ns = state.queue, state.now_ns
        assert isinstance(queue, ClassicQueue), type(queue).__name__
        changed = old if new is None else new
        name = changed.spec.scheduler_name if isinstance(changed, Pod) else ""
        calls = queue_calls(
            old,
            new,
            # No scheduler name is "\0", so other schedulers' pods make no calls.
            scheduler_name=name if name in state.profiles else "\0",
            unschedulable_count=queue.unschedulable_count,
            assumed=assumed,
        )
        for call in calls:
            if call.pod is None:
                queue.move_all_to_active_queue(now_ns)
            elif call.name == "Add":
                queue.add(call.pod, now_ns)
            elif call.name == "Update":
                queue.update(call.old, call.pod, now_ns)
            elif call.name == "Delete":
                queue.delete(call.pod, now_ns)
            else:
                # Updates of assigned pods move the same pods.
                assert call.name in ("AssignedPodAdded", "AssignedPodUpdated"), call.name
                queue.assigned_pod_added(call.pod, now_ns)
