"""Which pods the taint eviction controller deletes, and when.

Upstream: pkg/controller/tainteviction/taint_eviction.go, timed_workers.go
"""

from __future__ import annotations

from typing import Any

from podwright.cluster.controllers.nodes.taint_eviction import TaintEvictionController
from podwright.cluster.controllers.tests.single_sync import SingleSync
from podwright.cluster.controllers.tests.staged_cluster import at, document

EVENT = "Normal Pod d/p TaintManagerEviction by taint-eviction-controller: "
MARKED = f"{EVENT}Marking for deletion Pod d/p"
CANCELED = f"{EVENT}Cancelling deletion of Pod d/p"
DELETED = "delete Pod d/p"


def a_node(*taints: str, name: str = "n") -> Any:
    """Return a node with taints: the first letter of a text is the effect, the rest the key."""
    effects = {"E": "NoExecute", "S": "NoSchedule"}
    found = [{"key": each[1:], "effect": effects[each[0]]} for each in taints]
    return document("Node", name, spec={"taints": found})


def a_pod(*tolerated: tuple[str, int | None], name: str = "p", uid: str = "u", node: str = "n",
          status: Any = None, **metadata: Any) -> Any:  # fmt: skip
    tolerations = [
        {"key": key, "operator": "Exists"} | ({} if limit is None else {"tolerationSeconds": limit})
        for key, limit in tolerated
    ]
    spec = {"containers": [{"name": "c", "image": "i"}], "tolerations": tolerations}
    spec |= {"nodeName": node} if node else {}
    return document("Pod", name, namespace="d", metadata={"uid": uid} | metadata, spec=spec,
                    status=status or {"phase": "Running"})  # fmt: skip


def bench_of(*objects: Any) -> SingleSync:
    return SingleSync(TaintEvictionController, *objects)


def outline(found: list[str]) -> list[str]:
    """Return requests with the fields of updates left out."""
    return [each.partition(": status.conditions=")[0] for each in found]


EVICTED = [MARKED, "update Pod d/p status", DELETED]
GOING: Any = {"deletionTimestamp": at(0), "deletionGracePeriodSeconds": 600}


def test_a_pod_that_does_not_tolerate_a_taint_is_deleted_at_once() -> None:
    bench = bench_of(a_pod())
    assert bench.put(a_node("Ek")) == ["d/p"]
    marked, update, deleted = bench.sync("d/p", 3)
    assert [marked, deleted] == [MARKED, DELETED]
    assert update == (
        'update Pod d/p status: status.conditions=[{"type": "DisruptionTarget", "status": "True",'
        ' "reason": "DeletionByTaintManager", "message": "Taint manager: deleting due to NoExecute'
        f' taint", "lastTransitionTime": "{at(3)}"}}]'
    )


def test_only_changes_of_taints_that_evict_concern_the_pods() -> None:
    bench = bench_of(a_pod(), a_pod(name="a"), a_pod(name="far", node="m"))
    assert bench.put(a_node("Sk")) == []
    assert bench.put(a_node("Ek", name="other")) == []
    assert bench.put(a_node("Ek")) == ["d/a", "d/p"]
    assert bench.put(a_node("Ek", "Sk")) == []
    assert bench.put(a_node()) == ["d/a", "d/p"]
    assert bench.remove(a_node()) == []


def test_only_a_pod_of_a_tainted_node_with_other_tolerations_or_another_node_is_synced() -> None:
    bench = bench_of(a_node("Ek"), a_node(name="m"))
    assert bench.put(a_pod(("k", 5))) == ["d/p"]
    assert bench.put(a_pod(("k", 5), labels={"a": "b"})) == []
    assert bench.put(a_pod(("k", 6))) == ["d/p"]
    assert bench.put(a_pod(("k", 6), node="m")) == []
    assert bench.put(a_pod(("k", 6), node="n")) == ["d/p"]
    assert bench.put(a_pod(("k", 7), node="m")) == []
    bench.remove(a_node("Ek"))
    assert bench.put(a_pod(("k", 7), node="n")) == [], "the node is gone"


def test_the_shortest_toleration_decides_and_the_first_one_of_a_taint() -> None:
    # A toleration without a key tolerates all taints, but comes after those with one.
    bench = bench_of(a_node("Ea", "Eb"), a_pod(("a", 9), ("b", 8), ("a", 7)))
    assert bench.sync("d/p", 1) == ["sync d/p at 9"]
    assert outline(bench.sync("d/p", 9)) == EVICTED
    for seconds in (0, -1):
        bench = bench_of(a_node("Ea", "Eb"), a_pod(("a", seconds), ("b", None)))
        assert outline(bench.sync("d/p", 1)) == EVICTED
    assert bench_of(a_node("Ea"), a_pod(("a", None))).sync("d/p") == []
    assert outline(bench_of(a_node("Ea"), a_pod(("b", None))).sync("d/p")) == EVICTED


def test_a_scheduled_deletion_keeps_its_time_unless_a_taint_is_not_tolerated() -> None:
    pod = a_pod(("a", 9), ("b", 2))
    bench = bench_of(a_node("Ea"), pod)
    assert bench.sync("d/p") == ["sync d/p at 9"]
    bench.put(a_node("Ea", "Eb"))
    assert bench.sync("d/p", 1) == ["sync d/p at 9"], "although b is tolerated for 2 s"
    bench.put(a_pod(("a", 0)))
    assert outline(bench.sync("d/p", 2)) == [CANCELED, *EVICTED], "b is not tolerated"


def test_a_pod_that_tolerates_its_taints_for_no_time_keeps_an_earlier_time() -> None:
    bench = bench_of(a_node("Ea"), a_pod(("a", 9)))
    assert bench.sync("d/p") == ["sync d/p at 9"]
    bench.put(a_pod(("a", 0)))
    assert bench.sync("d/p", 2) == ["sync d/p at 9"]


def test_a_deletion_that_was_scheduled_at_the_same_time_is_scheduled_again() -> None:
    bench = bench_of(a_node("Ea"), a_pod(("a", 9)))
    assert bench.sync("d/p", 1) == ["sync d/p at 10"]
    bench.put(a_pod(("a", 5)))
    assert bench.sync("d/p", 1) == [CANCELED, "sync d/p at 6"]


def test_a_deletion_is_canceled_when_the_taint_or_the_pod_goes() -> None:
    for change in (a_node(), a_pod(("a", None))):
        bench = bench_of(a_node("Ea"), a_pod(("a", 9)))
        bench.sync("d/p")
        bench.put(change)
        assert bench.sync("d/p", 1) == [CANCELED]
        assert bench.sync("d/p", 9) == []
    bench = bench_of(a_node("Ea"), a_pod(("a", 9)))
    bench.sync("d/p")
    assert bench.remove(a_pod(("a", 9))) == ["d/p"]
    assert bench.sync("d/p", 1) == [CANCELED]
    assert bench.put(a_pod(node="")) == []
    assert bench.remove(a_pod(node="")) == [], "nothing was scheduled"


def test_a_pod_of_a_removed_node_is_deleted_at_its_time() -> None:
    bench = bench_of(a_node("Ea"), a_pod(("a", 9)))
    bench.sync("d/p")
    assert bench.remove(a_node()) == []
    assert bench.put(a_pod(("a", 3))) == []
    assert outline(bench.sync("d/p", 9)) == EVICTED


def test_another_pod_of_the_name_has_a_time_of_its_own() -> None:
    bench = bench_of(a_node("Ea"), a_pod(("a", 9)))
    bench.sync("d/p")
    bench.put(a_pod(("a", 7), uid="v"))
    assert bench.sync("d/p", 4) == ["sync d/p at 11"]


def test_a_pod_that_is_being_deleted_is_evicted_too() -> None:
    """Nothing looks at its deletionTimestamp: a job may ignore failures of disrupted pods."""
    bench = bench_of(a_node("Ea"), a_pod(("a", 9), **GOING))
    assert bench.sync("d/p") == ["sync d/p at 9"]
    assert outline(bench.sync("d/p", 9)) == EVICTED


def test_a_pod_is_evicted_again_when_it_comes_to_tolerate_its_taints_without_limit_or_not() -> None:
    target = {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager"}
    bench = bench_of(a_node("Ea"), a_pod(("a", 2), ("b", 2), **GOING))
    bench.sync("d/p")
    assert outline(bench.sync("d/p", 2)) == EVICTED
    bench.put(a_pod(("a", 2), ("b", 2), status={"conditions": [target]}, **GOING))
    assert bench.sync("d/p", 3) == [], "a time that was scheduled earlier"
    assert bench.put(a_node("Ea", "Eb")) == ["d/p"]
    assert bench.sync("d/p", 4) == []
    bench.put(a_node("Ec"))
    assert bench.sync("d/p", 5) == [MARKED, DELETED], "c is not tolerated; the condition is there"
    bench.put(a_node())
    assert bench.sync("d/p", 6) == []
    bench.put(a_node("Ea"))
    assert bench.sync("d/p", 7) == ["sync d/p at 9"]
    other = target | {"reason": "EvictionByEvictionAPI"}
    bench.put(a_pod(("a", 2), ("b", 2), status={"conditions": [other]}, **GOING))
    assert outline(bench.sync("d/p", 9)) == EVICTED, "it has a condition for another reason"
    bench.remove(a_pod())
    assert bench.sync("d/p", 10) == [], "nothing is canceled"
