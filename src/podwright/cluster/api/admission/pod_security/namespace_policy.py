"""The levels and versions that the labels of a namespace choose.

Upstream: staging/src/k8s.io/pod-security-admission/api/helpers.go
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, TypeAlias

import msgspec

from podwright.apimachinery.schema import Problem

PREFIX: Final = "pod-security.kubernetes.io/"
LEVELS: Final = ("privileged", "baseline", "restricted")

Version: TypeAlias = int | None
"""The minor version of a standard; None for the latest."""

_VERSION: Final = re.compile(r"v1\.(0|[1-9][0-9]*)", re.ASCII)


class Standard(msgspec.Struct, frozen=True):
    """A level of a version."""

    level: str = "privileged"
    version: Version = None

    def __str__(self) -> str:
        version = "latest" if self.version is None else f"v1.{self.version}"
        return f"{self.level}:{version}"


class Policy(msgspec.Struct, frozen=True):
    """What a namespace enforces, audits and warns of.

    Attributes
    ----------
    problems : tuple of Problem
        The labels that are not valid.
    """

    enforce: Standard
    audit: Standard
    warn: Standard
    problems: tuple[Problem, ...] = ()

    @property
    def is_privileged(self) -> bool:
        """Whether the policy allows everything."""
        levels = {self.enforce.level, self.audit.level, self.warn.level}
        return levels == {"privileged"} and not self.problems


PRIVILEGED: Final = Policy(Standard(), Standard(), Standard())


def policy_of(labels: Mapping[str, str]) -> Policy:
    """Return the policy of a namespace with some labels.

    Notes
    -----
    A bad level enforces the strictest one, and is neither audited nor warned of. A namespace
    warns of what it enforces, unless it has a level for warnings.
    """
    if not any(name.startswith(PREFIX) for name in labels):
        return PRIVILEGED
    problems: list[Problem] = []

    def read(mode: str) -> tuple[Standard, bool]:
        level, version, is_valid = "privileged", None, False
        text = labels.get(PREFIX + mode)
        if text is not None:
            is_valid = text in LEVELS
            level = text if is_valid else "restricted" if mode == "enforce" else "privileged"
            if not is_valid:
                problems.append(_problem(mode, text, f"must be one of {', '.join(LEVELS)}"))
        text = labels.get(f"{PREFIX}{mode}-version")
        if text is not None and text != "latest":
            match = _VERSION.fullmatch(text)
            if match:
                version = int(match[1])
            else:
                problems.append(_problem(f"{mode}-version", text, 'must be "latest" or "v1.x"'))
        return Standard(level, version), is_valid

    enforce, is_valid = read("enforce")
    audit, _ = read("audit")
    warn, _ = read("warn")
    if PREFIX + "warn" not in labels and is_valid and rank(enforce) > rank(warn):
        has_version = f"{PREFIX}warn-version" in labels
        warn = Standard(enforce.level, warn.version if has_version else enforce.version)
    return Policy(enforce, audit, warn, tuple(problems))


def rank(standard: Standard) -> int:
    """Return how strict the level of a standard is."""
    return LEVELS.index(standard.level)


def _problem(name: str, value: str, detail: str) -> Problem:
    path = f"metadata.labels[{PREFIX}{name}]"
    return path, f'Invalid value: "{value}": {detail}', value
