"""Charts and kustomizations, rendered by helm and kubectl, as changes of a scenario's cluster.

An object that is in the cluster is changed in the fields that the manifest has, as `helm upgrade`
and `kubectl apply` do: what others set, such as the replicas of a workload that is scaled
automatically, stays. What a release no longer has is deleted; Helm marks the objects of a release.
Hooks that neither an installation nor an upgrade runs are left out.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from podwright.apimachinery.documents import first_names
from podwright.apimachinery.objects import Document, Object, PodwrightError, encode
from podwright.apimachinery.patching import merge_patched, strategic_merged
from podwright.apimachinery.schema import built_in
from podwright.cli.commands import UPSTREAM
from podwright.cli.recorded.options import CheckOptions
from podwright.cluster.store import kind_of
from podwright.simulation.files import load_bytes, without_server_fields
from podwright.simulation.scenarios import ScenarioFile

_FOR_RELEASE: Final = ("--kube-version", f"v{UPSTREAM}.0")
"""The release that podwright follows: helm would render for that of its own build."""
_IN_A_LINE_MAX: Final = 6
_HOOK: Final = "helm.sh/hook"
_RUN_HOOKS: Final = {"pre-install", "post-install", "pre-upgrade", "post-upgrade"}
_RELEASE: Final = ("meta.helm.sh/release-namespace", "meta.helm.sh/release-name")
_KEEP: Final = ("helm.sh/resource-policy", "keep")
_HINT: Final = "Use --debug flag to render out invalid YAML"


class RenderingError(PodwrightError):
    """A chart or a kustomization that cannot be rendered."""


class Rendered(NamedTuple):
    """A rendered chart or kustomization.

    Attributes
    ----------
    source : str
        The command that renders it.
    objects : tuple of Object
        Without defaults: an object may be a change of an existing one.
    release : (str, str), optional
        The namespace and the name of the release of a chart.
    """

    source: str
    objects: tuple[Object, ...]
    release: tuple[str, str] | None = None


def rendered_manifests(options: CheckOptions) -> Iterator[Rendered]:
    """Yield each chart and each kustomization.

    Raises
    ------
    RenderingError
    InputError
        With the errors of the manifests.
    """
    given = [("--values", each) for each in options.values]
    given += [("--set", each) for each in options.settings]
    given += [("--namespace", options.namespace)] if options.namespace else []
    for chart in options.charts:
        release = options.release or re.sub(r"-\d[^/]*\.tgz$", "", Path(chart).resolve().name)
        arguments = [part for pair in given for part in pair]
        command = ["helm", "template", "--include-crds", *_FOR_RELEASE, release, chart, *arguments]
        objects = _objects_of(command, options.namespace)
        kept = tuple(obj for obj in objects if _is_applied(obj))
        yield Rendered(" ".join(command), kept, (options.namespace or "default", release))
    for folder in options.kustomize:
        command = ["kubectl", "kustomize", folder]
        yield Rendered(" ".join(command), _objects_of(command))


def _objects_of(command: Sequence[str], namespace: str = "") -> tuple[Object, ...]:
    program, shown = shutil.which(command[0]), " ".join(command)
    if program is None:
        raise RenderingError(f"{command[0]} is not on the PATH; {shown} needs it")
    done = subprocess.run([program, *command[1:]], capture_output=True, check=False)
    if done.returncode:
        printed = done.stderr.decode(errors="replace").replace(_HINT, "").strip()
        reason = printed.removeprefix("Error: ").removeprefix("error: ")
        raise RenderingError(f"{shown} failed: {reason}")
    return load_bytes([(shown, done.stdout)], has_defaults=False, namespace=namespace).objects


def _is_applied(obj: Object) -> bool:
    hooks = obj.metadata.annotations.get(_HOOK)
    return hooks is None or not _RUN_HOOKS.isdisjoint(hooks.replace(" ", "").split(","))


def with_rendered(scenario: ScenarioFile, rendered: Rendered) -> tuple[ScenarioFile, list[str]]:
    """Return a scenario that is changed at its start, and lines about the differences."""
    there = {(kind_of(obj), obj.key): obj for obj in scenario.loaded.objects}
    operations: list[Document] = []
    found: dict[str, list[tuple[str, str]]] = {"creates": [], "changes": [], "deletes": []}
    differences: list[str] = []
    for obj in rendered.objects:
        present = there.pop((kind_of(obj), obj.key), None)
        after = encode(obj)
        if present is not None:
            before, after = _merged(present, without_server_fields(after))
            changes = list(_differences("", before, after))
            if not changes:
                continue
            is_secret = kind_of(obj) == ("", "Secret")
            name = f"{obj.kind} {obj.key}"
            differences += [f"  {name}: {_shown(*change, is_secret)}" for change in changes]
        found["creates" if present is None else "changes"].append((obj.kind, obj.key))
        operations.append({"apply": after})
    for (kind, key), obj in there.items():
        if _is_of(obj, rendered) and built_in().of(*kind):
            line = {"delete": f"{obj.kind.lower()}/{obj.name}"}
            operations.append(line | {"namespace": obj.namespace} if obj.namespace else line)
            found["deletes"].append((obj.kind, key))
    title, *lists = _listed(found)
    title = f"{rendered.source}, {scenario.name}: {title}"
    if operations:
        lines = b"".join(msgspec.json.encode({"at": "0s"} | line) + b"\n" for line in operations)
        events = (*scenario.events, (rendered.source, lines))
        scenario = msgspec.structs.replace(scenario, events=events)
    return scenario, [title, *lists, *differences]


def _listed(found: Mapping[str, Sequence[tuple[str, str]]]) -> list[str]:
    """Return what is created, changed and deleted: in one line, or many objects by kind."""
    if sum(map(len, found.values())) <= _IN_A_LINE_MAX:
        parts = [
            f"{verb} {', '.join(f'{kind} {key}' for kind, key in objects)}"
            for verb, objects in found.items()
            if objects
        ]
        return ["; ".join(parts) or "changes nothing"]
    counts = {verb: len(each) for verb, each in found.items() if each}
    lines = ["; ".join(f"{verb} {many} object{'s' * (many > 1)}" for verb, many in counts.items())]
    for verb, objects in found.items():
        for kind in dict.fromkeys(kind for kind, _ in objects):
            keys = [key for each, key in objects if each == kind]
            lines.append(f"  {verb} {kind} {first_names(keys)}")
    return lines


def _merged(present: Object, patch: Document) -> tuple[Document, Document]:
    """Return an object before and after a patch, with the defaults of its kind."""
    before, kind = encode(present), built_in().of(*kind_of(present))
    if kind is None:
        return before, merge_patched(before, patch)
    after = strategic_merged(kind, before, patch)
    return kind.checked(before)[0], kind.checked(after)[0]


def _is_of(obj: Object, rendered: Rendered) -> bool:
    annotations = obj.metadata.annotations
    name, policy = _KEEP
    marks = tuple(annotations.get(each) for each in _RELEASE)
    return marks == rendered.release and annotations.get(name) != policy


def _differences(path: str, before: Any, after: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield the path of each value that differs, with both values; named entries by their name."""
    one, other = _by_name(before), _by_name(after)
    if one is None or other is None:
        if before != after:
            yield path, before, after
        return
    joint = "[{}]" if isinstance(after, list) else ".{}" if path else "{}"
    for name in dict.fromkeys([*one, *other]):
        yield from _differences(path + joint.format(name), one.get(name), other.get(name))


def _by_name(value: Any) -> dict[str, Any] | None:
    if isinstance(value, dict):
        return value
    if value and isinstance(value, list) and all(isinstance(one, dict) for one in value):
        names = [one.get("name") for one in value]
        return None if None in names else dict(zip(names, value, strict=True))
    return None


def _shown(path: str, before: Any, after: Any, is_secret: bool) -> str:
    if is_secret:
        return f"{path} differs"
    old, new = (msgspec.json.encode(value).decode() for value in (before, after))
    return f"{path}: {old} -> {new}"
