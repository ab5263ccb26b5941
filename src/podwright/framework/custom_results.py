"""What plugins want to be said of a pod besides their answers.

A plugin may leave texts of its own under keys of its own choice, to be found again by whoever
asks later what was decided and why: they are in the explanation of the cycle, and among the
annotations that kube-scheduler-simulator would write. They change no decision.

Upstream: simulator/scheduler/plugin/wrappedplugin.go, `SimulatorHandle.AddCustomResult`
(kube-scheduler-simulator)
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from podwright.framework.cycle import Cycle, StateKey

_RESULTS: Final = StateKey[Mapping[str, str]]("podwright/custom-results")
_NONE: Final[Mapping[str, str]] = MappingProxyType({})


def add_custom_result(cycle: Cycle, key: str, result: str) -> None:
    """Leave a text about the pod of a cycle.

    Parameters
    ----------
    cycle : Cycle
        As the plugin is given it at any extension point.
    key : str
        The name of the annotation; it replaces what was left under it before.
    """
    cycle.write(_RESULTS, {**custom_results(cycle), key: result})


def custom_results(cycle: Cycle) -> Mapping[str, str]:
    """Return all texts that were left, by key."""
    return cycle.find(_RESULTS) or _NONE
