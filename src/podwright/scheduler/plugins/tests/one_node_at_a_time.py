"""Runs one plugin on a small cluster, as the runner does."""

import numpy as np

from podwright.apimachinery.objects.decode import decode_node, decode_pod
from podwright.scheduler.columns import Cluster
from podwright.scheduler.framework import Cycle, Scores, Verdicts
from podwright.scheduler.framework.adapter import run_filter


def node(name, *, spec=None, status=None, labels=None):
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    return decode_node(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels or {}},
            "spec": spec or {},
            "status": {"allocatable": allocatable} | (status or {}),
        }
    )


def pod(name="p", requests=None, **spec):
    container = {"name": "c", "image": "app:1", "resources": {"requests": requests or {}}}
    return decode_pod(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "default", "uid": name},
            "spec": {"containers": [container]} | spec,
        }
    )


def cluster_of(*objects):
    cluster = Cluster()
    for obj in objects:
        cluster.put(obj)
    return cluster


def filtered(plugin, cycle):
    """Return the Status per node name; computed together and one by one, which must agree."""
    nodes, rows = cycle.cluster.nodes, cycle.cluster.live_slots()
    at_once = Verdicts(np.zeros(nodes.n_slots, dtype=np.int64), rows)
    run_filter(plugin, cycle, at_once)
    by_one = Verdicts(np.zeros(nodes.n_slots, dtype=np.int64), rows)
    for i in range(len(rows)):
        by_one.rows = rows[i : i + 1]
        run_filter(plugin, cycle, by_one)
    names = {nodes.names[slot]: int(slot) for slot in rows}
    together = {n: at_once.status_of(int(at_once.codes[slot])) for n, slot in names.items()}
    assert together == {n: by_one.status_of(int(by_one.codes[s])) for n, s in names.items()}
    return together


def reasons(plugin, cycle):
    """Return the reasons of the nodes that are rejected."""
    answers = filtered(plugin, cycle)
    return {name: answer.reasons for name, answer in answers.items() if not answer.is_success}


def scored(plugin, cycle):
    """Return the raw score per node name; computed together and one by one."""
    nodes, rows = cycle.cluster.nodes, cycle.cluster.live_slots()
    at_once = Scores(np.full(nodes.n_slots, -1, dtype=np.int64), rows)
    plugin.score_columns(cycle, nodes, at_once)
    by_one = Scores(np.full(nodes.n_slots, -1, dtype=np.int64), rows)
    for i in range(len(rows)):
        by_one.rows = rows[i : i + 1]
        plugin.score_columns(cycle, nodes, by_one)
    assert at_once.values[rows].tolist() == by_one.values[rows].tolist()
    return {nodes.names[slot]: int(at_once.values[slot]) for slot in rows}


def cycle_of(incoming, *objects):
    return Cycle(incoming, cluster_of(*objects))
