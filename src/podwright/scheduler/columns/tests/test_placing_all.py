"""Many pods are placed at once as one after the other: what can be read afterwards is equal."""

import pytest

from podwright.apimachinery.objects import LabelSelector, label_selector
from podwright.scheduler.columns import Cluster
from podwright.scheduler.columns.affinity.domains import DomainRule
from podwright.scheduler.columns.affinity.matching import PodSelector
from podwright.scheduler.columns.affinity.term_index import TermKind
from podwright.scheduler.columns.ports import HostPort
from podwright.scheduler.columns.tests.storage_objects import claim
from podwright.scheduler.preemption.tests.situations import node, pod

HOST = "kubernetes.io/hostname"
APP = ((PodSelector(label_selector(LabelSelector({"app": "a"})), frozenset({"default"})),), 1)
RULE = DomainRule.of_key(HOST)
PORTS = (HostPort("", "TCP", 80), HostPort("", "TCP", 81))


def away_from(app, key=HOST):
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def container(**fields):
    return [{"name": "c", "image": "i", **fields}]


def several(*pods):
    return list(enumerate(pods))


CASES = {
    "none": [],
    "one after the other on a node": [(1, pod("a")), (0, pod("b")), (1, pod("c", "300m"))],
    "of one template": [(n % 3, pod(f"p{n}", labels={"app": "a"})) for n in range(3_000)],
    "a resource that only some have": several(
        pod("a"),
        pod("b", containers=container(resources={"requests": {"example.com/x": "2"}})),
        pod("c"),
    ),
    "huge amounts": [
        (0, pod(n, containers=container(resources={"requests": {"memory": str(2**63 - 1)}})))
        for n in "abc"
    ],
    "priorities": several(pod("a", priority=-5), pod("b"), pod("c", priority=7)),
    "a terminating one": several(
        pod("a", labels={"app": "a"}, terminating=True), pod("b", labels={"app": "a"})
    ),
    "ports": [
        (0, pod(n, containers=container(ports=[{"containerPort": 1, "hostPort": port}])))
        for n, port in (("a", 80), ("b", 81), ("c", 80))
    ],
    "claims": [
        (slot, pod(n, volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]))
        for slot, n in ((0, "a"), (2, "b"))
    ],
    "terms": several(
        pod("a", affinity=away_from("a")),
        pod("b", affinity=away_from("a"), terminating=True),
        pod("c", affinity=away_from("a", key="missing")),
    ),
    "a presence that waited": several(pod("a"), pod("b", labels={"app": "a"})),
}


def cluster_before():
    """Return nodes and a pod, of which counters and a presence have been read."""
    cluster = Cluster()
    for name in ("n0", "n1", "n2"):
        cluster.put(node(name))
    cluster.put(claim("c", accessModes=["ReadWriteOncePod"]))
    cluster.put(pod("before", on="n1", labels={"app": "b"}))
    readings(cluster)
    return cluster


def readings(cluster):
    selectors, nodes, slots = cluster.selectors, cluster.nodes, range(3)
    counters = [selectors.counter(RULE, (APP,), of_live=live) for live in (False, True)]
    terms = selectors.terms_matching(dict.fromkeys(TermKind, 1), "default", {"app": "a"}, {})
    return {
        "requested": nodes.requested.tolist(),
        "non-zero": nodes.non_zero_requested.tolist(),
        "pods": [(key, placed.slot) for key, placed in cluster.pods.items()],
        "pods on": [list(cluster.pods_on[slot]) for slot in slots],
        "below": [cluster.has_pods_below(priority) for priority in (-5, -4, 0, 1, 7, 8)],
        "ports": [cluster.ports.slots(), cluster.ports.conflicting_slots(PORTS)],
        "claims": [dict(cluster.storage.use.claim_users), cluster.storage.version],
        "counts": [counter.current().tolist() for counter in counters],
        "terms": {key: (of.ids.tolist(), of.weights.tolist()) for key, of in terms.items()},
        "live terms": {
            key: selectors.counter(DomainRule.of_key(key), (), of, of_live=True).current().tolist()
            for key, of in terms.items()
        },
        "present": [selectors.is_present(key, (APP,)) for key in (HOST, "missing")],
        "terms version": selectors.terms_version,
    }


@pytest.mark.parametrize("given", CASES.values(), ids=CASES)
def test_the_cluster_is_as_after_one_by_one(given) -> None:
    single, whole = cluster_before(), cluster_before()
    version = whole.nodes.pods_journal.version
    for slot, one in given:
        single.place(one, slot)
    whole.place_all([(one, slot, whole.keys_of(one)) for slot, one in given])
    assert readings(whole) == readings(single)
    assert bool(given) == (whole.nodes.pods_journal.since(version) is None), "readers start over"
    for _, one in given[::2]:
        assert whole.remove(one.key) is single.remove(one.key) is one
    assert readings(whole) == readings(single)
