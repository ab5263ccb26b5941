"""The usage that pods declare: what a metrics server would have measured.

What a container of a running pod uses is, in this order,

- what KWOK's objects say: the ResourceUsage with the name of the pod or, without one, the first
  ClusterResourceUsage by name that selects the pod and has an entry for the container;
- an equal share of the annotations `podwright.dev/usage-cpu` and `podwright.dev/usage-memory` of
  its workload: they say what all running pods of the workload use together;
- the annotations `kwok.x-k8s.io/usage-cpu` and `kwok.x-k8s.io/usage-memory` of the pod, for each
  of its containers.

A container without any of them has no metrics.

Upstream: sigs.k8s.io/kwok, pkg/kwok/server/metrics_resource_usage.go and
kustomize/metrics/usage/usage-from-annotation.yaml
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any, Final, TypeAlias

import msgspec

from podwright.apimachinery import cel
from podwright.apimachinery.documents import decode, invalid, join
from podwright.apimachinery.objects import (
    FieldError,
    KubernetesObject,
    NamespacedName,
    Pod,
    Quantity,
    QuantityError,
    Struct,
    api_group,
    encode,
    parse_quantity,
)
from podwright.cluster.store import POD, GroupKind, kind_of

USAGE_PREFIX: Final = "kwok.x-k8s.io/usage-"
"""The beginning of the names of a pod's annotations; the resource follows."""

SHARED_USAGE_PREFIX: Final = "podwright.dev/usage-"
"""The beginning of the names of a workload's annotations; the resource follows."""

RESOURCE_USAGE: Final[GroupKind] = ("kwok.x-k8s.io", "ResourceUsage")
CLUSTER_RESOURCE_USAGE: Final[GroupKind] = ("kwok.x-k8s.io", "ClusterResourceUsage")
USAGE_KINDS: Final = (RESOURCE_USAGE, CLUSTER_RESOURCE_USAGE)

MEASURED: Final = ("cpu", "memory")
"""The resources of which a metrics server measures the usage."""

Usage: TypeAlias = dict[str, dict[str, Quantity]]
"""What each container of a pod uses of each resource."""

_NODE: Final[GroupKind] = ("", "Node")
_MILLI: Final = 10**6
_UNIT: Final = 10**9


class UsageError(ValueError):
    """A declared usage that is no amount, with the path of its field."""


def usage_problem(text: Any) -> str:
    """Return why a text, or a number of YAML, is not a usage; "" if it is."""
    try:
        usage = parse_quantity(text)
    except QuantityError as error:
        return str(error)
    return "must be greater than or equal to 0" if usage.nano < 0 else ""


class UsageValue(Struct, frozen=True, kw_only=True):
    """An amount, or the CEL expression that computes it."""

    value: Any = None
    expression: str | None = None

    def problems(self, path: str) -> Iterator[FieldError]:
        """Yield why it is not a usage; `path` is its field."""
        try:
            if self.value is None and self.expression is not None:
                cel.usage_expression(self.expression)
            elif self.value is not None and (why := usage_problem(self.value)):
                yield invalid(join(path, "value"), self.value, why)
        except cel.StageExpressionError as error:
            yield invalid(join(path, "expression"), self.expression, str(error))


class ContainerUsage(Struct, frozen=True, kw_only=True):
    """What some containers use; all that no other entry names, without names."""

    containers: tuple[str, ...] = ()
    usage: dict[str, UsageValue] = msgspec.field(default_factory=dict)


class UsageSpec(Struct, frozen=True, kw_only=True):
    """The spec of a ResourceUsage."""

    usages: tuple[ContainerUsage, ...] = ()

    def of(self, container: str) -> tuple[int, ContainerUsage] | None:
        """Return the entry of a container and its position; None if there is none."""
        named = [each for each in enumerate(self.usages) if container in each[1].containers]
        unnamed = [each for each in enumerate(self.usages) if not each[1].containers]
        return next(iter((*named, *unnamed)), None)


class UsageSelector(Struct, frozen=True, kw_only=True):
    """The pods that a ClusterResourceUsage selects; an empty list selects all."""

    match_namespaces: tuple[str, ...] = ()
    match_names: tuple[str, ...] = ()


class ClusterUsageSpec(UsageSpec, frozen=True, kw_only=True):
    """The spec of a ClusterResourceUsage."""

    selector: UsageSelector = UsageSelector()

    def selects(self, pod: Pod) -> bool:
        """Whether the selector matches a pod."""
        return self.covers(pod.namespace) and (
            not self.selector.match_names or pod.name in self.selector.match_names
        )

    def covers(self, namespace: str) -> bool:
        """Whether the selector matches pods of a namespace."""
        return not self.selector.match_namespaces or namespace in self.selector.match_namespaces


class DeclaredUsages:
    """What the pods of a cluster use at a time.

    Parameters
    ----------
    get : callable
        Returns an object by its kind and key; None if there is none.
    objects_of : callable
        Returns the objects of a kind in a namespace, or in all of them if it is empty.
    now_ns : int
        The time of expressions.
    """

    def __init__(
        self,
        get: Callable[[GroupKind, NamespacedName], KubernetesObject | None],
        objects_of: Callable[[GroupKind, str], Iterable[KubernetesObject]],
        now_ns: int,
    ) -> None:
        self._get = get
        self._objects_of = objects_of
        self._now_ns = now_ns
        # How many pods of each workload run, by namespace.
        self._running: dict[str, Counter[tuple[GroupKind, NamespacedName]]] = {}

    def of(self, pod: Pod, resources: Iterable[str] = MEASURED) -> Usage:
        """Return what the containers of a pod use, without those of which nothing is known.

        Raises
        ------
        UsageError
            What is declared is not an amount.
        """
        if pod.status.phase != "Running":
            return {}
        own = self._get(RESOURCE_USAGE, pod.key)
        sources = (
            [(own, _spec_of(own))]
            if own is not None
            else [each for each in self._of_cluster if each[1].selects(pod)]
        )
        found: Usage = {}
        for resource in resources:
            declared = self._annotated(pod, resource)
            for container in pod.spec.containers:
                entries = ((obj, spec.of(container.name)) for obj, spec in sources)
                source, entry = next((each for each in entries if each[1]), (None, None))
                amount = declared
                if source is not None and entry is not None:
                    amount = self._amount(source, entry, pod, container.name, resource)
                if amount is not None:
                    found.setdefault(container.name, {})[resource] = amount
        return found

    @cached_property
    def _of_cluster(self) -> list[tuple[KubernetesObject, ClusterUsageSpec]]:
        found = []
        for obj in sorted(self._objects_of(CLUSTER_RESOURCE_USAGE, ""), key=lambda obj: obj.name):
            spec = _spec_of(obj)
            assert isinstance(spec, ClusterUsageSpec), "by its kind"
            found.append((obj, spec))
        return found

    def _amount(
        self,
        source: KubernetesObject,
        entry: tuple[int, ContainerUsage],
        pod: Pod,
        container: str,
        resource: str,
    ) -> Quantity | None:
        index, of_container = entry
        declared = of_container.usage.get(resource)
        if declared is None or declared.expression is None or declared.value is not None:
            value = None if declared is None else declared.value
            return None if value is None else parse_quantity(value)
        document = encode(pod)
        (found,) = (each for each in document["spec"]["containers"] if each["name"] == container)
        node = self._get(_NODE, pod.spec.node_name or "")
        path = f"spec.usages[{index}].usage[{resource}].expression"
        where = f"{source.kind} {source.key}: {path}: pod {pod.key}"
        try:
            nano = cel.usage_expression(declared.expression).nano(
                pod=document,
                node={} if node is None else encode(node),
                container=found,
                now_ns=self._now_ns,
            )
        except cel.StageExpressionError as error:
            raise UsageError(f"{where}: {error}") from None
        if nano < 0:
            raise UsageError(f"{where}: {declared.expression}: is negative")
        return _quantity(resource, nano)

    def _annotated(self, pod: Pod, resource: str) -> Quantity | None:
        """Return what the annotations of a pod or its workload say of each of its containers."""
        workload, name = self._workload(pod), f"{SHARED_USAGE_PREFIX}{resource}"
        text = None if workload is None else workload.metadata.annotations.get(name)
        if workload is not None and text is not None:
            where = f"{workload.kind} {workload.key}: metadata.annotations[{name}]"
            shares = self._running_pods(workload) * len(pod.spec.containers)
            return _quantity(resource, _parsed(text, where).nano // shares)
        name = f"{USAGE_PREFIX}{resource}"
        text = pod.metadata.annotations.get(name)
        if text is None:
            return None
        return _parsed(text, f"pod {pod.key}: metadata.annotations[{name}]")

    def _workload(self, pod: Pod) -> KubernetesObject | None:
        """Return the outermost controlling owner of a pod, such as its Deployment."""
        found, reference = None, pod.metadata.controller
        while reference is not None:
            kind = (api_group(reference.api_version), reference.kind)
            owner = self._get(kind, f"{pod.namespace}/{reference.name}")
            if owner is None:
                break
            found, reference = owner, owner.metadata.controller
        return found

    def _running_pods(self, workload: KubernetesObject) -> int:
        namespace = workload.namespace
        if namespace not in self._running:
            running = (
                self._workload(pod)
                for pod in self._objects_of(POD, namespace)
                if isinstance(pod, Pod) and pod.status.phase == "Running"
            )
            self._running[namespace] = Counter(
                (kind_of(each), each.key) for each in running if each is not None
            )
        return self._running[namespace][kind_of(workload), workload.key]


def usage_spec(obj: KubernetesObject, errors: list[FieldError]) -> UsageSpec:
    """Read the spec of one of KWOK's objects with usage; all that is wrong is added to `errors`."""
    is_of_cluster = kind_of(obj) == CLUSTER_RESOURCE_USAGE
    kind = ClusterUsageSpec if is_of_cluster else UsageSpec
    return decode(encode(obj).get("spec") or {}, kind, "spec", errors)


def _spec_of(obj: KubernetesObject) -> UsageSpec:
    errors: list[FieldError] = []
    spec = usage_spec(obj, errors)
    if errors:
        first = errors[0]
        raise UsageError(f"{obj.kind} {obj.key}: {first.path}: {first.message}")
    return spec


def _parsed(text: str, path: str) -> Quantity:
    if problem := usage_problem(text):
        raise UsageError(f'{path}: Invalid value: "{text}": {problem}')
    return parse_quantity(text)


def _quantity(resource: str, nano: int) -> Quantity:
    """Return an amount in whole thousandths of a CPU, or in whole units of other resources."""
    if resource == "cpu":
        return Quantity(nano // _MILLI, -3)
    return Quantity(nano // _UNIT, 0, format="BinarySI")
