"""What comparisons with the record of a real cluster leave out: one table, with the reasons.

A comparison names what it leaves out. It fails if the rest differs, and also if one of the names
hides nothing in it: what hides nothing goes.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from difflib import unified_diff
from typing import Any, Final, TypeAlias

from podwright.cluster.kubelets.pod_statuses import EXIT_CODE, RUN_DELAY

HASH: Final = "[bcdf456789]{1,10}"
SUFFIX: Final = "[bcdfghjklmnpqrstvwxz2456789]{5}"

Change: TypeAlias = Callable[[Any], Any]
Table: TypeAlias = Mapping[str, tuple[str, Change]]
"""Reason and change, by name."""


def text(pattern: str, mark: str) -> Change:
    """Return a change of all texts and keys of a value."""
    form = re.compile(pattern)

    def change(value: Any) -> Any:
        if isinstance(value, str):
            return form.sub(mark, value)
        if isinstance(value, dict):
            return {form.sub(mark, key): change(entry) for key, entry in value.items()}
        return [change(each) for each in value] if isinstance(value, list | tuple) else value

    return change


def without(*keys: str) -> Change:
    """Return a change that takes keys away, at any depth."""
    left_out = frozenset(keys)

    def change(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: change(entry) for k, entry in value.items() if k not in left_out}
        return [change(each) for each in value] if isinstance(value, list | tuple) else value

    return change


def without_events(reason: str) -> Change:
    """Return a change that takes the Events of one reason away: lists that have it as an item."""
    return lambda events: [each for each in events if reason not in each]


def without_account(value: Any) -> Any:
    """Take the service account away, and the names of the volume with its token."""
    if isinstance(value, dict):
        names = value.keys() - {"serviceAccount", "serviceAccountName"}
        return {name: without_account(value[name]) for name in value if name in names}
    if isinstance(value, list | tuple):
        return [
            without_account(each)
            for each in value
            if not (isinstance(each, str) and each.startswith("kube-api-access-"))
        ]
    return value


def without_delays(pod: Any) -> Any:
    """Take the annotations away that delay the pod of a form, and what is empty then."""
    metadata, *others = without(RUN_DELAY, EXIT_CODE)(pod)
    return [{k: v for k, v in metadata.items() if v or k != "annotations"}, *others]


TABLE: Final[Table] = {
    "uid": (
        "uids are drawn",
        text(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UID"),
    ),
    "time": (
        "the clusters run at different times",
        text(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME"),
    ),
    "suffix": ("names of objects have drawn suffixes", text(rf"-{SUFFIX}\b", "-DRAWN")),
    "template hash": (
        "upstream hashes a template as its structs are in memory",
        text(rf"-{HASH}(?=[-\"\s]|$)", "-HASH"),
    ),
    "version": ("other objects change as well", without("resourceVersion", "generation")),
    "delays": (
        "the record's commands sleep; here pods have delays",
        lambda pods: list(map(without_delays, pods)),
    ),
    "combined": (
        "the real recorder combines Events that are alike",
        text(r"^\(combined from similar events\): ", ""),
    ),
    "scaled": ("users scaled to other numbers", text(r"\bfrom \d+ to \d+$", "from N to N")),
    "names": (
        "users created other workloads as well",
        text(r"\b(?:[a-z]+-)+(?:HASH(?:-DRAWN)?|\d+|DRAWN)\b", "NAME"),
    ),
    "outcomes of pods": (
        "some of the real pods succeed, here all of them fail",
        without("succeeded", "failed"),
    ),
    "deletions": (
        "active pods were deleted when the real job failed",
        without_events("SuccessfulDelete"),
    ),
    "completion": (
        "the real recorder sends 25 Events about one object at once",
        without_events("Completed"),
    ),
    "waiting claims": (
        "no scheduler runs here, for whose pod a claim waits",
        without_events("WaitForPodScheduled"),
    ),
    "provisioning": (
        "the recorded provisioner is a test provisioner without Events",
        lambda events: [each for each in events if not each[0].startswith("Provisioning")],
    ),
    "driver": (
        "the recorded provisioner has its own handles and attributes",
        without("volumeAttributes", "volumeHandle"),
    ),
    "any zone": (
        "without a pod that waits, a provisioner chooses any zone",
        text(r"^[a-z]+-[a-z]+-\d[a-z]$", "ZONE"),
    ),
    "preemptions": (
        "no scheduler runs here",
        lambda conditions: [each for each in conditions if "scheduler" not in each["message"]],
    ),
    "pod names": ("other pods are evicted here", text(r"\S+/\S+", "POD")),
    "condition times": (
        "the clusters run at different times",
        without("lastProbeTime", "lastTransitionTime"),
    ),
    "observed generation": ("users changed the recorded objects", without("observedGeneration")),
    "revisions": (
        "users changed the recorded deployments",
        without("deployment.kubernetes.io/revision", "deployment.kubernetes.io/revision-history"),
    ),
    "zone labels": (
        "copied onto a pod when it is bound; no scheduler runs here",
        without("topology.kubernetes.io/region", "topology.kubernetes.io/zone"),
    ),
    "service account": (
        "admission adds the account and its volume; the controllers run without it",
        without_account,
    ),
    "bound volume": ("no controller of volumes runs here", without("volumeName")),
}
"""Reason and change, by name."""


def plain(value: Any, names: Iterable[str]) -> Any:
    """Return a value without what the names say, in a form that is compared."""
    for name in names:
        value = TABLE[name][1](value)
    return json.loads(json.dumps(value, sort_keys=True))


def is_same(
    ours: Any, real: Any, table: Mapping[str, tuple[str, Change]], counts: Counter[str]
) -> bool:
    """Whether two values are equal without what a table of one comparison leaves out.

    Parameters
    ----------
    ours, real : Any
    table : mapping
    counts : Counter, written
        One more for each name without which the values would differ.
    """
    if ours == real:
        return True

    def compared(value: Any, names: Iterable[str]) -> Any:
        for name in names:
            value = table[name][1](value)
        return value

    if compared(ours, table) != compared(real, table):
        return False
    for name in table:
        others = [each for each in table if each != name]
        counts[name] += compared(ours, others) != compared(real, others)
    return True


def _lines(value: Any) -> list[str]:
    return json.dumps(value, indent=1).splitlines()


def distinct(values: Iterable[Any]) -> list[Any]:
    """Return the distinct values in one order."""
    return [json.loads(each) for each in sorted({json.dumps(v, sort_keys=True) for v in values})]


def assert_same(
    ours: Any, real: Any, *names: str, of_set: bool = False, is_part: bool = False
) -> None:
    """Compare a value with the recorded one, without what the names say.

    Parameters
    ----------
    ours, real : Any
        Values of JSON.
    *names : str
        Names of `TABLE`; each must hide a difference.
    of_set : bool
        Whether the values are lists whose order and whose repetitions do not matter.
    is_part : bool
        Whether the recorded set may have more.
    """

    def compared(kept: Iterable[str]) -> tuple[Any, Any]:
        mine, theirs = plain(ours, kept), plain(real, kept)
        if of_set or is_part:
            mine, theirs = distinct(mine), distinct(theirs)
        return mine, [each for each in theirs if each in mine] if is_part else theirs

    mine, theirs = compared(names)
    assert mine == theirs, "\n".join(unified_diff(_lines(theirs), _lines(mine), n=1))
    for name in names:
        mine, theirs = compared([each for each in names if each != name])
        assert mine != theirs, f"{name}: hides nothing; it goes"
