"""The feature gates of kube-scheduler 1.36 that podwright knows.

A gate has a stage, a default and possibly a lock. `parse_gates` reads what
`--feature-gates` takes; `Gates` answers `"Name" in gates`.

Upstream: pkg/features/kube_features.go, k8s.io/component-base/featuregate
"""

from collections.abc import Iterator, Mapping
from typing import Literal

import msgspec

from podwright.config.field import did_you_mean, problem, raise_errors
from podwright.objects import FieldError

Stage = Literal["Alpha", "Beta", "GA"]
Effect = Literal["configuration", "decisions", "machine"]
"""The parts of podwright that a gate changes: defaults and validation of the configuration;
scheduling decisions; the queue and the order of work in a machine."""


class Gate(msgspec.Struct, frozen=True):
    """One gate of 1.36.

    Parameters
    ----------
    locked : bool
        Whether the gate is locked to its default.
    requires : tuple of str
        The gates that must be enabled with it.
    effects : tuple of Effect
        Its effects in podwright; empty: it is accepted and changes nothing.
    """

    stage: Stage
    default: bool
    locked: bool = False
    requires: tuple[str, ...] = ()
    effects: tuple[Effect, ...] = ()


def _on(*effects: Effect, requires: tuple[str, ...] = ()) -> Gate:
    return Gate("Beta", default=True, requires=requires, effects=effects)


def _alpha(*effects: Effect, requires: tuple[str, ...] = ()) -> Gate:
    return Gate("Alpha", default=False, requires=requires, effects=effects)


_LOCKED = Gate("GA", default=True, locked=True)
_GA = Gate("GA", default=True)
_BETA_OFF = Gate("Beta", default=False)

GATES: Mapping[str, Gate] = {
    "ClearingNominatedNodeNameAfterBinding": _on(),
    "DRAAdminAccess": _LOCKED,
    "DRAConsumableCapacity": _on(),
    "DRADeviceBindingConditions": _on("configuration", requires=("DRAResourceClaimDeviceStatus",)),
    "DRADeviceTaintRules": Gate("Beta", default=False, requires=("DRADeviceTaints",)),
    "DRADeviceTaints": _on(),
    "DRAExtendedResource": _on("machine"),
    "DRAListTypeAttributes": _alpha(),
    "DRANodeAllocatableResources": _alpha(),
    "DRAPartitionableDevices": _on(),
    "DRAPrioritizedList": _GA,
    "DRAResourceClaimDeviceStatus": _on("configuration"),
    "DRASchedulerFilterTimeout": _on("configuration"),
    "DRAWorkloadResourceClaims": _alpha(requires=("GenericWorkload",)),
    "DynamicResourceAllocation": _LOCKED,
    "GangScheduling": _alpha("configuration", "machine", requires=("GenericWorkload",)),
    "GenericWorkload": _alpha("configuration"),
    "InPlacePodLevelResourcesVerticalScaling": _on(
        requires=("InPlacePodVerticalScaling", "PodLevelResources")
    ),
    "InPlacePodVerticalScaling": _LOCKED,
    "MatchLabelKeysInPodAffinity": _LOCKED,
    "MatchLabelKeysInPodTopologySpread": _on("decisions"),
    "MatchLabelKeysInPodTopologySpreadSelectorMerge": _on(
        requires=("MatchLabelKeysInPodTopologySpread",)
    ),
    "MutableCSINodeAllocatableCount": _LOCKED,
    "MutablePVNodeAffinity": _alpha(),
    "NodeDeclaredFeatures": _on("configuration", "decisions"),
    "NodeInclusionPolicyInPodTopologySpread": _LOCKED,
    "NominatedNodeNameForExpectation": _on("machine"),
    "OpportunisticBatching": _on("machine"),
    "PodLevelResources": _on("decisions", "machine"),
    "PodSchedulingReadiness": _LOCKED,
    "PodTopologyLabelsAdmission": _on(),
    "SchedulerAsyncAPICalls": _BETA_OFF,
    "SchedulerAsyncPreemption": _on("machine"),
    "SchedulerPopFromBackoffQ": _on("machine"),
    "SchedulerQueueingHints": _LOCKED,
    "SidecarContainers": _LOCKED,
    "StorageCapacityScoring": _alpha("configuration", "decisions"),
    "TaintTolerationComparisonOperators": _alpha("decisions"),
    # It enables plugins that are not implemented.
    "TopologyAwareWorkloadScheduling": _alpha(requires=("GenericWorkload",)),
    "VolumeAttributesClass": _LOCKED,
    "VolumeLimitScaling": _alpha("decisions"),
    "WorkloadAwarePreemption": _alpha(requires=("GangScheduling",)),
    "WorkloadWithJob": _alpha(requires=("GenericWorkload",)),
}
"""Every gate podwright knows, by name."""

_GROUPS: Mapping[str, Stage] = {"AllAlpha": "Alpha", "AllBeta": "Beta"}
# Go's strconv.ParseBool.
_BOOLEANS = dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True) | dict.fromkeys(
    ("0", "f", "F", "false", "FALSE", "False"), False
)


class Gates(msgspec.Struct, frozen=True):
    """The enabled gates; a gate that is not set has its default of 1.36.

    Parameters
    ----------
    changed : dict of str to bool
        The gates that differ from their default, sorted by name. `parse_gates` and
        `set_gates` build it and reject what upstream rejects.
    """

    changed: Mapping[str, bool] = {}

    def __contains__(self, name: object) -> bool:
        """Report whether a gate is enabled; an unknown name is a programming error."""
        assert isinstance(name, str), name
        return self.changed.get(name, GATES[name].default)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the enabled gates, sorted."""
        return (name for name in sorted(GATES) if name in self)


DEFAULT_GATES = Gates()


def without_effect(gates: Gates, *concerned: Effect) -> tuple[str, ...]:
    """Return the changed gates without any of these effects, sorted by name."""
    return tuple(name for name in gates.changed if not {*GATES[name].effects} & {*concerned})


def parse_gates(text: str, *, source: str = "--feature-gates") -> Gates:
    """Read `Name=true,Other=false`, with the groups AllAlpha and AllBeta.

    A name given twice has the last value, as upstream.

    Raises
    ------
    InputError
        Unknown names, locked gates, missing or malformed values: all of them together.
    """
    values: dict[str, bool] = {}
    errors: list[FieldError] = []
    for part in text.split(","):
        if not part:
            continue
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals:
            errors.append(problem("", f"missing bool value for {name}"))
        elif value not in _BOOLEANS:
            errors.append(
                problem(
                    "",
                    f"invalid value of {name}={value}, err: "
                    f'strconv.ParseBool: parsing "{value}": invalid syntax',
                )
            )
        else:
            values[name] = _BOOLEANS[value]
    gates = _apply(values, errors)
    raise_errors(errors, source=source)
    return gates


def set_gates(values: Mapping[str, bool], *, source: str = "feature gates") -> Gates:
    """Set gates by name; the same refusals as `parse_gates`."""
    errors: list[FieldError] = []
    gates = _apply(values, errors)
    raise_errors(errors, source=source)
    return gates


def _apply(values: Mapping[str, bool], errors: list[FieldError]) -> Gates:
    enabled = {name: gate.default for name, gate in GATES.items()}
    # A group moves only what is not named itself, whatever the order of the list.
    for group, stage in _GROUPS.items():
        if group in values:
            enabled |= {n: values[group] for n, gate in GATES.items() if gate.stage == stage}
    for name, value in sorted(values.items()):
        if name in _GROUPS:
            continue
        gate = GATES.get(name)
        if gate is None:
            hint = did_you_mean(name, [*GATES, *_GROUPS])
            errors.append(problem("", f"unrecognized feature gate: {name}{hint}"))
        elif gate.locked and value != gate.default:
            errors.append(
                problem(
                    "",
                    f"cannot set feature gate {name} to {str(value).lower()}, "
                    f"feature is locked to {str(gate.default).lower()}",
                )
            )
        else:
            enabled[name] = value
    for name, gate in GATES.items():
        off = [required for required in gate.requires if not enabled[required]]
        if enabled[name] and off:
            errors.append(
                problem(
                    "",
                    f"{name} is enabled, but depends on features that are disabled: "
                    f"[{' '.join(off)}]",
                )
            )
    return Gates({n: on for n, on in enabled.items() if on != GATES[n].default})
