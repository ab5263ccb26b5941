"""Objects of several inputs, each of them once.

Inputs may overlap: a folder contains a dump of all kinds beside dumps of single kinds. Objects of
one name with the same content are one object; with different contents they are an error, because
one of them would replace the other.
"""

from __future__ import annotations

import re

from podwright.apimachinery.objects import FieldError, Object, api_group, encode
from podwright.simulation.files.object_reader import Sourced

_VERSION = re.compile(r"v(?P<major>\d+)(?:(?P<stage>alpha|beta)(?P<minor>\d+))?")


class DistinctObjects:
    """Collects objects.

    Parameters
    ----------
    errors : list of FieldError
        Where an error is added for each object that differs from an earlier one of its name.

    Attributes
    ----------
    kept : list of Sourced
        The objects in the order of their first occurrence.
    """

    def __init__(self, errors: list[FieldError]) -> None:
        self.kept: list[Sourced] = []
        self._errors = errors
        self._positions: dict[tuple[str, str, str], int] = {}

    def add(self, entry: Sourced) -> None:
        """Add an object; of several versions, the newest counts."""
        obj = entry.object
        # With generateName only, every object is a new one.
        if not obj.name:
            self.kept.append(entry)
            return
        identity = (api_group(obj.api_version), obj.kind, obj.key)
        position = self._positions.setdefault(identity, len(self.kept))
        if position == len(self.kept):
            self.kept.append(entry)
        elif self._replaces(entry, self.kept[position]):
            self.kept[position] = entry

    def _replaces(self, entry: Sourced, first: Sourced) -> bool:
        """Whether a duplicate has a newer version; two contents of one version are an error."""
        obj = entry.object
        version, first_version = _version_of(obj), _version_of(first.object)
        if version != first_version:
            # A bundle for several releases of Kubernetes has an object in several versions.
            return _version_rank(version) > _version_rank(first_version)
        if encode(first.object) != encode(obj):
            message = f"{obj.kind} {obj.key} is different in {first.source}"
            self._errors.append(FieldError(source=entry.source, path="", message=message))
        return False


def _version_of(obj: Object) -> str:
    # A struct has one version of its kind, the document the written one.
    return str(obj.raw.get("apiVersion") or obj.api_version)


def _version_rank(api_version: str) -> tuple[int, int, int]:
    """Return the priority of a version: stable before beta before alpha, then the numbers.

    Upstream: staging/src/k8s.io/apimachinery/pkg/version/helpers.go, CompareKubeAwareVersionStrings
    """
    found = _VERSION.fullmatch(api_version.rpartition("/")[2])
    if found is None:
        return (0, 0, 0)
    stage = {"alpha": 1, "beta": 2, None: 3}[found["stage"]]
    return (stage, int(found["major"]), int(found["minor"] or 0))
