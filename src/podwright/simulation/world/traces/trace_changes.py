"""Changes of traces: cut, scale, merge, anonymize. Each passes the lines through one by one."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import repeat
from math import ceil
from typing import Any, Final

from podwright.apimachinery.objects import (
    GPU_CARD_MODEL,
    GPU_COUNT,
    GPU_MILLI,
    REGION,
    ZONE,
    Document,
    InputError,
    NamespacedName,
    parse_duration,
    parse_quantity,
)
from podwright.cluster.kubelets import RUN_DELAY
from podwright.cluster.store import POD
from podwright.simulation.world.inputs.conditions import identity_of
from podwright.simulation.world.inputs.workload import POD_GROUP_LABEL
from podwright.simulation.world.timing.distributions import uniform
from podwright.simulation.world.traces.trace_lines import TraceLine, TraceLines, with_run_delay

TRACE_STREAM: Final = 0x7472
"""The stream of draws of traces."""
_BYTES: Final = frozenset({"memory", "ephemeral-storage"})
GPU_ANNOTATIONS: Final = (GPU_MILLI, GPU_COUNT, GPU_CARD_MODEL)
"""How pods of the openb trace request GPUs."""
SCHEDULED: Final = (RUN_DELAY, *GPU_ANNOTATIONS)
_PREFIXED: Final = frozenset({"Pod", "PodGroup"})
_OF_GROUP: Final = frozenset({POD_GROUP_LABEL, "podGroupName"})
_KEPT_VALUES: Final = frozenset({"kubernetes.io/arch", "kubernetes.io/os"})
_NAMESPACE_NAME: Final = "kubernetes.io/metadata.name"
_KEPT_KEYS: Final = _KEPT_VALUES | {
    "kubernetes.io/hostname", "metadata.name", "node.kubernetes.io/instance-type",
    REGION, ZONE, _NAMESPACE_NAME,
    POD_GROUP_LABEL,
}  # fmt: skip
"""Keys that the nodes of each cluster have, or that the API gives a meaning."""
_KEPT_FIELDS: Final = {
    "Pod": (
        "affinity", "hostNetwork", "nodeSelector", "overhead", "preemptionPolicy", "priority",
        "priorityClassName", "resources", "restartPolicy", "schedulerName", "schedulingGates",
        "schedulingGroup", "tolerations", "topologySpreadConstraints",
    ),
    "PodGroup": (
        "disruptionMode", "minMember", "priority", "priorityClassName", "schedulingConstraints",
        "schedulingPolicy",
    ),
    "PriorityClass": ("globalDefault", "preemptionPolicy", "value"),
    "Namespace": (),
}  # fmt: skip
_ANONYMIZED: Final = "pods, their groups, namespaces and priority classes"
_KEPT_IN_CONTAINER: Final = ("resources", "restartPolicy", "ports")
_KEPT_IN_PORT: Final = ("containerPort", "hostIP", "hostPort", "protocol")


def run_ns_of(pod: Document) -> int | None:
    """Return how long a pod runs; None if it does not end."""
    text = ((pod.get("metadata") or {}).get("annotations") or {}).get(RUN_DELAY)
    try:
        return None if text is None else parse_duration(text)
    except ValueError as error:
        path = f"metadata.annotations[{RUN_DELAY}]"
        raise InputError.of(f"pod {pod['metadata']['name']}", str(error), path) from None


def cut(
    lines: Iterable[TraceLine],
    *,
    from_ns: int = 0,
    to_ns: int | None = None,
    first: int | None = None,
    share: float = 1.0,
    seed: int = 0,
    with_running: bool = False,
) -> TraceLines:
    """Yield a part of a trace; its times are since the start of the part.

    Parameters
    ----------
    lines : iterable of TraceLine
        The trace.
    from_ns, to_ns : int
        The start and the end of the part; the end is not in it.
    first : int, optional
        The number of pods.
    share : float
        The share of the pods, which are drawn.
    seed : int
        Of the draws.
    with_running : bool
        Whether pods that arrived before and would still run arrive at the start, with the rest of
        their run time.
    """
    drawn = 0
    kept = 0
    for line in lines:
        if to_ns is not None and line.at_ns >= to_ns:
            return
        action, pod = line.action, line.pod
        if pod is not None:
            drawn += 1
            if share < 1 and uniform(seed, TRACE_STREAM, drawn) >= share:
                continue
            # Other objects than pods stay: later pods may need them.
            if line.at_ns < from_ns:
                run_ns = run_ns_of(pod)
                left_ns = 1 if run_ns is None else line.at_ns + run_ns - from_ns
                if not with_running or left_ns <= 0:
                    continue
                if run_ns is not None:
                    action = {"apply": with_run_delay(pod, left_ns)}
            kept += 1
            if first is not None and kept > first:
                return
        yield TraceLine(max(line.at_ns - from_ns, 0), action)


def scale(
    lines: Iterable[TraceLine],
    *,
    rate: float = 1.0,
    pods: float = 1.0,
    requests: float = 1.0,
    duration: float = 1.0,
    seed: int = 0,
) -> TraceLines:
    """Yield a trace with another load.

    Parameters
    ----------
    lines : iterable of TraceLine
        The trace.
    rate : float
        The factor of the rate of arrivals: all times are divided by it.
    pods : float
        The factor of the number of pods: each is left out or repeated, by a draw for the rest.
    requests, duration : float
        The factors of what pods request, and of how long they run. Requests for extended resources
        stay.
    seed : int
        Of the draws.
    """
    drawn = 0
    for line in lines:
        at_ns = round(line.at_ns / rate)
        pod = line.pod
        if pod is None:
            yield TraceLine(at_ns, line.action)
            continue
        drawn += 1
        count = int(pods) + (uniform(seed, TRACE_STREAM, drawn) < pods - int(pods))
        if requests != 1:
            pod = _with_requests(pod, Fraction(str(requests)))
        run_ns = run_ns_of(pod)
        if duration != 1 and run_ns is not None:
            pod = with_run_delay(pod, round(run_ns * duration))
        for number in range(count):
            metadata = pod["metadata"]
            name = metadata["name"] if not number else f"{metadata['name']}-copy-{number}"
            yield TraceLine(at_ns, {"apply": {**pod, "metadata": {**metadata, "name": name}}})


def merge(traces: Sequence[Iterable[TraceLine]], prefixes: Sequence[str] = ()) -> TraceLines:
    """Yield several traces as one; each starts at the start.

    Parameters
    ----------
    traces : sequence of iterable of TraceLine
        The traces.
    prefixes : sequence of str
        What the names of the pods and groups of each trace start with.

    Raises
    ------
    InputError
        If two traces have an object of one name.
    """
    taken: dict[tuple[str, NamespacedName], int] = {}
    shared: dict[tuple[str, NamespacedName], Document] = {}
    several = [zip(lines, repeat(number)) for number, lines in enumerate(traces)]
    for given, number in heapq.merge(*several, key=lambda each: each[0].at_ns):
        prefix = prefixes[number] if prefixes else ""
        line = _with_prefix(given, prefix)
        if prefix and (gone := _deleted_pod(line.action)):
            namespace, _, name = gone.partition("/")
            # The pods of controllers have their names from these.
            if ("Pod", f"{namespace}/{prefix}-{name}") in taken:
                line = TraceLine(line.at_ns, {**line.action, "delete": f"pod/{prefix}-{name}"})
        applied = line.applied
        if applied:
            key = line.what, _name_of(applied)
            if taken.setdefault(key, number) != number and shared.get(key) != applied:
                message = f"{key[0]} {key[1]} is also in trace {taken[key] + 1}"
                hint = (
                    "give the names of each trace a prefix: --prefix a --prefix b"
                    if key[0] in _PREFIXED
                    else "only names of pods and groups have prefixes: rename it in one trace"
                )
                raise InputError.of(f"trace {number + 1}", f"{message}; {hint}")
            if "/" not in key[1]:
                shared[key] = applied  # such as priority classes: equal ones are one
        yield line


def anonymize(
    lines: Iterable[TraceLine], *, warn: Callable[[str], object] = lambda _: None
) -> TraceLines:
    """Yield the pods and groups of a trace under other names, with what scheduling reads.

    Names of pods, namespaces, groups and priority classes, and keys and values of labels, become
    numbers in the order of their appearance, consistently; the keys of names, zones, regions and
    types of nodes stay. Images, commands, volumes, annotations, requests for devices by claims, and
    other kinds of objects are left out. Times, requests, priorities, names of schedulers, and the
    keys of taints and of extended resources stay.

    Parameters
    ----------
    lines : iterable of TraceLine
        The trace.
    warn : callable
        Receives a sentence about what was left out.
    """
    names = _Pseudonyms(dict)
    left_out: Counter[str] = Counter()
    for line in lines:
        if gone := names.of_deletion(line.action):
            yield TraceLine(line.at_ns, gone)
        elif line.applied.get("kind") in _KEPT_FIELDS:
            yield TraceLine(line.at_ns, {"apply": names.of_object(line.applied)})
            if (line.applied.get("spec") or {}).get("resourceClaims"):
                left_out[f"resource claims of a {line.what}"] += 1
        else:
            left_out[line.what] += 1
    for what, count in left_out.items():
        warn(f"{count} of {what} left out: only {_ANONYMIZED} are anonymized")


class _Pseudonyms(defaultdict[str, dict[str, str]]):
    """Numbers in the place of names by their kind, each name always the same one."""

    def name(self, kind: str, text: str) -> str:
        return self[kind].setdefault(text, f"{kind}-{len(self[kind])}")

    def of_object(self, given: Mapping[str, Any]) -> Document:
        kind = given["kind"]
        metadata = given.get("metadata") or {}
        namespace = metadata.get("namespace", "default")
        made: Document = {
            "apiVersion": given["apiVersion"],
            "kind": kind,
            "metadata": self._metadata(kind, metadata, namespace),
        }
        # A priority class has its fields beside its metadata.
        spec = given if kind == "PriorityClass" else given.get("spec") or {}
        kept: Document = self._changed(
            {name: spec[name] for name in _KEPT_FIELDS[kind] if name in spec}, namespace
        )
        for where in ("initContainers", "containers"):
            if spec.get(where):
                kept[where] = [
                    {"name": f"{where[0]}{index}", "image": "image"} | _container(each)
                    for index, each in enumerate(spec[where])
                ]
        return made | (kept if kind == "PriorityClass" else {"spec": kept} if kept else {})

    def of_deletion(self, action: Mapping[str, Any]) -> Document | None:
        """Return the deletion of a pod of the trace under its new name."""
        key = _deleted_pod(action)
        if key not in self["pod"]:
            return None
        namespace = self.name("namespace", key.partition("/")[0])
        return {**action, "delete": f"pod/{self.name('pod', key)}", "namespace": namespace}

    def _metadata(self, kind: str, given: Mapping[str, Any], namespace: str) -> Document:
        name = given.get("name", "")
        made: Document
        if kind == "PriorityClass":
            made = {"name": self._class(name)}
        elif kind == "Namespace":
            made = {"name": self.name("namespace", name)}
        else:
            made = {
                "name": self.name("pod" if kind == "Pod" else "group", f"{namespace}/{name}"),
                "namespace": self.name("namespace", namespace),
            }
        if labels := given.get("labels"):
            made["labels"] = self._labels(labels, namespace)
        annotations = given.get("annotations") or {}
        if kept := {name: annotations[name] for name in SCHEDULED if name in annotations}:
            made["annotations"] = kept
        return made

    def _class(self, name: str) -> str:
        """Return the name of a priority class; that of a class of the system stays."""
        return name if name.startswith("system-") else self.name("priority", name)

    def _key(self, key: str) -> str:
        return key if key in _KEPT_KEYS else self.name("label", key)

    def _labels(self, labels: Mapping[str, str], namespace: str) -> dict[str, str]:
        return {self._key(key): self._value(key, text, namespace) for key, text in labels.items()}

    def _value(self, key: str, text: str, namespace: str) -> str:
        if key == POD_GROUP_LABEL:
            return self.name("group", f"{namespace}/{text}")
        if key == _NAMESPACE_NAME:
            return self.name("namespace", text)
        return text if key in _KEPT_VALUES else self.name("value", text)

    def _changed(self, value: Any, namespace: str) -> Any:
        """Return a part of a spec with the names in it, and keys and values of selectors, changed.

        Groups that it names are those of the namespace.
        """
        if isinstance(value, list):
            return [self._changed(each, namespace) for each in value]
        if not isinstance(value, dict):
            return value
        labels = partial(self._labels, namespace=namespace)
        expression = partial(self._expression, namespace=namespace)
        other = partial(self._changed, namespace=namespace)

        def keys(several: Sequence[str]) -> list[str]:
            return [*map(self._key, several)]

        changes: dict[str, Callable[[Any], Any]] = {
            "nodeSelector": labels,
            "schedulingGates": lambda gates: [
                {"name": self.name("gate", each["name"])} for each in gates
            ],
            "matchLabels": labels,
            "matchExpressions": lambda several: [*map(expression, several)],
            "matchFields": lambda several: [*map(expression, several)],
            "namespaces": lambda names: [self.name("namespace", each) for each in names],
            "topologyKey": self._key,
            "matchLabelKeys": keys,
            "mismatchLabelKeys": keys,
            # Of the groups of Kubernetes.
            "topology": lambda several: [{"key": self._key(each["key"])} for each in several],
            "podGroupName": lambda name: self.name("group", f"{namespace}/{name}"),
            "priorityClassName": self._class,
        }
        return {name: changes.get(name, other)(inner) for name, inner in value.items()}

    def _expression(self, given: Mapping[str, Any], namespace: str) -> Document:
        key = given.get("key", "")
        made = {**given, "key": self._key(key)}
        # The values of Gt and Lt are numbers, which a pseudonym would not be.
        if given.get("operator") not in {"Gt", "Lt"} and given.get("values"):
            made["values"] = [self._value(key, each, namespace) for each in given["values"]]
        return made


def _name_of(applied: Mapping[str, Any]) -> NamespacedName:
    """Return the name of an object, after its namespace if its kind has namespaces."""
    metadata = applied.get("metadata") or {}
    name, namespace = metadata.get("name", ""), metadata.get("namespace") or "default"
    found = identity_of(f"{applied.get('kind')}/{name}", namespace)
    return f"{namespace}/{name}" if found is None else found[1]


def _deleted_pod(action: Mapping[str, Any]) -> str:
    """Return the namespace and name of the pod that an action deletes; empty for another action."""
    found = identity_of(action.get("delete", ""), action.get("namespace") or "default")
    return found[1] if found is not None and found[0] == POD else ""


def _container(given: Mapping[str, Any]) -> Document:
    """Return what scheduling reads of a container."""
    kept: Document = {name: given[name] for name in _KEPT_IN_CONTAINER if name in given}
    if resources := kept.get("resources"):
        kept["resources"] = {name: resources[name] for name in resources if name != "claims"}
    if ports := kept.get("ports"):
        kept["ports"] = [{n: port[n] for n in _KEPT_IN_PORT if n in port} for port in ports]
    return kept


def _with_requests(pod: Document, factor: Fraction) -> Document:
    spec = _with_resources(pod["spec"], factor)
    for where in ("initContainers", "containers"):
        if several := spec.get(where):
            spec[where] = [_with_resources(each, factor) for each in several]
    return {**pod, "spec": spec}


def _with_resources(owner: Mapping[str, Any], factor: Fraction) -> Document:
    """Return a container, or a pod's spec, whose resources are scaled."""
    resources = {**(owner.get("resources") or {})}
    for amounts, given in resources.items():
        if isinstance(given, dict):
            resources[amounts] = {n: _scaled(n, str(text), factor) for n, text in given.items()}
    return {**owner, "resources": resources} if resources else {**owner}


def _scaled(name: str, text: str, factor: Fraction) -> str:
    amount = Fraction(parse_quantity(text).nano, 10**9) * factor
    if name == "cpu":
        return f"{ceil(amount * 1000)}m"
    return str(ceil(amount)) if name in _BYTES else text


def _with_prefix(line: TraceLine, prefix: str) -> TraceLine:
    applied = line.applied
    if not prefix or applied.get("kind") not in _PREFIXED:
        return line
    named = _with_groups(applied, prefix)
    metadata = {**named["metadata"], "name": f"{prefix}-{applied['metadata']['name']}"}
    return TraceLine(line.at_ns, {**line.action, "apply": {**named, "metadata": metadata}})


def _with_groups(value: Any, prefix: str) -> Any:
    """Return a part of an object that names its groups with a prefix."""
    if isinstance(value, list):
        return [_with_groups(each, prefix) for each in value]
    if not isinstance(value, dict):
        return value
    if value.get("key") == POD_GROUP_LABEL and value.get("values"):
        return {**value, "values": [f"{prefix}-{each}" for each in value["values"]]}
    return {
        name: f"{prefix}-{part}" if name in _OF_GROUP else _with_groups(part, prefix)
        for name, part in value.items()
    }
