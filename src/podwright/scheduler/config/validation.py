"""Validation of a configuration after defaulting, with kube-scheduler's error texts.

`validate` checks the whole configuration and returns all errors; it does not raise.

Upstream: pkg/scheduler/apis/config/validation/validation.go,
staging/src/k8s.io/component-base/config/validation/validation.go; pkg/scheduler/extender.go,
makeTransport; staging/src/k8s.io/client-go/transport/transport.go, TLSConfigFor.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from podwright.apimachinery.documents import Keys, duplicate, invalid, problem, required
from podwright.apimachinery.objects import FieldError, format_duration, label_key_errors
from podwright.scheduler.config.args_validation import (
    validate_balanced_allocation_args,
    validate_coscheduling_args,
    validate_default_preemption_args,
    validate_dynamic_resources_args,
    validate_inter_pod_affinity_args,
    validate_node_affinity_args,
    validate_node_resources_fit_args,
    validate_pod_topology_spread_args,
    validate_volume_binding_args,
)
from podwright.scheduler.config.expand import POINT_TYPES, set_at
from podwright.scheduler.config.gates import DEFAULT_GATES, Gates
from podwright.scheduler.config.schema import (
    API_VERSION,
    ARGS_TYPES,
    ClientConnection,
    Extender,
    ExtenderTLSConfig,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    LeaderElection,
    Plugins,
    PluginSet,
    Rules,
)

# Whether the TLS settings of extenders can be loaded, as kube-scheduler loads them at its start.
#
# Files are read by a function of the caller; certificates are not parsed beyond their PEM markers.

ReadFile: TypeAlias = Callable[[str], bytes]
"""Returns the content of a file; raises OSError."""

_PEM = b"-----BEGIN "


def tls_errors(extenders: tuple[Extender, ...], read_file: ReadFile) -> Iterator[FieldError]:
    """Yield at most one error per extender."""
    for index, extender in enumerate(extenders):
        if extender.tls_config is not None:
            message = _error_of(extender, extender.tls_config, read_file)
            if message:
                path = f"extenders[{index}].tlsConfig"
                yield problem(path, f"couldn't build extenders: {message}")


def _error_of(extender: Extender, tls: ExtenderTLSConfig, read_file: ReadFile) -> str:
    has_ca = bool(tls.ca_data or tls.ca_file)
    has_cert = bool(tls.cert_data or tls.cert_file) and bool(tls.key_data or tls.key_file)
    is_insecure = tls.insecure or (extender.enable_https and not has_ca)
    if has_ca and is_insecure:
        return "specifying a root certificates file with the insecure flag is not allowed"
    if not (has_ca or has_cert or is_insecure or tls.server_name):
        return ""
    try:
        ca, cert, key = (
            data or (read_file(file) if file else b"")
            for data, file in (
                (tls.ca_data, tls.ca_file),
                (tls.cert_data, tls.cert_file),
                (tls.key_data, tls.key_file),
            )
        )
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        return f"open {error.filename}: {reason}"
    if ca and _PEM not in ca:
        return "unable to load root certificates: unable to parse bytes as PEM block"
    if has_cert and _PEM not in cert:
        return "tls: failed to find any PEM data in certificate input"
    if has_cert and _PEM not in key:
        return "tls: failed to find any PEM data in key input"
    return ""


# Names of extended resources.


def is_extended_resource_name(name: str) -> bool:
    """Report whether a resource is neither native nor a quota's.

    Notes
    -----
    Upstream: pkg/apis/core/v1/helper/helpers.go, IsExtendedResourceName
    """
    is_native = "/" not in name or "kubernetes.io/" in name
    if is_native or name.startswith("requests."):
        return False
    return not label_key_errors(f"requests.{name}")


__all__ = [
    "REMOVED_PLUGINS",
    "ReadFile",
    "is_extended_resource_name",
    "tls_errors",
    "validate",
    "validate_node_resources_fit_args",
    "validate_rules",
]

REMOVED_PLUGINS = frozenset({"AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"})
"""Plugins of older configuration versions that v1 rejects by name."""

# NodeResourcesFit is missing on purpose: upstream registers it as NodeResourcesFitArgs
# (`_MISNAMED`, which no arguments fit), so
# its arguments are validated only when the plugin is built (`defaults.effective`).
_VALIDATORS: dict[str, Callable[[str, Any, Gates], Iterator[FieldError]]] = {
    "Coscheduling": validate_coscheduling_args,
    "DefaultPreemption": validate_default_preemption_args,
    "DynamicResources": validate_dynamic_resources_args,
    "InterPodAffinity": validate_inter_pod_affinity_args,
    "NodeAffinity": validate_node_affinity_args,
    "NodeResourcesBalancedAllocation": validate_balanced_allocation_args,
    "PodTopologySpread": validate_pod_topology_spread_args,
    "VolumeBinding": validate_volume_binding_args,
}
_MISNAMED = "NodeResourcesFitArgs"
# Upstream looks for removed plugins at these points only, not under multiPoint.
_POINTS_WITH_REMOVED = tuple(p for p in POINT_TYPES if not p.startswith("placement"))


def validate_rules(configuration: KubeSchedulerConfiguration) -> list[FieldError]:
    """Return the errors of settings that the chosen rules do not allow."""
    rules = configuration.rules
    if rules is None:
        return []
    if rules.name == "modern":
        return [] if rules == Rules() else [problem("rules", _NO_SETTINGS_OF_V136)]
    errors = []
    if rules.policy is not None and rules.algorithm_provider:
        errors.append(problem("rules.algorithmProvider", "a policy is used instead of a provider"))
    for index, profile in enumerate(configuration.profiles):
        for field, value in (("plugins", profile.plugins), ("pluginConfig", profile.plugin_config)):
            if value and value != Plugins():
                errors.append(problem(f"profiles[{index}].{field}", _CLASSIC_HAVE_NO_PLUGINS))
    if configuration.extenders:
        errors.append(problem("extenders", "the v1.16 rules read extenders from rules.policy"))
    periods = ("backoffFlushPeriod", "unschedulableFlushPeriod", "maxUnschedulableDuration")
    for name, value_ns in zip(
        periods,
        (
            rules.backoff_flush_period_ns,
            rules.unschedulable_flush_period_ns,
            rules.max_unschedulable_duration_ns,
        ),
        strict=True,
    ):
        if value_ns <= 0:
            text = format_duration(value_ns)
            errors.append(invalid(f"rules.{name}", text, "must be greater than zero"))
    return errors


_NO_SETTINGS_OF_V136 = 'settings of the v1.16 rules, but not "name: classic"'
_CLASSIC_HAVE_NO_PLUGINS = (
    "the v1.16 rules have predicates and priorities, not plugins: see rules.policy"
)


def validate(
    configuration: KubeSchedulerConfiguration, gates: Gates = DEFAULT_GATES
) -> list[FieldError]:
    """Return all errors of a configuration after defaulting."""
    return [
        *_client_connection(configuration.client_connection),
        *_leader_election(configuration.leader_election),
        *_parallelism(configuration.parallelism),
        *_profiles(configuration.profiles, gates),
        *_percentage("percentageOfNodesToScore", configuration.percentage_of_nodes_to_score),
        *_backoff(configuration),
        *_extenders(configuration.extenders),
    ]


def _client_connection(connection: ClientConnection) -> Iterator[FieldError]:
    if connection.burst < 0:
        yield invalid("clientConnection.burst", connection.burst, "must be non-negative")


def _leader_election(election: LeaderElection) -> Iterator[FieldError]:
    if not election.leader_elect:
        return
    durations = {
        "leaseDuration": election.lease_duration_ns,
        "renewDeadline": election.renew_deadline_ns,
        "retryPeriod": election.retry_period_ns,
    }
    for name, duration_ns in durations.items():
        if duration_ns <= 0:
            value = format_duration(duration_ns)
            yield invalid(f"leaderElection.{name}", value, "must be greater than zero")
    if election.lease_duration_ns <= election.renew_deadline_ns:
        # Upstream quotes the renew deadline here, under the lease duration's path.
        value = format_duration(election.renew_deadline_ns)
        detail = "must be greater than `RenewDeadline`"
        yield invalid("leaderElection.leaseDuration", value, detail)
    texts = {
        "resourceLock": election.resource_lock,
        "resourceNamespace": election.resource_namespace,
        "resourceName": election.resource_name,
    }
    for name, text in texts.items():
        if not text:
            yield required(f"leaderElection.{name}")
    if election.resource_lock != "leases":
        yield invalid(
            "leaderElection.resourceLock",
            election.resource_lock,
            'resourceLock value must be "leases"',
        )


def _parallelism(parallelism: int) -> Iterator[FieldError]:
    if parallelism <= 0:
        yield invalid("parallelism", parallelism, "should be an integer value greater than zero")


def _percentage(path: str, percentage: int | None) -> Iterator[FieldError]:
    if percentage is not None and not 0 <= percentage <= 100:
        yield invalid(path, percentage, "not in valid range [0-100]")


def _backoff(configuration: KubeSchedulerConfiguration) -> Iterator[FieldError]:
    initial = configuration.pod_initial_backoff_seconds
    maximum = configuration.pod_max_backoff_seconds
    if initial <= 0:
        yield invalid("podInitialBackoffSeconds", initial, "must be greater than 0")
    if maximum < initial:
        detail = "must be greater than or equal to PodInitialBackoffSeconds"
        yield invalid("podMaxBackoffSeconds", maximum, detail)


# ------------------------------------------------------------------ profiles


def _profiles(profiles: tuple[KubeSchedulerProfile, ...], gates: Gates) -> Iterator[FieldError]:
    if not profiles:
        yield required("profiles")
        return
    index_of: dict[str, int] = {}
    for index, profile in enumerate(profiles):
        path = f"profiles[{index}]"
        yield from _profile(path, profile, gates)
        name = profile.scheduler_name or ""
        if name in index_of:
            # Upstream prints its own path type, which has no public fields.
            yield duplicate(f"{path}.schedulerName", {})
        index_of[name] = index
    yield from _common_queue_sort(profiles)


def _profile(path: str, profile: KubeSchedulerProfile, gates: Gates) -> Iterator[FieldError]:
    if not profile.scheduler_name:
        yield required(f"{path}.schedulerName")
    yield from _percentage(f"{path}.percentageOfNodesToScore", profile.percentage_of_nodes_to_score)
    if profile.plugins is not None:
        for point in _POINTS_WITH_REMOVED:
            for index, plugin in enumerate(set_at(profile.plugins, point).enabled):
                yield from _removed(f"{path}.plugins.{point}.enabled[{index}]", plugin.name)
    yield from _plugin_config(path, profile, gates)


def _plugin_config(path: str, profile: KubeSchedulerProfile, gates: Gates) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, entry in enumerate(profile.plugin_config):
        entry_path = f"{path}.pluginConfig[{index}]"
        if entry.name in seen:
            yield duplicate(entry_path, entry.name)
        seen.add(entry.name)
        yield from _removed(entry_path, entry.name)
        validator = _VALIDATORS.get(entry.name)
        if entry.name == _MISNAMED:
            args = _as_printed(entry.args)
            yield invalid(f"{entry_path}.args", args, "has to match plugin args")
        if validator is None:
            continue
        if isinstance(entry.args, ARGS_TYPES[entry.name]):
            yield from validator(f"{entry_path}.args", entry.args, gates)
        else:
            yield invalid(f"{entry_path}.args", entry.args, "has to match plugin args")


def _removed(path: str, name: str) -> Iterator[FieldError]:
    if name in REMOVED_PLUGINS:
        yield invalid(
            path,
            name,
            # Upstream names its version of core/v1 here.
            f'was invalid in version "v1" (KubeSchedulerConfiguration is version "{API_VERSION}")',
        )


def _common_queue_sort(profiles: tuple[KubeSchedulerProfile, ...]) -> Iterator[FieldError]:
    """Validate that all profiles sort the queue, which they share, in the same way."""
    canon = _queue_sort(profiles[0])
    if len(canon.enabled) > 1:
        # The capital E is upstream's.
        path = "profiles[0].plugins.queueSort.Enabled"
        yield invalid(path, len(canon.enabled), "only one queue sort plugin can be enabled")
    # Without a queue sort plugin upstream compares arguments of plugins without a name.
    name = canon.enabled[0].name if canon.enabled else ""
    args = [e.args for e in profiles[0].plugin_config if name and e.name == name]
    for index, profile in enumerate(profiles[1:], start=1):
        current = _queue_sort(profile)
        if current != canon:
            path = f"profiles[{index}].plugins.queueSort"
            yield invalid(path, _internal(current), "must be the same for all profiles")
        for entry in profile.plugin_config:
            if entry.name == name and entry.args != (args[-1] if args else None):
                path = f"profiles[{index}].pluginConfig.args"
                detail = "queueSort must be the same for all profiles"
                yield invalid(path, _as_printed(entry.args), detail)


def _as_printed(args: object) -> object:
    """Return arguments without a type as upstream prints them: those of YAML with sorted keys."""
    if isinstance(args, Keys) and args.is_yaml:
        return json.loads(json.dumps(args, sort_keys=True))
    return args


def _internal(plugin_set: PluginSet) -> dict[str, list[dict[str, object]] | None]:
    """Return a plugin set as upstream prints its internal type."""
    return {
        name: [{"Name": plugin.name, "Weight": plugin.weight} for plugin in plugins] or None
        for name, plugins in (("Enabled", plugin_set.enabled), ("Disabled", plugin_set.disabled))
    }


def _queue_sort(profile: KubeSchedulerProfile) -> PluginSet:
    return profile.plugins.queue_sort if profile.plugins is not None else PluginSet()


# ------------------------------------------------------------------ extenders


def _extenders(extenders: tuple[Extender, ...]) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, extender in enumerate(extenders):
        path = f"extenders[{index}]"
        if extender.prioritize_verb and extender.weight <= 0:
            detail = "must have a positive weight applied to it"
            yield invalid(f"{path}.weight", extender.weight, detail)
        for number, resource in enumerate(extender.managed_resources):
            name_path = f"{path}.managedResources[{number}].name"
            yield from _extended_resource(name_path, resource.name)
            if resource.name in seen:
                yield invalid(name_path, resource.name, "duplicate extender managed resource name")
            seen.add(resource.name)
    binders = sum(bool(extender.bind_verb) for extender in extenders)
    if binders > 1:
        value = f"found {binders} extenders implementing bind"
        yield invalid("extenders", value, "only one extender can implement bind")


def _extended_resource(path: str, name: str) -> Iterator[FieldError]:
    problems = label_key_errors(name)
    for wrong in problems:
        yield invalid(path, name, wrong)
    if not problems and not is_extended_resource_name(name):
        yield invalid(path, name, "is an invalid extended resource name")
