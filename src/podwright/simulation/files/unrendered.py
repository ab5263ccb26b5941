"""Files beside manifests that are not manifests: the sources of Helm charts and kustomizations.

A folder of manifests often contains the inputs of a tool that renders manifests, runs of podwright,
and files of other tools. Such files are recognized by their name, by their folder or by their
content, and are skipped. The same file given by name is an error, because the user expects its
objects.

Notes
-----
Upstream: pkg/registry/resource/{deviceclass,resourceclaim,resourceslice}/strategy.go and
pkg/api/resourceclaimspec, `DropDisabledFields`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from podwright.apimachinery.documents import first_names
from podwright.apimachinery.objects import YamlError, encode, read_yaml
from podwright.apimachinery.schema import built_in
from podwright.cluster.api import GATED_FIELDS, has_field
from podwright.scheduler.config import Gates
from podwright.simulation.files.object_reader import Sourced

CHART = "Chart.yaml"
KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")

_CHART_FILES = re.compile(r"Chart\.(yaml|lock)|values([-._].*)?\.(ya?ml|json)|.*\.tpl")
_TEMPLATE_BYTES_MAX = 1_000_000
"""Larger files are dumps, which are not parsed twice."""

_GZIP = b"\x1f\x8b"

_OBJECT = re.compile(rb'^(?:["{\s-]*)(?:apiVersion|kind)["\']?\s*:', re.MULTILINE)


class Unrendered(msgspec.Struct, frozen=True):
    """The reason why a file is not a manifest.

    Attributes
    ----------
    what : str
        The files of which this is one, such as `a Helm chart`.
    folder : Path
        The folder of the chart or the kustomization, or the folder of the file.
    command : str
        What makes manifests of it; empty for files of other tools.
    action : str
        What the command does, as advice.
    """

    what: str
    folder: Path
    command: str = ""
    action: str = "render it first"

    @property
    def remedy(self) -> str:
        """The advice as the end of a message."""
        return f"; {self.action}: {self.command}" if self.command else ""


class UnrenderedFiles:
    """Recognizes files that are not manifests; each folder is examined once."""

    def __init__(self) -> None:
        self._charts: dict[Path, Path | None] = {}
        self._runs: dict[Path, Path | None] = {}
        self._examined: set[Path] = set()
        self._kustomized: dict[Path, Path] = {}
        """The folder of the kustomization of each patch and generator input."""
        self._resources: dict[Path, Path] = {}
        """The folder of the kustomization of each resource."""

    def examine(self, folder: Path) -> None:
        """Note the files that the kustomization in a folder names, if there is one."""
        if folder in self._examined:
            return
        self._examined.add(folder)
        for document in _kustomizations_in(folder):
            for path in _input_paths(document):
                self._kustomized.setdefault((folder / path).resolve(), folder)
            for path in _resource_paths(document):
                self._resources.setdefault((folder / path).resolve(), folder)

    def reason(self, file: Path, data: bytes, *, is_named: bool = False) -> Unrendered | None:
        """Return the reason why a file is not a manifest; None if it is one, or may be.

        Parameters
        ----------
        file : Path
            A file with a suffix of manifests.
        data : bytes
            Its content.
        is_named : bool
            Whether the user named the file, not its folder. The resources of a kustomization are
            whole manifests, which are read then.
        """
        folder = file.parent
        run = None if is_named else self._run_of(folder)
        if run is not None:
            return Unrendered(
                "a run of podwright",
                run,
                f"podwright convert {run}",
                action="name it with --run, or convert it",
            )
        kustomization = self._kustomization_of(file, is_named=is_named)
        if kustomization is not None:
            return Unrendered(
                "a kustomization", kustomization, f"kubectl kustomize {kustomization}"
            )
        chart = self._chart_of(folder)
        if chart is not None:
            inside = file.relative_to(chart)
            is_source = len(inside.parts) == 1 and _CHART_FILES.fullmatch(file.name)
            if is_source or "templates" in inside.parts[:-1]:
                return Unrendered("a Helm chart", chart, f"helm template {chart}")
        if data.startswith(_GZIP):
            # A compressed file is a dump, and its bytes contain any sequence by chance.
            return None
        if len(data) < _TEMPLATE_BYTES_MAX and b"{{" in data and not _is_yaml(data):
            return Unrendered("unrendered templates ({{ }})", folder, "helm template CHART")
        if file.suffix != ".csv" and not _has_objects(data):
            return Unrendered("files without apiVersion and kind", folder)
        return None

    def _run_of(self, folder: Path) -> Path | None:
        """Return the folder of the simulated run that contains a folder."""
        if folder not in self._runs:
            found = (each for each in (folder, *folder.parents) if _is_run(each))
            self._runs[folder] = next(found, None)
        return self._runs[folder]

    def _chart_of(self, folder: Path) -> Path | None:
        """Return the innermost chart that contains a folder."""
        if folder not in self._charts:
            candidates = (folder, *folder.parents)
            found = (each for each in candidates if (each / CHART).is_file())
            self._charts[folder] = next(found, None)
        return self._charts[folder]

    def _kustomization_of(self, file: Path, *, is_named: bool) -> Path | None:
        """Return the folder of the kustomization that a file belongs to."""
        if file.name in KUSTOMIZATIONS:
            return file.parent
        self.examine(file.parent)
        resolved = file.resolve()
        found = self._kustomized.get(resolved)
        return found if found or is_named else self._resources.get(resolved)


def skipped_text(reason: Unrendered, files: list[Path]) -> str:
    """Return the message about the skipped files with one reason, in one line.

    Examples
    --------
    >>> chart = Unrendered("a Helm chart", Path("web"), "helm template web")
    >>> skipped_text(chart, [Path("web/Chart.yaml"), Path("web/values.yaml")])
    'web: skipped a Helm chart (Chart.yaml, values.yaml); render it first: helm template web'
    """
    names = [os.path.relpath(file, reason.folder) for file in files]
    return f"{reason.folder}: skipped {reason.what} ({first_names(names)}){reason.remedy}"


def _is_run(folder: Path) -> bool:
    files = ("manifest.json", "objects.json")
    return all((folder / name).is_file() for name in files) and (folder / "log").is_dir()


def _kustomizations_in(folder: Path) -> list[dict[str, Any]]:
    """Return the documents of the kustomization in a folder."""
    for name in KUSTOMIZATIONS:
        try:
            text = (folder / name).read_text(encoding="utf-8")
            documents = [document.value for document in read_yaml(text, allow_duplicates=True)]
        except (OSError, UnicodeDecodeError, YamlError, RecursionError):
            continue
        return [document for document in documents if isinstance(document, dict)]
    return []


def _resource_paths(kustomization: dict[str, Any]) -> Iterator[str]:
    """Yield the files and folders of resources; others are addresses."""
    for key in ("resources", "bases", "components", "crds"):
        for path in _entries(kustomization, key):
            if isinstance(path, str) and "://" not in path:
                yield path


def _entries(mapping: dict[str, Any], key: str) -> list[Any]:
    found = mapping.get(key)
    return found if isinstance(found, list) else []


def _input_paths(kustomization: dict[str, Any]) -> Iterator[str]:
    for key in ("patches", "patchesJson6902", "patchesStrategicMerge", "replacements"):
        for entry in _entries(kustomization, key):
            path = entry.get("path") if isinstance(entry, dict) else entry
            if isinstance(path, str) and "\n" not in path:
                yield path
    for key in ("configMapGenerator", "secretGenerator"):
        for entry in _entries(kustomization, key):
            if isinstance(entry, dict):
                for path in (*_entries(entry, "files"), *_entries(entry, "envs")):
                    yield str(path).rpartition("=")[2]
    for key in ("configurations", "transformers", "generators"):
        yield from (
            path
            for path in _entries(kustomization, key)
            if isinstance(path, str) and "\n" not in path
        )


def _is_yaml(data: bytes) -> bool:
    try:
        for _ in read_yaml(data.decode("utf-8-sig"), allow_duplicates=True):
            pass
    except (UnicodeDecodeError, YamlError, RecursionError):
        return False
    return True


def _has_objects(data: bytes) -> bool:
    """Whether a file may have a Kubernetes object; reading it reports all other errors."""
    if _OBJECT.search(data[:65_536]):
        return True
    try:
        text = data.decode("utf-8-sig")
        if text.lstrip()[:1] in {"{", "["}:
            values = [msgspec.json.decode(text)]
        else:
            values = [
                document.value
                for document in read_yaml(text, allow_duplicates=True)
                if document.value is not None
            ]
    except (UnicodeDecodeError, YamlError, RecursionError, msgspec.DecodeError):
        return True  # also a compressed file, which is not unpacked twice
    return not values or any(map(_is_object, values))


def _is_object(value: Any) -> bool:
    if isinstance(value, list):
        return not value or any(_is_object(entry) for entry in value if not isinstance(entry, str))
    if not isinstance(value, dict):
        return True
    # Another tool's file may have a key of a snapshot, such as `pods`, among others.
    known = built_in().snapshot_keys.keys() & value.keys()
    return 2 * len(known) > len(value) or "apiVersion" in value or "kind" in value


# Fields and kinds of devices among the input whose feature gate is off.
#
# A kube-apiserver with the gate off drops such a field when an object is written, and does not
# serve such a kind. From files, both reach the scheduler, which ignores most of them and rejects
# pods for the others, as kube-scheduler does.

_GROUP: Final = "resource.k8s.io"


GATED_KINDS: Final = {
    (_GROUP, "DeviceTaintRule"): ("DRADeviceTaintRules",),
    ("scheduling.k8s.io", "PodGroup"): ("GenericWorkload",),
    ("scheduling.k8s.io", "Workload"): ("GenericWorkload",),
}


def disabled_fields(sourced: Iterable[Sourced], gates: Gates) -> Iterator[str]:
    """Return a warning for each field or kind whose gate is off; the first object is named."""
    fields = {
        kind: [gated for gated in each if _off(gated.gates, gates)]
        for (group, kind), each in GATED_FIELDS.items()
        if group == _GROUP
    }
    found: dict[tuple[str, str, str], list[Sourced]] = {}
    for entry in sourced:
        obj = entry.object
        group = obj.api_version.partition("/")[0]
        for gate in _off(GATED_KINDS.get((group, obj.kind), ()), gates):
            found.setdefault((obj.kind, "", gate), []).append(entry)
        looked_for = fields.get(obj.kind)
        if group != _GROUP or not looked_for:
            continue
        document = encode(obj)
        for gated in looked_for:
            if has_field(document, gated.path):
                for gate in _off(gated.gates, gates):
                    path = ".".join(gated.path)
                    found.setdefault((obj.kind, path, gate), []).append(entry)
    for (kind, path, gate), entries in found.items():
        first, others = entries[0], len(entries) - 1
        more = f" (and {others} more)" if others else ""
        what = f"{path} needs" if path else "needs"
        yield (
            f"{first.source}: {kind} {first.object.name}{more}: {what} the feature gate {gate},"
            " which is off"
        )


def _off(names: tuple[str, ...], gates: Gates) -> list[str]:
    return [name for name in names if name not in gates]
