"""Whatever comes and goes in whichever order, columns are those of a cluster with what is left.

A random walk is compared after each step with a cluster that never had anything else.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from podwright.apimachinery.objects import Object
from podwright.scheduler.columns import Cluster
from podwright.scheduler.columns.affinity import selectors
from podwright.scheduler.columns.affinity.domains import DomainRule
from podwright.scheduler.columns.affinity.term_index import TermKind
from podwright.scheduler.columns.tests.test_counters import node, pod, selecting

APPS, KEYS = ("a", "b", "c"), ("zone", "rack")
FACTORS = {TermKind.REQUIRED_ANTI: 1}


def presences(cluster: Cluster) -> dict[Any, bool]:
    pairs = [*[(app,) for app in APPS], ("a", "b"), ("b", "none"), ()]
    return {
        (key, apps): cluster.selectors.is_present(key, tuple(((selecting(a),), 1) for a in apps))
        for key in KEYS
        for apps in pairs
    }


def terms(cluster: Cluster) -> dict[Any, int]:
    """Return how many distinct terms of pods on labelled nodes match a pod of each app."""
    found = {
        app: cluster.selectors.terms_matching(FACTORS, "default", {"app": app}, {}) for app in APPS
    }
    return {
        (app, key): len(of_app[key].ids) if key in of_app else 0
        for app, of_app in found.items()
        for key in KEYS
    }


def counts(cluster: Cluster) -> dict[Any, int]:
    """Return how many pods of each app are in each domain, by the names of its nodes."""
    found: dict[Any, int] = {}
    nodes = cluster.nodes
    for key in KEYS:
        for app in APPS:
            for of_live in (False, True):
                counter = cluster.selectors.counter(
                    DomainRule.of_key(key), (((selecting(app),), 1),), of_live=of_live
                )
                current = counter.current()
                for name, slot in nodes.slot_of.items():
                    domain = counter.domains.reading[slot]
                    found[key, app, of_live, name] = int(current[domain]) if domain >= 0 else -1
    return found


def requested(cluster: Cluster) -> dict[str, list[str]]:
    nodes = cluster.nodes
    return {
        name: sorted(placed.pod.name for placed in cluster.pods_on[slot].values())
        for name, slot in nodes.slot_of.items()
    }


def seen(cluster: Cluster) -> dict[str, Any]:
    return {
        "presences": presences(cluster),
        "terms": terms(cluster),
        "counts": counts(cluster),
        "pods": requested(cluster),
        "missing": {
            name: sorted(one.name for one in pods)
            for name, pods in cluster.pods_on_missing_nodes().items()
        },
    }


def step(random: Random, objects: dict[str, Object]) -> tuple[str, Object]:
    """Return what is put or deleted next."""
    known = sorted(objects)
    if known and random.random() < 0.4:
        key = random.choice(known)
        return "delete", objects[key]
    if random.random() < 0.4:
        name = f"n{random.randrange(4)}"
        labels = {"rack": random.choice("rs")} if random.random() < 0.6 else {}
        return "put", node(name, random.choice(("x", "y", None)), **labels)
    away = random.choice((*APPS, None, None, None))
    made = pod(
        f"p{random.randrange(6)}",
        f"n{random.randrange(4)}",
        app=random.choice(APPS),
        away_from=away,
        key=random.choice(KEYS),
        terminating=random.random() < 0.2,
    )
    return "put", made


@pytest.mark.parametrize("seed", range(4))
def test_a_walk_leaves_what_is_there(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random, is_forgetful = Random(seed), seed % 2 == 1
    if is_forgetful:
        # What has no pod is forgotten all the time.
        for name in ("_LEAST_IDLE", "_MOST_IDLE", "_LEAST_COUNTERS"):
            monkeypatch.setattr(selectors, name, 2)
    cluster, objects = Cluster(), dict[str, Object]()
    before = seen(cluster)
    for number in range(50):
        verb, obj = step(random, objects)
        key = f"{obj.kind}/{obj.metadata.name}"
        version = cluster.selectors.terms_version
        if verb == "put":
            cluster.put(obj)
            objects[key] = obj
        else:
            cluster.delete(obj)
            del objects[key]
        fresh = Cluster()
        # Nodes first, in the order of their slots: pods may come before their node.
        for one in sorted(objects.values(), key=lambda one: one.kind != "Node"):
            fresh.put(one)
        after = seen(cluster)
        assert after == seen(fresh), (seed, number, verb, key)
        for name in ("presences", "terms"):
            if after[name] != before[name]:
                assert cluster.selectors.terms_version > version, (seed, number, name)
        before = after
    assert (cluster.selectors.generation > 1) is is_forgetful


@pytest.mark.parametrize(
    ("placed_count", "class_count", "most_idle"),
    [
        pytest.param(0, 0, 256, id="without pods"),
        pytest.param(1, 1, 257, id="one for each class with pods, too"),
        pytest.param(30, 10, 266, id="for each class, not for each pod"),
        pytest.param(2_400, 1, 301, id="one for every eighth pod, where there are many"),
        pytest.param(9_000, 1, 1_025, id="but no more than that"),
    ],
)
def test_so_many_labels_without_a_pod_are_kept(
    placed_count: int, class_count: int, most_idle: int
) -> None:
    watched, late = Cluster(), Cluster()
    made = [pod("p", "n", app=f"a{number}") for number in range(class_count)]
    for cluster in (watched, late):
        cluster.put(node("n"))
        for number in range(placed_count):
            cluster.place(made[number % class_count], 0, f"default/p{number}")
    for number in range(most_idle):
        for cluster in (watched, late):
            cluster.selectors.class_of("default", {"of": str(number)})
        assert not watched.selectors.is_crowded
    assert not late.selectors.is_crowded, "nor if it is seldom looked at"
    watched.selectors.class_of("default", {"one": "more"})
    assert watched.selectors.is_crowded
