"""Workloads on the command line: their expansion into pods, and their names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from podwright.apimachinery.objects import (
    FieldError,
    InputError,
    KubernetesObject,
    NamespacedName,
    Pod,
    nearest,
    workload_of,
)
from podwright.apimachinery.schema import built_in
from podwright.cli.clusters.options import address_of_source
from podwright.cli.console import print_message
from podwright.cli.inputs import POD_NAMES, find_key
from podwright.cluster.controllers import (
    EXPANDED_KINDS,
    ExpandedWorkload,
    Expansion,
    expand,
    is_active,
)
from podwright.scheduler.assembly import UnknownPod
from podwright.simulation.files import LoadedObjects

if TYPE_CHECKING:
    from podwright.cluster.controllers import HpaBound

_AUTOSCALER = "HorizontalPodAutoscaler"


def expand_workloads(loaded: LoadedObjects, hpa: HpaBound = "min") -> Expansion:
    """Expand the workloads of some files into pods, and report how many pods that gives.

    Parameters
    ----------
    hpa : str
        The replicas of workloads that a HorizontalPodAutoscaler scales.

    Raises
    ------
    InvalidObject
        If a workload or its template is invalid.
    """
    expansion = expand(loaded.objects, hpa=hpa)
    report_expansion(expansion)
    warn_of_idle_hpa(hpa, loaded.objects)
    return expansion


def warn_of_idle_hpa(hpa: HpaBound, objects: Iterable[KubernetesObject]) -> None:
    """Warn of `--hpa max` without an object that it concerns."""
    if hpa == "max" and not any(obj.kind == _AUTOSCALER for obj in objects):
        print_message(f"warning: --hpa max has no effect: the files have no {_AUTOSCALER}")


def report_expansion(expansion: Expansion, *, side: str = "") -> None:
    """Print how many pods an expansion gives, and which workloads create none now.

    Parameters
    ----------
    side : str
        The side of a comparison whose workloads differ from those of the other side.
    """
    where = f"{side}: " if side else ""
    counts: dict[str, int] = {}
    without: dict[str, list[ExpandedWorkload]] = {}
    for workload in expansion.workloads:
        if workload.new_count:
            counts[workload.kind] = counts.get(workload.kind, 0) + 1
        if workload.note and not workload.is_of_server:
            without.setdefault(workload.kind, []).append(workload)
    for text in expansion.notes:
        print_message(f"warning: {where}{text}")
    for kind, workloads in without.items():
        first, number = workloads[0], len(workloads)
        text = (
            f"{kind} {first.key} creates no pods now: {first.note}"
            if number == 1
            else f"{number} {kind}s create no pods now, such as {first.key}: {first.note}"
        )
        print_message(f"warning: {where}{text}")
    if counts:
        pods = sum(workload.new_count for workload in expansion.workloads)
        kinds = [f"{n} {kind}{'s' * (n != 1)}" for kind, n in counts.items()]
        expanded = "expanded" if side else "Expanded"
        print_message(f"{where}{expanded} {', '.join(kinds)} into {pods} pod{'s' * (pods != 1)}.")


@cache
def _names() -> dict[str, str]:
    """Return the kinds of workloads by their names on kubectl's command line."""
    rows = [kind.row for kind in built_in().preferred() if kind.group_kind in EXPANDED_KINDS]
    names = ((row, (row.singular, row.resource, *row.short_names)) for row in rows)
    return {name: row.kind for row, several in names for name in several}


def kind_named(text: str) -> str:
    """Return the kind of workloads that a word of kubectl means; "" if it means none.

    Examples
    --------
    >>> from podwright.cli.workloads import kind_named
    >>> kind_named("deploy"), kind_named("jobs"), kind_named("statefulset.apps"), kind_named("web")
    ('Deployment', 'Job', 'StatefulSet', '')
    """
    return _names().get(text.lower().partition(".")[0], "")


def namespace_in(pod: str, cluster: str) -> str:
    """Return the namespace in which a cluster has a pod or a workload, as for kubectl.

    Parameters
    ----------
    pod : str
        As `podwright explain` accepts it.
    cluster : str
        `cluster:` or `cluster:CONTEXT`.

    Returns
    -------
    str
        That of the context; "" if the name has a namespace.

    Raises
    ------
    ConnectionSettingsError
    """
    head, _, _ = pod.rpartition("/")
    if head and not kind_named(head) and head not in POD_NAMES:
        return ""
    address = address_of_source(cluster)
    from podwright.online.client.cluster import namespace_of

    return namespace_of(address)


def reject_swapped(pod: str, files: Sequence[str]) -> None:
    """Reject the arguments of a command whose first one is not the name of a pod.

    Raises
    ------
    InputError
        If POD is a file and no FILE is one, or POD is a kind and FILE its name.
    """
    if not files and not kind_named(pod.partition("/")[0]) and Path(pod).exists():
        message = f"it is a file or folder; name the pod before it: podwright explain POD {pod}"
        raise InputError([FieldError(source="options", path="POD", value=pod, message=message)])
    if not files or any(name == "-" or ":" in name or Path(name).exists() for name in files):
        return
    rest = " ".join(files)
    if pod in POD_NAMES or kind_named(pod):
        message = f"a pod or workload is named as {pod}/{files[0]}"
    elif Path(pod).exists():
        message = f"it comes before the files; did you mean: podwright explain {rest} {pod}"
    else:
        return
    raise InputError([FieldError(source="options", path="POD", value=pod, message=message)])


def find_workload(
    text: str,
    workloads: Iterable[ExpandedWorkload],
    *,
    namespace: str = "",
    where: str = "in these files",
) -> ExpandedWorkload | None:
    """Return the workload that ``kind/name`` refers to; None if the text names no kind.

    Raises
    ------
    UnknownPod
        If there is no such workload, or the name is ambiguous; with suggestions.
    """
    head, slash, name = text.partition("/")
    kind = kind_named(head) if slash else ""
    if not kind:
        return None
    of_kind = {each.key: each for each in workloads if each.kind == kind}
    key = find_key(name, of_kind, namespace=namespace, what=kind, where=where)
    return of_kind[key]


def find_pods(
    text: str,
    pods: Sequence[Pod],
    workloads: Sequence[ExpandedWorkload],
    *,
    namespace: str = "",
    where: str = "in these files",
) -> tuple[list[str], ExpandedWorkload | None]:
    """Return the pods that a name refers to: one pod, or all pods of a workload.

    Parameters
    ----------
    text : str
        ``name``, ``namespace/name`` or ``pod/name`` of a pod; ``kind/name`` of a workload.

    Returns
    -------
    (list of str, ExpandedWorkload or None)
        Pods as `namespace/name`, and the workload if the name is that of one.

    Raises
    ------
    UnknownPod
        If there is no such pod or workload, or the workload has no pods; with suggestions.
    """
    keys = [pod.key for pod in pods]
    # A namespace may have the name of a kind.
    if text not in keys:
        workloads = (*workloads, *owners_of(pods, workloads))
        workload = find_workload(text, workloads, namespace=namespace, where=where)
        if workload is not None:
            if not workload.pods:
                why = f": {workload.note}" if workload.note else ""
                raise UnknownPod(f"{workload.kind} {workload.key} has no pods{why}")
            return list(workload.pods), workload
    try:
        return [find_key(text, keys, namespace=namespace, where=where)], None
    except UnknownPod as error:
        hint = _workload_hint(text, workloads) or _kind_hint(text, keys)
        if not hint:
            raise
        # A workload of that very name is a better guess than a pod of a similar one.
        what = str(error).partition("; did you mean")[0]
        raise UnknownPod(f"{what}; {hint}") from error


def _kind_hint(text: str, keys: Sequence[str]) -> str:
    """Suggest a kind for a misspelt one; a namespace with pods is none."""
    head, slash, name = text.partition("/")
    if not slash or head in POD_NAMES or any(key.startswith(f"{head}/") for key in keys):
        return ""
    near = nearest(head.lower(), [each for each in _names() if len(each) > 3])  # no short names
    return f"did you mean {near}/{name}?" if near else ""


def owners_of(
    pods: Iterable[Pod], known: Iterable[ExpandedWorkload] = ()
) -> Iterator[ExpandedWorkload]:
    """Yield the workloads that control some pods and are not known.

    They are absent from the files, or, as the ReplicaSets of a Deployment, part of others.
    """
    given = {(each.kind, each.key) for each in known}
    of_owner: dict[tuple[str, NamespacedName], list[NamespacedName]] = {}
    for pod in filter(is_active, pods):
        controller = pod.metadata.controller
        if controller is None:
            continue
        direct = (controller.kind, f"{pod.namespace}/{controller.name}")
        for owner in {direct: None, workload_of(pod) or direct: None}:
            if owner not in given:
                of_owner.setdefault(owner, []).append(pod.key)
    for (kind, key), keys in of_owner.items():
        yield ExpandedWorkload(kind=kind, key=key, pods=tuple(keys), new_count=0)


def _workload_hint(text: str, workloads: Iterable[ExpandedWorkload]) -> str:
    """Suggest workloads for a name that is not that of a pod."""
    head, slash, name = text.rpartition("/")
    named = [each for each in workloads if each.key.rpartition("/")[2] == name]
    if not named:
        return ""
    if slash and (close := difflib.get_close_matches(head.lower(), _names(), n=1, cutoff=0.7)):
        kinds = {_names()[each] for each in close}
        named = [each for each in named if each.kind in kinds] or named
    texts = [f"{each.kind.lower()}/{each.key.rpartition('/')[2]}" for each in named]
    where = ", ".join(dict.fromkeys(each.key.partition("/")[0] for each in named))
    return f"did you mean {' or '.join(texts)} (namespace {where})?"
