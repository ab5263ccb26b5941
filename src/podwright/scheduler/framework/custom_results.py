"""Custom results: texts that plugins add to the explanation of a pod.

A plugin may add texts under keys that it chooses. They appear in the explanation of the cycle
and among the annotations that kube-scheduler-simulator would write. They do not affect
decisions.

Upstream: simulator/scheduler/plugin/wrappedplugin.go, `SimulatorHandle.AddCustomResult`
(kube-scheduler-simulator)
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from podwright.scheduler.framework.cycle import Cycle, StateKey

_RESULTS: Final = StateKey[Mapping[str, str]]("podwright/custom-results")
_NONE: Final[Mapping[str, str]] = MappingProxyType({})


def add_custom_result(cycle: Cycle, key: str, result: str) -> None:
    """Add a text about the pod of a cycle.

    Parameters
    ----------
    cycle : Cycle
        The argument of any extension point.
    key : str
        The name of the annotation; an earlier text with the same key is replaced.
    """
    cycle.write(_RESULTS, {**custom_results(cycle), key: result})


def custom_results(cycle: Cycle) -> Mapping[str, str]:
    """Return all texts that were added, by key."""
    return cycle.find(_RESULTS) or _NONE
