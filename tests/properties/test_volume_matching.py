"""Volumes for all nodes at once, compared with upstream's search for one node."""

from typing import Any

import numpy as np
from hypothesis import given, strategies as st
from tests.properties.effort import effort

from podwright.apimachinery.objects import label_selector, node_selector
from podwright.apimachinery.schema import decode
from podwright.scheduler.columns import Cluster
from podwright.scheduler.columns.tests.storage_objects import (
    claim,
    expression,
    storage_class,
    volume,
)
from podwright.scheduler.columns.volumes.class_volumes import (
    is_bound_to,
    required_affinity,
    storage_nano,
)
from podwright.scheduler.columns.volumes.storage import class_of
from podwright.scheduler.columns.volumes.volume_decisions import BIND_CONFLICT, PodClaims, decide

HOST, ZONE = "kubernetes.io/hostname", "zone"
HOSTS, ZONES = ["n0", "n1", "n2", "n3"], ["a", "b"]
CLAIMS = ["c0", "c1", "c2"]


def node(name, zone):
    labels = {HOST: name} | ({ZONE: zone} if zone else {})
    return decode(
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
    )


def affinity(*terms):
    written = [{"matchExpressions": [expression(*e) for e in term]} for term in terms]
    return {"nodeAffinity": {"required": {"nodeSelectorTerms": written}}}


hosts = st.lists(st.sampled_from(HOSTS), min_size=1, max_size=3)
places: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.just({}),
    hosts.map(lambda names: affinity([(HOST, "In", *names)])),
    st.sampled_from(ZONES).map(lambda zone: affinity([(ZONE, "In", zone)])),
    hosts.map(lambda names: affinity([(HOST, "NotIn", *sorted(set(names)))])),
    st.just(affinity([(ZONE, "Exists")], [(HOST, "In", "n0")])),
)
wishes = st.fixed_dictionaries(
    {
        "accessModes": st.sampled_from([["ReadWriteOnce"], ["ReadWriteMany"]]),
        "volumeMode": st.sampled_from(["Filesystem", "Filesystem", "Block"]),
    }
)
classes = st.sampled_from(["local", "local", "other"])


@st.composite
def volumes(draw, index):
    spec = draw(places)
    modes = draw(st.sampled_from([["ReadWriteOnce"], ["ReadWriteOnce", "ReadWriteMany"]]))
    mode = draw(st.sampled_from(["Filesystem", "Filesystem", "Block"]))
    return volume(
        f"v{index}",
        # Sizes differ, because upstream does not order equal ones.
        f"{draw(st.integers(1, 6))}Gi"
        if index == 0
        else f"{draw(st.integers(1, 6)) * 100 + index}Mi",
        of_class=draw(classes),
        labels=draw(st.sampled_from([{}, {"media": "ssd"}])),
        claim=draw(st.sampled_from([None] * 6 + CLAIMS)),
        accessModes=modes,
        volumeMode=mode,
        **spec,
    )


@st.composite
def claims(draw, name):
    selector = draw(st.sampled_from([None, None, {"matchLabels": {"media": "ssd"}}]))
    spec = draw(wishes) | ({"selector": selector} if selector else {})
    return claim(name, f"{draw(st.integers(1, 5)) * 100}Mi", of_class=draw(classes), **spec)


def one_node(requested, offered, labels):
    """Return the bindings on one node, as upstream finds them, and whether all are bound."""
    bindings, taken = {}, set()
    for index, ours in sorted(
        enumerate(requested), key=lambda x: storage_nano(x[1].spec.resources.requests)
    ):
        best = None
        for theirs in offered:
            spec = theirs.spec
            if theirs.name in taken or class_of(theirs) != class_of(ours):
                continue
            if spec.claim_ref is not None and not is_bound_to(theirs, ours):
                continue
            size = storage_nano(spec.capacity)
            if size < storage_nano(ours.spec.resources.requests):
                continue
            if spec.volume_mode != ours.spec.volume_mode:
                continue
            required = required_affinity(theirs)
            reached = required is None or node_selector(required).matches("", labels)
            if is_bound_to(theirs, ours):
                best = theirs if reached else None
                break
            selector = ours.spec.selector
            if selector is not None and not label_selector(selector).matches(
                theirs.metadata.labels
            ):
                continue
            if not reached or not set(ours.spec.access_modes) <= set(spec.access_modes):
                continue
            if best is None or size < storage_nano(best.spec.capacity):
                best = theirs
        if best is not None:
            taken.add(best.name)
            bindings[index] = best.name
    return bindings


@effort(300)
@given(st.data())
def test_every_node_gets_the_volumes_that_upstream_would_choose(data):
    cluster = Cluster()
    for name in HOSTS:
        cluster.put(node(name, data.draw(st.sampled_from([*ZONES, ""]))))
    offered = [data.draw(volumes(i)) for i in range(data.draw(st.integers(0, 8)))]
    for theirs in data.draw(st.permutations(offered)):
        cluster.put(theirs)
    for name in ("local", "other"):
        cluster.put(storage_class(name))
    gone = data.draw(st.sampled_from([None, *offered]))
    if gone is not None:
        cluster.delete(gone)
        offered.remove(gone)
    requested = [data.draw(claims(name)) for name in CLAIMS[: data.draw(st.integers(1, 3))]]
    requested += data.draw(st.sampled_from([[], requested[:1]]))  # a pod may use a claim twice

    rows = cluster.live_slots()
    found = decide(PodClaims((), tuple(requested)), cluster.storage, cluster.nodes, rows)
    for row, slot in enumerate(rows.tolist()):
        expected = one_node(requested, offered, cluster.nodes.labels_of(slot))
        got = [(ours.name, theirs.name) for ours, theirs in found.bindings(row)]
        assert sorted(got) == sorted((requested[i].name, v) for i, v in expected.items())
        conflict = 0 if len(expected) == len(requested) else BIND_CONFLICT
        assert found.conflicts[row] == conflict
        alone = decide(
            PodClaims((), tuple(requested)),
            cluster.storage,
            cluster.nodes,
            np.array([slot], dtype=np.int32),
        )
        assert alone.bindings(0) == found.bindings(row)
