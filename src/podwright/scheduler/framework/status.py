"""The result of an extension point: a code, reasons, and the plugin.

Upstream: staging/src/k8s.io/kube-scheduler/framework/interface.go, `Code` and `Status`.
"""

from __future__ import annotations

from enum import IntEnum
from typing import ClassVar

import msgspec


class Code(IntEnum):
    """The code of a Status; the names are upstream's."""

    SUCCESS = 0
    ERROR = 1
    UNSCHEDULABLE = 2
    UNSCHEDULABLE_AND_UNRESOLVABLE = 3
    WAIT = 4
    SKIP = 5
    PENDING = 6

    @property
    def label(self) -> str:
        """The code as upstream prints it, for example ``UnschedulableAndUnresolvable``."""
        return _LABELS[self]


_LABELS = {
    Code.SUCCESS: "Success",
    Code.ERROR: "Error",
    Code.UNSCHEDULABLE: "Unschedulable",
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE: "UnschedulableAndUnresolvable",
    Code.WAIT: "Wait",
    Code.SKIP: "Skip",
    Code.PENDING: "Pending",
}


class Status(msgspec.Struct, frozen=True, gc=False):
    """The result of one plugin at one extension point.

    Parameters
    ----------
    code : Code
        `Code.SUCCESS` by default, so ``Status()`` passes.
    reasons : tuple of str
        Sentences for the user; every rejection has at least one.
    plugin : str
        The name of the plugin; set by the runner.
    """

    code: Code = Code.SUCCESS
    reasons: tuple[str, ...] = ()
    plugin: str = ""

    OK: ClassVar[Status]
    SKIPPED: ClassVar[Status]

    def __post_init__(self) -> None:
        # An error here is one of the plugin that makes the status.
        if not isinstance(self.code, Code):
            raise _wrong("the code of a Status must be a Code", self.code)
        if not isinstance(self.reasons, tuple | list):
            raise _wrong("the reasons of a Status must be a tuple", self.reasons)
        for reason in self.reasons:
            if not isinstance(reason, str):
                raise _wrong("a reason of a Status must be text", reason)

    @classmethod
    def unschedulable(cls, *reasons: str) -> Status:
        """Reject, for `reasons`; removing pods may help."""
        return cls(Code.UNSCHEDULABLE, reasons)

    @classmethod
    def unresolvable(cls, *reasons: str) -> Status:
        """Reject, for `reasons`; removing pods cannot help."""
        return cls(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, reasons)

    @classmethod
    def skip(cls) -> Status:
        """Skip: the plugin does not apply to this pod (PreFilter, PreScore, Bind)."""
        return cls(Code.SKIP)

    @classmethod
    def wait(cls, *reasons: str) -> Status:
        """Hold the pod at Permit; `reasons` are shown while it waits."""
        return cls(Code.WAIT, reasons)

    @classmethod
    def pending(cls, *reasons: str) -> Status:
        """Reject, for `reasons`, until an event of this plugin; the pod then skips its backoff."""
        return cls(Code.PENDING, reasons)

    @classmethod
    def error(cls, *reasons: str) -> Status:
        """Report that the plugin failed, for `reasons`; the cycle ends without a decision."""
        return cls(Code.ERROR, reasons)

    @property
    def is_success(self) -> bool:
        """True if the code is SUCCESS."""
        return self.code == Code.SUCCESS

    @property
    def is_skip(self) -> bool:
        """True if the code is SKIP."""
        return self.code == Code.SKIP

    @property
    def is_rejection(self) -> bool:
        """True if the pod or node was refused, resolvable or not."""
        return self.code in _REJECTIONS

    @property
    def message(self) -> str:
        """The reasons, joined as upstream joins them."""
        return ", ".join(self.reasons)

    @property
    def failure(self) -> str:
        """What is wrong with a status that fails an attempt: its reasons, or else its code."""
        return self.message or f"returned {self.code.label}"

    def by(self, plugin: str) -> Status:
        """Return the same status with the plugin name `plugin`."""
        if self.plugin == plugin:
            return self
        if self is Status.OK:
            known = _SUCCESS_OF.get(plugin)
            if known is None:
                known = _SUCCESS_OF[plugin] = Status(plugin=plugin)
            return known
        return Status(self.code, self.reasons, plugin)


def _wrong(rule: str, value: object) -> TypeError:
    return TypeError(f"{rule}, not something of type {type(value).__name__}")


# Plugins mostly succeed; there are as many entries as plugins.
_SUCCESS_OF: dict[str, Status] = {}

_REJECTIONS = frozenset({Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING})

Status.OK = Status()
Status.SKIPPED = Status(Code.SKIP)


class PreFilterResult(msgspec.Struct, frozen=True):
    """The nodes that a pod is restricted to.

    Parameters
    ----------
    node_names : frozenset of str, optional
        None: no restriction.
    """

    node_names: frozenset[str] | None = None


class MissingStateError(KeyError):
    """State was read that no earlier extension point has written.

    A configuration can enable a plugin at one extension point and disable it at the one that
    prepares it. The plugin fails then, as upstream's plugins do.
    """

    def __str__(self) -> str:
        """Return the message; a KeyError would put it into quotes."""
        return str(self.args[0])
