"""What the controller of daemon sets requests in one sync, by upstream's rules.

Upstream: pkg/controller/daemon/daemon_controller.go, update.go
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from podwright.apimachinery.objects import Pod
from podwright.apimachinery.schema import decode
from podwright.cluster.api import CreateObject
from podwright.cluster.controllers.apps.daemon_pods import (
    DaemonNodes,
    NodeContribution,
    UpdateState,
    daemon_tolerations,
    target_node,
)
from podwright.cluster.controllers.apps.daemon_set import DaemonSetController
from podwright.cluster.controllers.tests.single_sync import SingleSync
from podwright.cluster.controllers.tests.staged_cluster import NOW, SECOND, at, document

LABELS = {"app": "agent"}
TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": LABELS},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}
OWNER = {
    "apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": "du", "controller": True,
}  # fmt: skip
GENERATION = "deprecated.daemonset.template.generation"


def a_set(status: Any = None, *, generation: str = "", **spec: Any) -> Any:
    annotations = {GENERATION: generation} if generation else {}
    metadata = {"uid": "du", "generation": 3, "annotations": annotations}
    spec = {"selector": {"matchLabels": LABELS}, "template": TEMPLATE} | spec
    return document(
        "DaemonSet", "agent", api="apps/v1", namespace="sys", metadata=metadata, spec=spec,
        status=status or {},
    )  # fmt: skip


def a_revision(daemon_set: Any) -> Any:
    """Return the revision that the controller makes of a template."""
    (made, *_) = SingleSync(DaemonSetController, daemon_set).sync("sys/agent")
    revision = json.loads(made.removeprefix("create "))
    revision["metadata"]["uid"] = "ru"
    return decode(revision)


PRESENT = a_revision(a_set())
HASH = PRESENT.metadata.labels["controller-revision-hash"]


EFFECTS = {"no": "NoSchedule", "evict": "NoExecute", "prefer": "PreferNoSchedule"}


def nodes(text: str) -> list[Any]:
    """Return the nodes of a text, with the effects of their taints: `n0 n1:no`."""
    found = []
    for each in text.split():
        name, _, effect = each.partition(":")
        taints = [{"key": "k", "effect": EFFECTS[effect]}] if effect else []
        found.append(document("Node", name, spec={"taints": taints}))
    return found


def pods(text: str) -> list[Any]:
    """Return the pods of a text: `a@n0/old/up/gone`, `a->n0` for one that is not bound.

    Its marks are `old`, `up` (ready since 10 s before the start), `late` (ready since the start),
    `gone` (being deleted), `alien` (with other labels), an age in seconds, and a phase.
    """
    return [_pod(each) for each in text.split()]


def _pod(text: str) -> Any:
    place, *marks = text.split("/")
    name, node = re.split("@|->", place)
    revision = "old" if "old" in marks else HASH
    labels = LABELS if "alien" not in marks else {"app": "other"}
    (age,) = [int(each) for each in marks if each.isdecimal()] or [60]
    metadata: dict[str, Any] = {
        "uid": f"{name}-uid", "creationTimestamp": at(-age), "ownerReferences": [OWNER],
        "labels": labels | {"controller-revision-hash": revision},
    }  # fmt: skip
    metadata |= {"deletionTimestamp": at(0), "finalizers": ["x"]} if "gone" in marks else {}
    spec: dict[str, Any] = dict(TEMPLATE["spec"])
    if "->" in place:
        term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
        spec["affinity"] = {"nodeAffinity": required}
    elif node:
        spec["nodeName"] = node
    phase = next((each for each in marks if each in ("Failed", "Succeeded")), "Running")
    status: dict[str, Any] = {"phase": phase}
    if "up" in marks or "late" in marks:
        since = at(-10 if "up" in marks else 0)
        status["conditions"] = [{"type": "Ready", "status": "True", "lastTransitionTime": since}]
    return document(
        "Pod", name, namespace="sys", metadata=metadata, spec=spec, status=status
    )  # fmt: skip


COUNTS = (
    "desiredNumberScheduled", "currentNumberScheduled", "numberMisscheduled", "numberReady",
    "updatedNumberScheduled", "numberAvailable",
)  # fmt: skip
BY = "by daemonset-controller:"
WORDS = {
    rf"delete Pod sys/(\w+); Normal DaemonSet sys/agent SuccessfulDelete {BY} Deleted pod: \1":
        r"-\1",
    r"delete ControllerRevision sys/(\S+)": r"delete \1",
    r"update Pod sys/(\w+) main: -metadata.ownerReferences": r"release \1",
    rf"Warning DaemonSet sys/agent FailedDaemonPod {BY} Found failed daemon pod sys/(\w+)"
    " on node n0, will try to kill it": r"failed \1",
    rf"Normal DaemonSet sys/agent SucceededDaemonPod {BY} Found succeeded daemon pod sys/(\w+)"
    " on node n0, will try to delete it": r"succeeded \1",
    r"sync sys/agent at (\S+)": r"sync at \1",
}  # fmt: skip


def brief(request: str) -> str:
    """Return a request in a few words; those that are not expected stay whole."""
    if request.startswith("create "):
        made = json.loads(request.removeprefix("create "))
        if made["kind"] == "ControllerRevision":
            return f"create revision {made['revision']}"
        required = made["spec"]["affinity"]["nodeAffinity"]
        (term,) = required["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        return f"+{term['matchFields'][0]['values'][0]}"
    if request.startswith("update DaemonSet sys/agent status: "):
        fields = {name: int(count) for name, count in re.findall(r"status\.(\w+)=(\d+)", request)}
        counts = [fields.pop(name, 0) for name in COUNTS]
        assert fields.pop("numberUnavailable", 0) == counts[0] - counts[-1]
        assert fields.pop("observedGeneration", 3) == 3
        assert "-status" not in request
        rest = "".join(f" {name}={count}" for name, count in fields.items())
        return "/".join(map(str, counts)) + rest
    for pattern, words in WORDS.items():
        if found := re.fullmatch(pattern, request):
            return found.expand(words)
    return request


def synced(daemon_set: Any, *objects: Any, seconds: float = 0) -> list[str]:
    bench = SingleSync(DaemonSetController, daemon_set, *objects)
    return [brief(each) for each in bench.sync("sys/agent", seconds)]


def rows(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")] for line in table.splitlines()]


# Nodes, pods, and the requests (`+` on a node, `-` of a pod); the last one is the status: desired,
# current, misplaced, ready, updated and available pods.
ONE_NODE = """\
n0        |                          | +n0; 1/0/0/0/0/0
n0        | b@n0/up                  | 1/1/0/1/1/1
          | b@n0/up                  | 0/0/0/0/0/0
          | b->n0                    | -b; 0/0/0/0/0/0
          | b->n0/gone               | 0/0/0/0/0/0
          | b->n0 c@n0/up c2@n0/up   | -b; 0/0/0/0/0/0
n0:no     |                          | 0/0/0/0/0/0
n0:no     | a@n0/up                  | 0/0/1/0/0/0
n0:no     | a@n0/up b@n0/up          | -b; 0/0/1/0/0/0
n0:evict  | a@n0/up                  | -a; 0/0/1/0/0/0
n0:evict  | a@n0/up/gone             | 0/0/1/0/0/0
n0:prefer |                          | +n0; 1/0/0/0/0/0
n0        | a@n0                     | 1/1/0/0/1/0
n0        | a@n0/gone                | 1/1/0/0/1/0
n0        | a@n0/up/gone             | 1/1/0/1/1/1
n0        | a@n0/Failed              | failed a; -a; 1/1/0/0/1/0
n0        | a@n0/Succeeded           | succeeded a; -a; 1/1/0/0/1/0
n0        | a@n0/Failed/gone         | +n0; 1/0/0/0/0/0
n0        | a@n0/Succeeded/gone      | +n0; 1/0/0/0/0/0
n0        | b@n0/up a@n0/up          | -b; 1/1/0/1/1/1
n0        | a->n0 b@n0/up            | -a; 1/1/0/1/1/1
n0        | a@n0/up/10 b@n0/up/20    | -a; 1/1/0/1/1/1
n0        | a->n0/90 b@n0/up/20 c@n0 | -b; -a; 1/1/0/0/1/0
n0        | a@n0/gone b@n0/up        | 1/1/0/0/1/0
n0        | a@n0/Failed b@n0/up      | failed a; -a; 1/1/0/0/1/0
n0        | a@n0/up/alien            | release a; +n0; 1/0/0/0/0/0
n0        | a@n0/alien b@n0/up       | release a; 1/1/0/1/1/1
n0        | d@n0/alien a@n0/alien c@n0/alien b@n0/up | release a; release c; release d; 1/1/0/1/1/1
n0        | a@/up                    | +n0; 1/0/0/0/0/0
n0        | a@/alien                 | release a; +n0; 1/0/0/0/0/0
"""


def test_a_node_gets_one_pod_where_one_should_run() -> None:
    for on, with_pods, requests in rows(ONE_NODE):
        found = synced(a_set(), PRESENT, *nodes(on), *pods(with_pods))
        assert "; ".join(found) == requests, (on, with_pods)


SURGES = """\
n0    | a@n0/old                          | +n0; 1/1/0/0/0/0
n0:no | a@n0/old                          | -a; 0/0/1/0/0/0
n0    | a@n0/old/up                       | +n0; 1/1/0/1/0/1
n0:no | a@n0/old/up                       | -a; 0/0/1/0/0/0
n0    | a@n0/old b@n0                     | -a; 1/1/0/0/0/0
n0:no | a@n0/old b@n0                     | -a; 0/0/1/0/0/0
n0    | a@n0/old/up b@n0                  | 1/1/0/1/0/1
n0:no | a@n0/old/up b@n0                  | 0/0/1/0/0/0
n0    | a@n0/old/up b@n0/up               | -a; 1/1/0/1/0/1
n0:no | a@n0/old/up b@n0/up               | -a; 0/0/1/0/0/0
n0    | a@n0/old/up b@n0/up c@n0 d@n0/old | -c; -d; -a; 1/1/0/1/0/1
n0:no | a@n0/old/up b@n0/up c@n0 d@n0/old | -c; -d; -a; 0/0/1/0/0/0
n0    | a@n0/gone                         | +n0; 1/1/0/0/1/0
n0:no | a@n0/gone                         | 0/0/1/0/0/0
n0    | a@n0/old/gone                     | +n0; 1/1/0/0/0/0
n0:no | a@n0/old/gone                     | 0/0/1/0/0/0
n0    | a@n0/Failed                       | failed a; +n0; -a; 1/1/0/0/1/0
n0:no | a@n0/Failed                       | failed a; -a; 0/0/1/0/0/0
n0    | a@n0/up b@n0/up                   | -b; 1/1/0/1/1/1
n0:no | a@n0/up b@n0/up                   | -b; 0/0/1/0/0/0
"""


def test_in_a_surge_a_node_has_an_old_pod_until_a_new_one_is_available() -> None:
    strategy = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    for on, with_pods, requests in rows(SURGES):
        found = synced(a_set(updateStrategy=strategy), PRESENT, *nodes(on), *pods(with_pods))
        assert "; ".join(found) == requests, (on, with_pods)


ALL_OLD = "a@n0/old/up b@n1/old/up c@n2/old/up"
# The strategy, nodes, pods, and the requests without the status.
UPDATES = """\
                       | n0 n1 n2       | ALL                                    | -a
unavailable 0          | n0 n1 n2       | ALL                                    | -a
unavailable 2          | n0 n1 n2       | ALL                                    | -a; -b
unavailable 34%        | n0 n1 n2       | ALL                                    | -a; -b
unavailable 33%        | n0 n1 n2       | ALL                                    | -a
OnDelete unavailable 2 | n0 n1 n2       | ALL                                    |
unavailable 1          | n0 n1 n2       | a@n0/old b@n1/old/up c@n2/old          | -a; -c
unavailable 3          | n0 n1 n2       | a@n0/old b@n1/old/up c@n2/old          | -a; -c; -b
unavailable 1          | n0 n1 n2       | a@n0 b@n1/old/up c@n2/old/up           |
unavailable 2          | n0 n1 n2       | a@n0 b@n1/old/up c@n2/old/up           | -b
unavailable 1          | n0 n1 n2       | a@n0/gone b@n1/old/up c@n2/old/up      |
unavailable 1          | n0 n1 n2       | a@n0/up b@n1/old/up c@n2/old/up        | -b
unavailable 1          | n0:no n1 n2    | ALL                                    | -a
unavailable 2          | n1             | ALL                                    | -a; -b
unavailable 1          | n0 n1          | a@n0/old/up a2@n0/old/gone b@n1/old/up | -a
surge 1                | n0 n1 n2       | ALL                                    | +n0
surge 2                | n0 n1 n2       | ALL                                    | +n0; +n1
surge 34%              | n0 n1 n2       | ALL                                    | +n0; +n1
surge 1                | n0 n1 n2       | ALL d@n0                               |
surge 2                | n0 n1 n2       | ALL d@n0                               | +n1
surge 1                | n0 n1 n2       | a@n0/old b@n1/old/up c@n2/old          | +n0; +n2; +n1
surge 1                | n0:no n1 n2    | a@n0/old b@n1/up c@n2/up               | -a
surge 1                | n0:no n1 n2    | a@n0/old/up b@n1/up c@n2/up            | -a
surge 1                | n0:no n1 n2    | a@n0/old/up b@n1/up c@n2               |
surge 1                | n0:no n1:no n2 | a@n0/old/up b@n1/old/up c@n2/up        | -a; -b
surge 1                | n0:no n1 n2:no | a@n0/old/up b@n1/old/up c@n2/up        | +n1; -a
surge 1                | n0:no n1:no n2 | a@n0/old/up b@n1/old/up c@n2           | -a
surge 1                | n0 n1          | ALL                                    |
surge 1                | n0 n1          | a@n0/old/up b@n1/old/up c@n2/up        | +n0
unavailable 1          |                | ALL                                    | -a
unavailable 1          | n0:no          | a@n0/old/up b@n0/up                    | -b
unavailable 1          | n0             | a@n0/old/up b@n0/gone                  | -a
"""


def test_an_update_replaces_as_many_pods_as_its_strategy_allows() -> None:
    for written, on, with_pods, requests in rows(UPDATES):
        *kind, limit, value = written.split() or ("", "")
        share = int(value) if value.isdecimal() else value
        limits = {
            "": {},
            "unavailable": {"maxUnavailable": share},
            "surge": {"maxSurge": share, "maxUnavailable": 0},
        }[limit]
        strategy = {"type": kind[0] if kind else "RollingUpdate", "rollingUpdate": limits}
        objects = [*nodes(on), *pods(with_pods.replace("ALL", ALL_OLD))]
        found = synced(a_set(updateStrategy=strategy), PRESENT, *objects)
        assert "; ".join(found[:-1]) == requests, (written, on, with_pods)


# ------------------------------------------------------------------------------- in time


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        pytest.param(0, ["1/1/0/1/1/0", "sync at 5"], id="ready now"),
        pytest.param(4.9, ["1/1/0/1/1/0", "sync at 5"], id="a moment too early"),
        pytest.param(5, ["1/1/0/1/1/1"], id="long enough"),
    ],
)
def test_a_pod_is_available_when_it_has_been_ready_for_long_enough(seconds, expected) -> None:
    objects = [PRESENT, *nodes("n0"), *pods("a@n0/late")]
    status, *rest = synced(a_set(minReadySeconds=5), *objects, seconds=seconds)
    assert [status, *rest] == expected


def test_an_old_pod_of_a_surge_stays_until_the_new_one_is_available() -> None:
    strategy = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    daemon_set = a_set(minReadySeconds=5, updateStrategy=strategy)
    bench = SingleSync(DaemonSetController, daemon_set, PRESENT)
    for each in (*nodes("n0"), *pods("a@n0/old/up b@n0/late")):
        bench.put(each)
    found = [[brief(each) for each in bench.sync("sys/agent", at)] for at in (0, 4, 5)]
    status = "1/1/0/1/0/1"
    assert found == [[status, "sync at 5"], [status, "sync at 5"], ["-a", status]]


def test_a_failed_pod_is_replaced_after_a_delay_that_doubles_up_to_15_minutes() -> None:
    """Upstream: daemon_controller.go, failedPodsBackoff (1 s to 15 min)."""
    bench = SingleSync(DaemonSetController, a_set(), PRESENT, *nodes("n0"))
    when, delays = 0.0, []
    for _ in range(13):
        bench.put(*pods("a@n0/Failed"))
        found = [brief(each) for each in bench.sync("sys/agent", when)]
        assert found[:2] == ["failed a", "-a"]
        # The next one fails at once.
        bench.put(*pods("a@n0/Failed/gone"))
        bench.put(*pods("a@n0/Failed"))
        *_, waits = [brief(each) for each in bench.sync("sys/agent", when)]
        due = float(waits.removeprefix("sync at "))
        bench.put(*pods("a@n0/Failed"))
        early = [brief(each) for each in bench.sync("sys/agent", due - 0.5)]
        assert "-a" not in early
        delays.append(due - when)
        when = due
    assert delays == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900]
    when -= 900
    for quiet, delay in ((1_800, 900), (1_801, 1)):
        when += quiet
        bench.put(*pods("a@n0/Failed"))
        assert "-a" in [brief(each) for each in bench.sync("sys/agent", when)]
        bench.put(*pods("a@n0/Failed/gone"))
        bench.put(*pods("a@n0/Failed"))
        *_, waits = [brief(each) for each in bench.sync("sys/agent", when)]
        assert waits == f"sync at {when + delay:g}", quiet


def test_the_first_failed_pod_is_replaced_at_once_whenever_that_is() -> None:
    """Also in a world of 1970, and the next one after a second."""
    bench = SingleSync(DaemonSetController, a_set(), PRESENT, *nodes("n0"), *pods("a@n0/Failed"))
    start = -NOW / SECOND
    assert [brief(each) for each in bench.sync("sys/agent", start)][:2] == ["failed a", "-a"]
    bench.put(*pods("b@n0/Failed"))
    *_, waits = [brief(each) for each in bench.sync("sys/agent", start)]
    assert waits == f"sync at {start + 1:g}"


def test_a_failed_pod_waits_for_a_sync_after_the_delay() -> None:
    """Upstream: podsShouldBeOnNode adds the whole delay to the time at which it finds the pod."""
    bench = SingleSync(DaemonSetController, a_set(), PRESENT, *nodes("n0 n1"))

    def found(when: float, text: str) -> list[str]:
        for each in pods(text):
            bench.put(each)
        return [brief(each) for each in bench.sync("sys/agent", when)]

    assert "-a" in found(0, "a@n0/Failed b@n1/up")
    assert found(0.25, "a@n0/Failed/10")[-1] == "sync at 1.25"
    assert "-a" in found(1, "b@n1/up/40"), "another pod has changed"
    assert found(1.5, "a@n0/Failed/20")[-1] == "sync at 3.5"
    assert "-a" not in found(2.75, "")
    assert "-a" in found(3.5, "")
    assert "-b" in found(4, "a@n0/Failed/15 b@n1/Failed/30")
    assert found(4.5, "b@n1/Failed/20")[-1] == "sync at 5.5", "the first of both"


def test_delays_are_those_of_a_node_and_of_an_observed_generation() -> None:
    bench = SingleSync(DaemonSetController, a_set(), PRESENT, *nodes("n0 n1"))
    controller: Any = bench.controller
    for each in pods("a@n0/Failed b@n1/Failed"):
        bench.put(each)
    bench.sync("sys/agent")
    assert controller._backoff == {
        "du/0/n0": (SECOND, NOW), "du/0/n1": (SECOND, NOW)
    }  # fmt: skip
    bench.put(a_set({"observedGeneration": 3}))
    bench.put(*pods("a@n0/Failed/10"))
    assert "-a" in [brief(each) for each in bench.sync("sys/agent")]
    assert sorted(controller._backoff) == ["du/0/n0", "du/0/n1", "du/3/n0"]
    controller._backoff["other/0/n0"] = (SECOND, NOW)
    bench.remove(a_set())
    assert list(controller._backoff) == ["other/0/n0"]


def test_what_one_sync_does_not_delete_the_next_one_does() -> None:
    many = 251
    bench = SingleSync(
        DaemonSetController, a_set(), PRESENT,
        *nodes(" ".join(f"n{each}:evict" for each in range(many))),
    )  # fmt: skip
    for index in range(many):
        bench.put(*pods(f"p{index}@n{index}"))
    first = [brief(each) for each in bench.sync("sys/agent")]
    assert [len(first), first[-1]] == [251, "0/0/251/0/0/0"]
    second = [brief(each) for each in bench.sync("sys/agent")]
    assert [each for each in second if each.startswith("-")] == ["-p99"]


# -------------------------------------------------------------------- templates, revisions


def past(number: int, hashed: str = "") -> Any:
    label = hashed or f"h{number}"
    metadata = {
        "uid": f"{label}-uid", "ownerReferences": [OWNER],
        "labels": LABELS | {"controller-revision-hash": label},
    }  # fmt: skip
    data = {"spec": {"template": {"metadata": {"labels": {"number": str(number)}}}}}
    return document(
        "ControllerRevision", f"agent-{label}", api="apps/v1", namespace="sys", metadata=metadata,
        revision=number, data=data,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("limit", "with_pods", "removed"),
    [
        pytest.param({}, "", [1, 2], id="ten by default"),
        pytest.param({"revisionHistoryLimit": 11}, "", [1], id="one beyond"),
        pytest.param({"revisionHistoryLimit": 12}, "", [], id="as many as allowed"),
        pytest.param({"revisionHistoryLimit": 13}, "", [], id="fewer than allowed"),
        pytest.param({"revisionHistoryLimit": 0}, "", range(1, 13), id="none"),
        pytest.param({}, "h1 h2", [3, 4], id="used ones count but stay"),
    ],
)
def test_the_oldest_unused_revisions_are_deleted(limit, with_pods, removed) -> None:
    revisions = [past(number) for number in range(1, 13)]
    current = document(
        "ControllerRevision", PRESENT.name, api="apps/v1", namespace="sys",
        metadata=PRESENT.raw["metadata"], revision=99, data=PRESENT.raw["data"],
    )  # fmt: skip
    used = []
    for index, hashed in enumerate(with_pods.split()):
        (pod,) = pods(f"p{index}@n{index}")
        labels = LABELS | {"controller-revision-hash": hashed}
        metadata = pod.raw["metadata"] | {"labels": labels}
        used.append(decode(pod.raw | {"metadata": metadata}))
    found = synced(a_set(**limit), current, *revisions, *used)
    expected = [f"delete agent-h{number}" for number in removed]
    assert [each for each in found if each.startswith("delete agent")] == expected


def test_a_collision_of_hashes_is_counted_in_the_status() -> None:
    """Upstream: update.go, snapshot: another template has the name of the revision."""
    foreign = past(1, HASH)
    found = synced(a_set(), foreign)
    assert found == ["create revision 2", "0/0/0/0/0/0 collisionCount=1"]
    assert synced(a_set({"collisionCount": 4}), PRESENT) == ["0/0/0/0/0/0"]


@pytest.mark.parametrize(
    ("generation", "labels", "updated"),
    [
        pytest.param("7", {"pod-template-generation": "7"}, 1, id="of the generation"),
        pytest.param("7", {"pod-template-generation": "6"}, 0, id="of an earlier one"),
        pytest.param("7", {}, 0, id="of none"),
        pytest.param("", {"pod-template-generation": ""}, 0, id="the set counts none"),
        pytest.param("x", {"pod-template-generation": "x"}, 0, id="no number"),
        pytest.param("7", {"controller-revision-hash": HASH}, 1, id="of the revision"),
    ],
)
def test_a_pod_is_updated_by_its_revision_or_by_its_generation(generation, labels, updated) -> None:
    """Upstream: util/daemonset_util.go, IsPodUpdated."""
    (pod,) = pods("a@n0/up")
    pod = decode(pod.raw | {"metadata": pod.raw["metadata"] | {"labels": LABELS | labels}})
    strategy = {"type": "OnDelete"}
    daemon_set = a_set(generation=generation, updateStrategy=strategy)
    *_, status = synced(daemon_set, PRESENT, *nodes("n0"), pod)
    assert status == f"1/1/0/1/{updated}/1"


@pytest.mark.parametrize(
    ("generation", "hashes", "created"),
    [
        pytest.param("7", ["b:7", "a:7", "0:6"], ["create revision 7", "sys/agent-a"], id="least"),
        pytest.param("7", ["a:6"], ["create revision 1", f"sys/agent-{HASH}"], id="outdated"),
        pytest.param("", ["a:"], ["create revision 1", f"sys/agent-{HASH}"], id="not counted"),
        pytest.param("7", [":7"], ["create revision 1", f"sys/agent-{HASH}"], id="no hash"),
    ],
)
def test_the_first_revision_has_the_hash_of_imported_pods(generation, hashes, created) -> None:
    imported = []
    for index, written in enumerate(hashes):
        hashed, _, number = written.partition(":")
        (pod,) = pods(f"p{index}@n{index}")
        labels = LABELS | {"pod-template-generation": number}
        labels |= {"controller-revision-hash": hashed} if hashed else {}
        imported.append(decode(pod.raw | {"metadata": pod.raw["metadata"] | {"labels": labels}}))
    bench = SingleSync(DaemonSetController, a_set(generation=generation), *imported)
    made = next(each for each in bench.sync("sys/agent") if "ControllerRevision" in each)
    metadata = json.loads(made.removeprefix("create "))["metadata"]
    assert [brief(made), f"{metadata['namespace']}/{metadata['name']}"] == created


@pytest.mark.parametrize(
    "labels", [pytest.param({"app": "x"}, id="others"), pytest.param({}, id="none")]
)
def test_a_set_that_does_not_select_its_template_does_nothing(labels) -> None:
    template = TEMPLATE | {"metadata": {"labels": labels}}
    assert synced(a_set(template=template), *nodes("n0")) == []


def test_orphans_are_adopted_before_anything_else() -> None:
    pod = pods("a@n0")[0].raw
    orphan = decode(pod | {"metadata": pod["metadata"] | {"ownerReferences": []}})
    reference = OWNER | {"blockOwnerDeletion": True}
    assert synced(a_set(), orphan, *nodes("n0 n1")) == [
        f"update Pod sys/a main: metadata.ownerReferences={json.dumps([reference])}"
    ]


# ------------------------------------------------------------------------ nodes of a set


def test_each_pod_is_on_one_node_and_of_one_revision() -> None:
    found = DaemonNodes()
    for each in pods("a@n0 b@n0/old c->n1/old d@"):
        found.put_pod(each)
    assert {name: list(found.pods_on(name)) for name in ("n0", "n1", "", "n2")} == {
        "n0": ["sys/a", "sys/b"], "n1": ["sys/c"], "": ["sys/d"], "n2": [],
    }  # fmt: skip
    assert sorted(found.dirty) == ["", "n0", "n1"]
    assert dict.fromkeys(found.live_revisions) == dict.fromkeys(["old", HASH])
    found.dirty.clear()
    found.put_pod(*pods("a@n1"))
    assert (sorted(found.dirty), found.node_of("sys/a")) == (["n0", "n1"], "n1")
    assert list(found.pods_on("n0")) == ["sys/b"]
    assert [found.remove_pod(f"sys/{name}") for name in "bbx"] == [True, False, False]
    assert list(found.live_revisions) == [HASH, "old"]
    found.remove_pod("sys/c")
    assert list(found.live_revisions) == [HASH]
    found.dirty.clear()
    found.put_pod(*pods("a@n1"))
    assert list(found.dirty) == ["n1"]


def test_the_sums_of_the_nodes_follow_each_change_of_one() -> None:
    found = DaemonNodes()
    ready = NodeContribution(
        desired=1, current=1, ready=1, available=1, updated=1, rolled_available=1,
        update_state=UpdateState.UPDATED,
    )  # fmt: skip
    lost = NodeContribution(misscheduled=1, update_state=UpdateState.OLD_UNAVAILABLE)
    for name in ("b", "a", "c"):
        found.set_contribution(name, ready)
    found.set_contribution("b", lost)
    found.set_contribution("a", lost)
    assert found.counts == {
        "desired": 1, "current": 1, "misscheduled": 2, "ready": 1, "available": 1, "updated": 1,
        "rolled_available": 1,
    }  # fmt: skip
    assert (found.old_unavailable, found.old_available, found.surged) == (["a", "b"], [], [])
    counted = {state.name: count for state, count in found.update_states.items() if count}
    # Those of the first state are relative: a node that was never evaluated is none of them.
    assert counted == {"NOT_INVOLVED": -3, "UPDATED": 1, "OLD_UNAVAILABLE": 2}
    found.set_contribution("b", NodeContribution(update_state=UpdateState.SURGED))
    found.set_contribution("a", NodeContribution(update_state=UpdateState.OLD_AVAILABLE))
    assert (found.old_unavailable, found.old_available, found.surged) == ([], ["a"], ["b"])
    found.set_contribution(
        "a", NodeContribution(misscheduled=1, update_state=UpdateState.OLD_AVAILABLE)
    )
    assert found.old_available == ["a"], "once"
    for name in "abc":
        found.set_contribution(name, NodeContribution())
    assert not any(found.counts.values())
    assert not any(found.update_states.values())
    assert (found.old_unavailable, found.old_available, found.surged) == ([], [], [])


def test_the_pods_of_removed_and_of_other_owners_concern_no_daemon_set() -> None:
    (pod,) = pods("a@n0")
    of_job = document("Pod", "j", namespace="sys", spec=pod.raw["spec"], metadata={
        "uid": "ju", "labels": LABELS, "ownerReferences": [OWNER | {"kind": "Job", "uid": "x"}],
    })  # fmt: skip
    bench = SingleSync(DaemonSetController, a_set(), *nodes("n0"))
    assert bench.put(of_job) == []
    assert bench.remove(of_job) == []
    bench.put(pod)
    bench.remove(a_set())
    assert bench.remove(pod) == []
    assert bench.sync("sys/agent") == []


def test_a_created_pod_is_tied_to_its_node_and_reported_at_the_next_sync() -> None:
    bench = SingleSync(DaemonSetController, a_set(), PRESENT, *nodes("n0"))
    (creation, _) = bench.controller.sync("sys/agent", NOW)
    assert isinstance(creation, CreateObject)
    assert isinstance(creation.obj, Pod)
    assert target_node(creation.obj) == "n0"
    (made,) = pods("new->n0")
    assert bench.put(made) == ["sys/agent"]
    bench.put(*pods("new->n0/5"))
    assert bench.sync("sys/agent")[0] == (
        f"Normal DaemonSet sys/agent SuccessfulCreate {BY} Created pod: new"
    )
    orphan = document("Pod", "new", namespace="sys", spec=made.raw["spec"],
                      metadata={"uid": "new-uid", "labels": {"app": "other"}})  # fmt: skip
    assert bench.put(orphan) == ["sys/agent"]


def test_a_removed_node_without_pods_holds_up_no_update() -> None:
    objects = [*nodes("n0 n1"), *pods("a@n0/old/up b@n1/up")]
    bench = SingleSync(DaemonSetController, a_set(), PRESENT, *objects)
    bench.remove(nodes("n1")[0])
    bench.remove(*pods("b@n1/up"))
    assert "-a" in [brief(each) for each in bench.sync("sys/agent")]


def test_the_tolerations_of_daemon_pods_replace_those_of_their_key_and_effect() -> None:
    """Upstream: daemonset_util.go, AddOrUpdateDaemonPodTolerations"""
    kept = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoSchedule"}
    replaced = {"key": "node.kubernetes.io/not-ready", "operator": "Equal", "value": "x",
                "effect": "NoExecute"}  # fmt: skip
    found = daemon_tolerations({"tolerations": [kept, replaced]})
    assert found == [
        kept,
        *(
            {"key": f"node.kubernetes.io/{name}", "operator": "Exists", "effect": effect}
            for name, effect in (
                ("not-ready", "NoExecute"), ("unreachable", "NoExecute"),
                ("disk-pressure", "NoSchedule"), ("memory-pressure", "NoSchedule"),
                ("pid-pressure", "NoSchedule"), ("unschedulable", "NoSchedule"),
            )
        ),
    ]  # fmt: skip
    *_, last = daemon_tolerations({"hostNetwork": True})
    assert last["key"] == "node.kubernetes.io/network-unavailable"


def test_a_daemon_set_that_is_being_deleted_is_left_alone() -> None:
    """Upstream: daemon_controller.go, syncDaemonSet"""
    going = document(
        "DaemonSet", "agent", api="apps/v1", namespace="sys", spec=a_set().raw["spec"],
        metadata={"uid": "du", "deletionTimestamp": at(0), "finalizers": ["foregroundDeletion"]},
    )  # fmt: skip
    assert synced(going, *nodes("n0 n1"), *pods("a@n0/Failed")) == []


def test_a_node_with_two_old_pods_counts_as_unavailable() -> None:
    """Upstream: update.go, findUpdatedPodsOnNode; the failed pod waits for its back-off."""
    objects = [*nodes("n0 n1"), *pods("b@n0/old/up c@n1/old/up")]
    bench = SingleSync(DaemonSetController, a_set(), PRESENT, *objects)
    bench.put(*pods("a@n0/old/Failed"))
    assert "-a" in [brief(each) for each in bench.sync("sys/agent")]
    bench.put(*pods("a@n0/old/Failed/20"))
    found = [brief(each) for each in bench.sync("sys/agent", 0.5)]
    assert [each for each in found if each.startswith("-")] == []
    bench.remove(*pods("a@n0/old/Failed/20"))
    found = [brief(each) for each in bench.sync("sys/agent", 0.75)]
    assert [each for each in found if each.startswith("-")] == ["-b"]


def test_the_node_of_a_pod_is_the_only_one_of_a_term() -> None:
    """Upstream: daemonset_util.go, GetTargetNodeName"""
    (pod,) = pods("a->n0")

    def target(**changed: Any) -> str:
        required = {"key": "metadata.name", "operator": "In", "values": ["n0"]} | changed
        affinity = pod.raw["spec"]["affinity"]["nodeAffinity"]
        terms = {"nodeSelectorTerms": [{"matchFields": [required]}]}
        spec = pod.raw["spec"] | {"affinity": {"nodeAffinity": dict.fromkeys(affinity, terms)}}
        found: Any = document("Pod", "a", namespace="sys", spec=spec)
        return target_node(found)

    assert target() == "n0"
    assert target(operator="NotIn") == ""
    assert target(values=["n0", "n1"]) == ""


def test_all_nodes_are_those_that_exist_or_have_pods_or_count() -> None:
    found = DaemonNodes()
    found.set_contribution("counted", NodeContribution(desired=1))
    found.put_pod(*pods("a@with-pod"))
    found.dirty.clear()
    found.evaluate_all(["present"])
    assert sorted(found.dirty) == ["counted", "present", "with-pod"]


def test_a_node_is_evaluated_at_the_last_time_that_was_set() -> None:
    found = DaemonNodes()
    assert found.next_ns() is None
    found.evaluate_at("a", 10)
    found.evaluate_at("a", 20)
    found.evaluate_at("b", 15)
    found.evaluate_at("b", 15)
    assert found.next_ns() == 15
    found.mark_due(14)
    assert (list(found.dirty), found.next_ns()) == ([], 15)
    found.mark_due(15)
    assert (list(found.dirty), found.next_ns()) == (["b"], 20)
    found.evaluate_at("b", 30)
    found.mark_due(20)
    assert (list(found.dirty), found.next_ns()) == (["b", "a"], 30)
    found.mark_due(30)
    assert found.next_ns() is None


def test_a_template_that_is_not_valid_is_reported_and_makes_no_pod() -> None:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "x"}}}
    wrong = {"metadata": {"labels": LABELS}, "spec": {"containers": [container]}}
    (*revisions, event) = synced(a_set(template=wrong), *nodes("a"))
    assert not revisions
    assert event.startswith(
        "Warning DaemonSet sys/agent FailedCreate by daemonset-controller: Error creating: "
    )
    assert "spec.containers[0].resources.requests[cpu]" in event
