"""Stages: requirements, weight, delay and steps.

A stage applies to an object whose document meets its requirements. If several stages apply, one is
drawn by weight. The delay is drawn between two bounds. Draws are arguments; this module has no
state.

`stage_reader` reads Stage documents, `built_in_stages` defines the built-in stages, and
`lifecycle` plays them.

Upstream: KWOK pkg/utils/lifecycle/lifecycle.go, next.go and value_*_from.go
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, TypeAlias

import msgspec

from podwright.apimachinery.objects import (
    DRAW_BITS,
    Document,
    Pod,
    parse_duration,
    timestamp_ns,
    timestamp_text,
)
from podwright.cluster.kubelets.addresses import Addresses
from podwright.cluster.kubelets.patches import PatchType
from podwright.cluster.kubelets.templates.go_templates import Functions, Template
from podwright.cluster.kubelets.templates.jq import ValueQuery

KWOK_VERSION = "v0.7.0"
"""The KWOK release that the stages and functions follow; nodes report it as kubelet version."""

Operator: TypeAlias = Literal["In", "NotIn", "Exists", "DoesNotExist"]

_MILLISECOND_NS = 1_000_000


class Requirement(msgspec.Struct, frozen=True):
    """One expression of a selector.

    Attributes
    ----------
    query : ValueQuery
        Selects the values to test.
    operator : str
        In, NotIn, Exists or DoesNotExist.
    values : tuple of str
    """

    query: ValueQuery
    operator: Operator
    values: tuple[str, ...] = ()

    def is_met(self, document: Document, now_ns: int = 0) -> bool:
        """Whether the document meets the requirement.

        Notes
        -----
        Numbers are compared as text; in KWOK a number never matches a value.
        Upstream: KWOK pkg/utils/expression/selector.go
        """
        return self.is_met_by(self.query.values(document, now_ns))

    def is_met_by(self, found: Sequence[Any]) -> bool:
        """Whether the values that the query selected meet the requirement."""
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
    """Return a scalar value as the text that requirements compare; None for other values."""
    if type(value) is str:
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else None


class Weight(msgspec.Struct, frozen=True):
    """The weight of a stage among those that apply.

    Attributes
    ----------
    default : int
        The weight if the document does not define one.
    query : ValueQuery, optional
        Selects the weight in the document.
    """

    default: int = 0
    query: ValueQuery | None = None

    def of(self, document: Document, now_ns: int = 0) -> int | None:
        """Return the weight; None if the value in the document is not a number."""
        found = self.query.values(document, now_ns) if self.query is not None else []
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
    """Return the delay in ns that a value of a document defines; None if it defines none.

    A timestamp is the delay from `now_ns` until then, negative if it has passed. Any other value
    is a Go duration.
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
        The bound if the document has no readable value.
    query : ValueQuery, optional
        Selects the value in the document.
    read : callable
        Converts the value to nanoseconds from now.
    """

    default_ns: int | None = None
    query: ValueQuery | None = None
    read: Callable[[Any, int], int | None] = read_delay

    def source(self, document: Document, now_ns: int = 0) -> Any:
        """Return the value in the document, None if there is none."""
        if self.query is None:
            return None
        if self.query.names is not None:
            return self.query.value(document)
        found = self.query.values(document, now_ns)
        return found[0] if found else None

    def is_constant(self, source: Any) -> bool:
        """Whether the bound for this value does not depend on the current time."""
        if self.query is None or source is None:
            return True
        # Of all values, only a duration read by `read_delay` gives the same delay at any time.
        return self.read is read_delay and isinstance(source, str) and timestamp_ns(source) is None

    def at(self, source: Any, now_ns: int) -> int | None:
        """Return the bound in ns for this value; None if there is none."""
        if source == "":
            return None
        delay_ns = self.read(source, now_ns) if source is not None else None
        return self.default_ns if delay_ns is None else delay_ns


class Delay(msgspec.Struct, frozen=True):
    """The delay between the time when a stage applies and the time when it is played.

    Attributes
    ----------
    duration, jitter : Bound
        The delay is drawn between the two. If the jitter is not longer than the duration, the
        delay is the jitter. Without a jitter the delay is the duration.
    """

    duration: Bound = Bound()
    jitter: Bound = Bound()

    def sources(self, document: Document, now_ns: int = 0) -> tuple[Any, Any]:
        """Return the values in the document that define the delay."""
        return self.duration.source(document, now_ns), self.jitter.source(document, now_ns)

    @property
    def can_be_constant(self) -> bool:
        """Whether `is_constant` is True for some sources."""
        bounds = (self.duration, self.jitter)
        return all(bound.read is read_delay for bound in bounds)

    def is_constant(self, sources: tuple[Any, Any]) -> bool:
        """Whether `bounds` do not depend on the current time."""
        return self.duration.is_constant(sources[0]) and self.jitter.is_constant(sources[1])

    def bounds(self, sources: tuple[Any, Any], now_ns: int) -> tuple[int, int]:
        """Return the least delay and its exclusive upper bound; equal if nothing is drawn."""
        duration_ns = self.duration.at(sources[0], now_ns)
        if duration_ns is None:
            return 0, 0
        jitter_ns = self.jitter.at(sources[1], now_ns)
        if jitter_ns is None:
            jitter_ns = duration_ns
        least_ns = max(min(duration_ns, jitter_ns), 0)
        return least_ns, max(jitter_ns, least_ns)


def delay_between(least_ns: int, most_ns: int, number: int) -> int:
    """Return a delay between two bounds for a draw in [0, 2**31)."""
    return least_ns + ((most_ns - least_ns) * number >> DRAW_BITS)


# -------------------------------------------------------------------------------- steps


class StageContext(msgspec.Struct, frozen=True):
    """The context in which stages are played: the time and the addresses.

    Attributes
    ----------
    now_ns : int
    addresses : Addresses
        Assigns addresses to nodes and pods.
    shared : dict
        Parts of statuses that the objects changed at this time share; see `pod_statuses`.
    """

    now_ns: int
    addresses: Addresses
    shared: dict[Any, Any] = msgspec.field(default_factory=dict)

    @property
    def now(self) -> str:
        """The time as an API timestamp."""
        return timestamp_text(self.now_ns)

    def functions(self, document: Document) -> Functions:
        """Return KWOK's template functions for a document."""
        name = str((document.get("metadata") or {}).get("name", ""))
        return {
            "NodeConditions": lambda: NODE_CONDITIONS,
            "NodeIP": lambda: self.node_ip(document),
            "NodeIPWith": lambda node: self.addresses.of_node(str(node or "")),
            "NodeIPsWith": lambda node: [self.addresses.of_node(str(node or ""))],
            "NodeName": lambda: name,
            "NodePort": lambda: 0,
            "Now": lambda: self.now,
            "PodIP": lambda: self.pod_ip(document),
            "PodIPWith": lambda *_: self.pod_ip(document),
            "PodIPsWith": lambda *_: [self.pod_ip(document)],
            "StartTime": lambda: self.now,
            "Version": lambda: KWOK_VERSION,
        }

    def node_ip(self, document: Document) -> str:
        """Return the address of a node, or of the node that a pod is bound to."""
        node = (document.get("spec") or {}).get("nodeName")
        return self.addresses.of_node(node or document["metadata"].get("name", ""))

    def pod_ip(self, document: Document) -> str:
        """Return the address of a pod; with host network it is the node's."""
        if (document.get("spec") or {}).get("hostNetwork"):
            return self.node_ip(document)
        present = (document.get("status") or {}).get("podIP")
        return str(present) if present else self.addresses.of_pod(identity_of(document))


def identity_of(document: Document) -> str:
    """Return the uid of an object, or its namespace and name if it has no uid."""
    metadata = document.get("metadata") or {}
    uid = metadata.get("uid")
    return str(uid) if uid else f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"


FUNCTION_NAMES = tuple(StageContext(0, Addresses()).functions({}))
"""The names of `StageContext.functions`."""

NODE_CONDITIONS: list[dict[str, str]] = [
    {"type": kind, "status": status, "reason": reason, "message": message}
    for kind, status, reason, message in (
        ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
        (
            "MemoryPressure",
            "False",
            "KubeletHasSufficientMemory",
            "kubelet has sufficient memory available",
        ),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
        ("NetworkUnavailable", "False", "RouteCreated", "RouteController created a route"),
    )
]
"""The conditions of a healthy node."""


FastPath: TypeAlias = Callable[[Pod, StageContext], Pod | None]
"""Applies a step to a pod without its document; None if the document is needed."""


class EventStep(msgspec.Struct, frozen=True):
    """Record a Kubernetes Event; as in KWOK, the message is not a template."""

    type: str
    reason: str
    message: str


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
    """Delete the object; of the steps that follow, only events are played."""


class PatchStep(msgspec.Struct, frozen=True):
    """Change the object.

    Attributes
    ----------
    render : callable
        Returns the patch for a document and a context.
    root : str
        The field that the patch applies to; empty for the whole object.
    subresource : str
        `status` or empty.
    type : str
        json, merge or strategic.
    as_user : str
        The impersonated user; empty if there is none.
    is_plain : bool
        Whether `plain_patch` can apply the patch.
    fast_path : callable, optional
        Returns a common pod with the status that the patch would give it; None for other pods.
    """

    render: Callable[[Document, StageContext], Any]
    root: str = ""
    subresource: str = ""
    type: PatchType = "merge"
    as_user: str = ""
    is_plain: bool = False
    fast_path: FastPath | None = None


class ApplyStep(msgspec.Struct, frozen=True):
    """Create or change another object.

    Attributes
    ----------
    render : callable
        Returns the object for a document and a context.
    subresource : str
        The part of an existing object to change, `status`; empty for the whole object, which is
        created if it does not exist.
    as_user : str
        The impersonated user; empty if there is none.
    """

    render: Callable[[Document, StageContext], Any]
    subresource: str = ""
    as_user: str = ""


Step: TypeAlias = EventStep | FinalizersStep | DeleteStep | PatchStep | ApplyStep


class Rendering(msgspec.Struct, frozen=True):
    """The `render` of a `PatchStep` that has a template."""

    template: Template

    def __call__(self, document: Document, context: StageContext) -> Any:
        """Return the patch."""
        return self.template.value(document, context.functions(document))


# ------------------------------------------------------------------------------- stages


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    """A KWOK Stage: one transition of the objects of a kind.

    Attributes
    ----------
    name : str
    group, kind : str
        The kind of the objects.
    requirements : tuple of Requirement, or None
        All must be met. None matches no object.
    weight : Weight
    delay : Delay
    steps : tuple of Step
    is_immediate : bool
        Whether the next stage is scheduled immediately, even if this one changed nothing.
    source : str
        The file and document of the stage, for errors.
    warnings : tuple of str
        What the document probably does not mean.
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
    warnings: tuple[str, ...] = ()

    @property
    def fast_path(self) -> FastPath | None:
        """The fast path of the only step, which then does all that the stage does."""
        if len(self.steps) != 1:
            return None
        (step,) = self.steps
        return step.fast_path if type(step) is PatchStep else None

    def applies_to(self, document: Document) -> bool:
        """Whether `document`, an object of the stage's kind, meets all requirements."""
        return self.requirements is not None and all(
            requirement.is_met(document) for requirement in self.requirements
        )


def choose(weights: Sequence[int | None], number: int) -> int:
    """Return the index of the chosen stage for a draw in [0, 2**31).

    Parameters
    ----------
    weights : sequence of int or None
        The weights of the stages that apply, at least one; None if a weight is not readable.
    number : int
        The draw.

    Notes
    -----
    If no weight is above zero, the stages with a readable weight are equally likely. If no weight
    is readable, all stages are.
    """
    assert weights, "there is no stage to choose from"
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


# When a stage is due: the basis of a scheduled stage, and schedules shared by many objects.

FixedSchedule: TypeAlias = tuple[str, int, int, str]
"""A schedule shared by many objects: basis, delay in ns, index of the stage, and its name."""

_CACHE_MAX: Final = 1_024


def basis_of(
    applying: Sequence[int], weights: list[int | None], sources: list[tuple[Any, Any]]
) -> str:
    """Return the basis of a scheduled stage as text.

    It covers everything that the choice and the delay depend on: the matching stages, their
    weights, and the values in the document that define their delays.
    """
    return msgspec.json.encode((applying, weights, sources)).decode()


class FixedSchedules:
    """The schedules of a stage that is the only match and whose delay is not drawn.

    Objects with the same delay values in their documents have the same schedule. It is computed
    once per set of values, unless it depends on the current time or on a weight in the document.

    Attributes
    ----------
    always : FixedSchedule, optional
        The schedule for every object, if no document can change the stage's delay.
    """

    __slots__ = ("_by_sources", "_index", "_may_last", "_stage", "always")

    def __init__(self, stage: Stage, index: int) -> None:
        delay = stage.delay
        self._stage = stage
        self._index = index
        self._may_last = stage.weight.query is None and delay.can_be_constant
        self._by_sources: dict[tuple[Any, Any], FixedSchedule | None] = {}
        self.always: FixedSchedule | None = None
        if delay.duration.query is None and delay.jitter.query is None:
            self.always = self.for_document({})

    def for_document(self, document: Document) -> FixedSchedule | None:
        """Return the schedule for a document; None if it has to be computed for each object."""
        if not self._may_last:
            return None
        sources = duration, jitter = self._stage.delay.sources(document)
        # Other values, such as lists, may not be hashable, and `sources` is a key below.
        if not (duration is None or type(duration) is str) or not (
            jitter is None or type(jitter) is str
        ):
            return None
        if sources in self._by_sources:
            return self._by_sources[sources]
        if not self._stage.delay.is_constant(sources):
            return None
        if len(self._by_sources) >= _CACHE_MAX:
            self._by_sources.clear()
        made = self._by_sources[sources] = self._made(sources)
        return made

    def _made(self, sources: tuple[Any, Any]) -> FixedSchedule | None:
        stage = self._stage
        least_ns, most_ns = stage.delay.bounds(sources, 0)
        if most_ns > least_ns:
            return None
        basis = basis_of([self._index], [stage.weight.default], [sources])
        return basis, least_ns, self._index, stage.name
