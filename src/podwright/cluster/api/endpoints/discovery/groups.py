"""The order of groups and versions: that of the server's set-up, then custom ones by name.

Upstream: staging/src/k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper/helpers.go,
SortedByGroupAndVersion; staging/src/k8s.io/apimachinery/pkg/version/helpers.go,
CompareKubeAwareVersionStrings
"""

from __future__ import annotations

import re
from functools import cmp_to_key
from typing import Final, TypeAlias

from podwright.cluster.api.versions.resources import Resources

Groups: TypeAlias = dict[str, list[str]]
"""The versions of each group, the preferred one first."""

_VERSION: Final = re.compile(r"v([0-9]+)(?:(alpha|beta)([0-9]+))?")
_STABILITY: Final = {None: 2, "beta": 1, "alpha": 0}


def groups_of(resources: Resources, *, is_aggregated: bool = False) -> Groups:
    """Return the groups that have resources, in the order of discovery.

    Parameters
    ----------
    resources : Resources
        The served resources.
    is_aggregated : bool
        Whether custom groups are in the order of the aggregated documents: by name. The others
        order them by their first API service, such as `v1.example.com`.
    """
    served = {(each.group, each.version) for each in resources}
    found: Groups = {}
    for api_version in resources.group_versions:
        group, _, version = api_version.rpartition("/")
        if (group, version) in served:
            found.setdefault(group, []).append(version)
            served.discard((group, version))
    custom: Groups = {}
    for group, version in sorted(served):
        (found if group in found else custom).setdefault(group, []).append(version)
    for versions in custom.values():
        versions.sort(key=version_order)

    def place(group: str) -> str:
        return group if is_aggregated else min(f"{each}.{group}" for each in custom[group])

    return found | {group: custom[group] for group in sorted(custom, key=place)}


def _compare(one: str, other: str) -> int:
    """Return a negative number if a version comes first: v2, v1, v1beta1, v1alpha1, then others."""
    left, right = _VERSION.fullmatch(one), _VERSION.fullmatch(other)
    if left is None or right is None:
        if left is None and right is None:
            return (one > other) - (one < other)
        return 1 if left is None else -1
    first, second = _rank(left), _rank(right)
    return (first < second) - (first > second)


def _rank(found: re.Match[str]) -> tuple[int, int, int]:
    return _STABILITY[found[2]], int(found[1]), int(found[3] or 0)


version_order = cmp_to_key(_compare)
"""The sort key of versions, the preferred one first."""
