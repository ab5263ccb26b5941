"""Build the v1.16 rules from a configuration: the algorithm, runners, and the rule set.

Upstream: cmd/kube-scheduler/app/options/options.go, pkg/scheduler/factory/factory.go (1.16)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from podwright.apimachinery.objects import FieldError, InputError, Pod, nearest
from podwright.scheduler.assembly.classic_events import ClassicEventHandlers
from podwright.scheduler.assembly.classic_evictions import ClassicEvictions
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
    read_policy,
)
from podwright.scheduler.columns import Cluster
from podwright.scheduler.config import DEFAULT_GATES, EffectiveConfiguration, Extender, Rules
from podwright.scheduler.framework import CalledExtender, ClusterEvent, Plugin, Profile, Runner
from podwright.scheduler.machine import (
    DEFAULT_OPTIONS,
    BindingCycles,
    Machine,
    QueueCallbacks,
    RuleParts,
    RunningProfile,
    SchedulerOptions,
    State,
)

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
    hint = f'; did you mean "{near}"?' if near else f"; there are: {', '.join(PROVIDERS)}"
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

    They are in the order in which they are called; none if the policy is not valid.
    """
    if rules.policy is None:
        return ()
    try:
        policy = read_policy(rules.policy)
    except PolicyError:
        return ()
    return tuple(called_extender(0, settings).settings for settings in policy.extenders)


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
