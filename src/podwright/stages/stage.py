"""Stages: which one applies to an object, after what delay, and what it then does.

A stage has requirements on an object's document, a weight, a delay and steps. Where several
stages apply, one is drawn. The delay lies between two bounds, and where in between is drawn
too. Draws come in as arguments; nothing here has state.

`documents` reads stages, `fast_stages` and `run_stages` have those that are built in,
and `lifecycle` plays them.

Upstream: KWOK's pkg/utils/lifecycle/lifecycle.go, next.go and value_*_from.go
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from podwright.config import parse_duration
from podwright.kernels.draw import DRAW_BITS
from podwright.objects import Document, Pod, timestamp_ns, timestamp_text
from podwright.stages.addresses import Addresses
from podwright.stages.jq import Query
from podwright.stages.patches import PatchType
from podwright.stages.templates import Functions, Template

KWOK_VERSION = "v0.7.0"
"""The release whose stages and functions these are; nodes report it as their kubelet."""

Operator: TypeAlias = Literal["In", "NotIn", "Exists", "DoesNotExist"]

_MILLISECOND_NS = 1_000_000


class Requirement(msgspec.Struct, frozen=True):
    """One expression of a selector.

    Attributes
    ----------
    query : Query
        Where to look.
    operator : str
        In, NotIn, Exists or DoesNotExist.
    values : tuple of str
    """

    query: Query
    operator: Operator
    values: tuple[str, ...] = ()

    def is_met(self, document: Document) -> bool:
        """Whether the document has what is required.

        Notes
        -----
        Numbers are compared by their text; KWOK never finds one among the values.
        Upstream: KWOK's pkg/utils/expression/selector.go
        """
        return self.is_met_by(self.query.values(document))

    def is_met_by(self, found: Sequence[Any]) -> bool:
        """Whether the values that a query has found are what is required."""
        match self.operator:
            case "In":
                return any(text_of(value) in self.values for value in found)
            case "NotIn":
                return not any(text_of(value) in self.values for value in found)
            case "Exists":
                return any(value is not None for value in found)
            case "DoesNotExist":
                return all(value is None for value in found)


def text_of(value: Any) -> str | None:
    """Return a value as requirements compare it; None if it is no plain one."""
    if type(value) is str:
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else None


class Weight(msgspec.Struct, frozen=True):
    """How likely a stage is among those that apply.

    Attributes
    ----------
    default : int
        When the document says nothing.
    query : Query, optional
        Where the document may say it.
    """

    default: int = 0
    query: Query | None = None

    def of(self, document: Document) -> int | None:
        """Return the weight; None when the document says something that is no number."""
        found = self.query.values(document) if self.query is not None else []
        value = found[0] if found else None
        if isinstance(value, str):
            try:
                return int(value, 0)
            except ValueError:
                return None
        if isinstance(value, int | float) and not isinstance(value, bool):
            return int(value)
        return self.default


def read_delay(value: Any, now_ns: int) -> int | None:
    """Return the delay that a value of a document stands for, None if it is none.

    A time is a delay until then, and negative when it has been; a Go duration is itself.
    """
    if not isinstance(value, str):
        return None
    moment_ns = timestamp_ns(value)
    if moment_ns is not None:
        return moment_ns - now_ns
    try:
        return parse_duration(value)
    except ValueError:
        return None


class Bound(msgspec.Struct, frozen=True):
    """The lower or the upper bound of a delay.

    Attributes
    ----------
    default_ns : int, optional
        When the document says nothing that can be read.
    query : Query, optional
        Where the document may say it.
    read : callable
        Makes nanoseconds from now of what the document says.
    """

    default_ns: int | None = None
    query: Query | None = None
    read: Callable[[Any, int], int | None] = read_delay

    def source(self, document: Document) -> Any:
        """Return what the document says."""
        if self.query is None:
            return None
        if self.query.names is not None:
            return self.query.value(document)
        found = self.query.values(document)
        return found[0] if found else None

    def is_lasting(self, source: Any) -> bool:
        """Whether the bound for what the document says is the same at any time."""
        if self.query is None or source is None:
            return True
        # Of all that a document may say, only a duration says it to `read_delay` once and for all.
        return self.read is read_delay and isinstance(source, str) and timestamp_ns(source) is None

    def at(self, source: Any, now_ns: int) -> int | None:
        """Return the bound for what the document says; None if there is none."""
        if source == "":
            return None
        delay_ns = self.read(source, now_ns) if source is not None else None
        return self.default_ns if delay_ns is None else delay_ns


class Delay(msgspec.Struct, frozen=True):
    """How long a stage waits once it applies.

    Attributes
    ----------
    duration, jitter : Bound
        The delay is drawn between the two. A jitter that is not longer than the duration is
        the delay itself; without a jitter the duration is.
    """

    duration: Bound = Bound()
    jitter: Bound = Bound()

    def sources(self, document: Document) -> tuple[Any, Any]:
        """Return what the document says about the delay."""
        return self.duration.source(document), self.jitter.source(document)

    @property
    def may_last(self) -> bool:
        """Whether there are sources that are lasting."""
        bounds = (self.duration, self.jitter)
        return all(bound.query is None or bound.read is read_delay for bound in bounds)

    def is_lasting(self, sources: tuple[Any, Any]) -> bool:
        """Whether `bounds` are the same at any time."""
        return self.duration.is_lasting(sources[0]) and self.jitter.is_lasting(sources[1])

    def bounds(self, sources: tuple[Any, Any], now_ns: int) -> tuple[int, int]:
        """Return the least delay and the one it stays below, equal when it is not drawn."""
        duration_ns = self.duration.at(sources[0], now_ns)
        if duration_ns is None:
            return 0, 0
        jitter_ns = self.jitter.at(sources[1], now_ns)
        if jitter_ns is None:
            jitter_ns = duration_ns
        least_ns = max(min(duration_ns, jitter_ns), 0)
        return least_ns, max(jitter_ns, least_ns)


def between(least_ns: int, most_ns: int, number: int) -> int:
    """Return a delay between bounds, with a draw in [0, 2**31)."""
    return least_ns + ((most_ns - least_ns) * number >> DRAW_BITS)


# -------------------------------------------------------------------------------- steps


class StageContext(msgspec.Struct, frozen=True):
    """When and where a stage is played.

    Attributes
    ----------
    now_ns : int
    addresses : Addresses
        Gives nodes and pods theirs.
    shared : dict
        What many objects have in common that are changed at this moment.
    """

    now_ns: int
    addresses: Addresses
    shared: dict[Any, Any] = msgspec.field(default_factory=dict)

    @property
    def now(self) -> str:
        """The time as the API writes it."""
        return timestamp_text(self.now_ns)

    def functions(self, document: Document) -> Functions:
        """Return KWOK's functions for templates over a document."""
        name = str((document.get("metadata") or {}).get("name", ""))
        return {
            "NodeConditions": lambda: NODE_CONDITIONS,
            "NodeIP": lambda: self.node_ip(document),
            "NodeIPWith": lambda node: self.addresses.of_node(str(node or "")),
            "NodeName": lambda: name,
            "NodePort": lambda: 0,
            "Now": lambda: self.now,
            "PodIP": lambda: self.pod_ip(document),
            "PodIPWith": lambda *_: self.pod_ip(document),
            "StartTime": lambda: self.now,
            "Version": lambda: KWOK_VERSION,
        }

    def node_ip(self, document: Document) -> str:
        """Return the address of a node, or of the node that a pod is on."""
        node = (document.get("spec") or {}).get("nodeName")
        return self.addresses.of_node(str(node or document["metadata"].get("name", "")))

    def pod_ip(self, document: Document) -> str:
        """Return the address of a pod, which is its node's on the host's network."""
        if (document.get("spec") or {}).get("hostNetwork"):
            return self.node_ip(document)
        present = (document.get("status") or {}).get("podIP")
        return str(present) if present else self.addresses.of_pod(identity_of(document))


def identity_of(document: Document) -> str:
    """Return the uid of an object, or its name where nobody has given it a uid."""
    metadata = document.get("metadata") or {}
    uid = metadata.get("uid")
    return str(uid) if uid else f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"


FUNCTION_NAMES = (
    "NodeConditions", "NodeIP", "NodeIPWith", "NodeName", "NodePort", "Now", "PodIP",
    "PodIPWith", "StartTime", "Version",
)  # fmt: skip
"""What `StageContext.functions` has."""

NODE_CONDITIONS: list[dict[str, str]] = [
    {
        "type": "Ready",
        "status": "True",
        "reason": "KubeletReady",
        "message": "kubelet is posting ready status",
    },
    {
        "type": "MemoryPressure",
        "status": "False",
        "reason": "KubeletHasSufficientMemory",
        "message": "kubelet has sufficient memory available",
    },
    {
        "type": "DiskPressure",
        "status": "False",
        "reason": "KubeletHasNoDiskPressure",
        "message": "kubelet has no disk pressure",
    },
    {
        "type": "PIDPressure",
        "status": "False",
        "reason": "KubeletHasSufficientPID",
        "message": "kubelet has sufficient PID available",
    },
    {
        "type": "NetworkUnavailable",
        "status": "False",
        "reason": "RouteCreated",
        "message": "RouteController created a route",
    },
]
"""The conditions of a node that is well."""


FastPath: TypeAlias = Callable[[Pod, StageContext], Pod | None]
"""What a step does to a pod, without its document; None if it has to be done by the document."""


class EventStep(msgspec.Struct, frozen=True):
    """Record a Kubernetes Event."""

    type: str
    reason: str
    message: Template


class FinalizersStep(msgspec.Struct, frozen=True):
    """Add and remove finalizers; `is_empty` removes those that were there."""

    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    is_empty: bool = False

    def after(self, finalizers: Sequence[str]) -> tuple[str, ...]:
        """Return the finalizers after the step."""
        kept = () if self.is_empty else tuple(f for f in finalizers if f not in self.remove)
        return (*kept, *(entry for entry in dict.fromkeys(self.add) if entry not in kept))


class DeleteStep(msgspec.Struct, frozen=True):
    """Delete the object; of the steps behind only events are played."""


class PatchStep(msgspec.Struct, frozen=True):
    """Change the object.

    Attributes
    ----------
    render : callable
        Makes the patch for a document at a moment.
    root : str
        The field that the patch is for; empty for the whole object.
    subresource : str
        `status` or empty.
    type : str
        json, merge or strategic.
    as_user : str
        Who is said to do it.
    is_plain : bool
        Whether the patch is one for `plain_patch`.
    fast_path : callable, optional
        Does to a pod as nearly all are what the patch does, which is a new status; None for others.
    """

    render: Callable[[Document, StageContext], Any]
    root: str = ""
    subresource: str = ""
    type: PatchType = "merge"
    as_user: str = ""
    is_plain: bool = False
    fast_path: FastPath | None = None


Step: TypeAlias = EventStep | FinalizersStep | DeleteStep | PatchStep


class Rendering(msgspec.Struct, frozen=True):
    """A template as the `render` of a `PatchStep`."""

    template: Template

    def __call__(self, document: Document, moment: StageContext) -> Any:
        """Return the patch."""
        return self.template.value(document, moment.functions(document))


# ------------------------------------------------------------------------------- stages


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    """One stage in the life of the objects of a kind.

    Attributes
    ----------
    name : str
    group, kind : str
        Of the objects.
    requirements : tuple of Requirement, or None
        All must be met; None is met by no object.
    weight : Weight
    delay : Delay
    steps : tuple of Step
    is_immediate : bool
        Whether the next stage is looked for at once, also when this one changed nothing.
    source : str
        Where it was read.
    """

    name: str
    group: str = ""
    kind: str
    requirements: tuple[Requirement, ...] | None = ()
    weight: Weight = Weight()
    delay: Delay = Delay()
    steps: tuple[Step, ...] = ()
    is_immediate: bool = False
    source: str = ""

    @property
    def fast_path(self) -> FastPath | None:
        """What does all that the stage does to a pod as nearly all are."""
        if len(self.steps) != 1:
            return None
        (step,) = self.steps
        return step.fast_path if type(step) is PatchStep else None

    def applies_to(self, document: Document) -> bool:
        """Whether a document of the stage's kind meets all requirements."""
        return self.requirements is not None and all(
            requirement.is_met(document) for requirement in self.requirements
        )


def choose(weights: Sequence[int | None], number: int) -> int:
    """Return which of several stages is taken, with a draw in [0, 2**31).

    Parameters
    ----------
    weights : sequence of int or None
        Of the stages that apply, at least one; None where it cannot be read.
    number : int

    Notes
    -----
    When no weight is above zero those that can be read are equal; when none can, all are.
    """
    assert weights, "no stage to choose from"
    positive = [(index, weight) for index, weight in enumerate(weights) if weight and weight > 0]
    if not positive:
        readable = [index for index, weight in enumerate(weights) if weight is not None]
        equal = readable or list(range(len(weights)))
        return equal[number * len(equal) >> DRAW_BITS]
    left = number * sum(weight for _, weight in positive) >> DRAW_BITS
    for index, weight in positive:
        left -= weight
        if left < 0:
            return index
    raise AssertionError(f"a draw beyond 2**{DRAW_BITS}: {number}")


def milliseconds(value: int | None) -> int | None:
    """Return milliseconds as nanoseconds."""
    return None if value is None else value * _MILLISECOND_NS
