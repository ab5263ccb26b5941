import pytest
from hypothesis import given, strategies as st

from podwright.apimachinery.objects import Pod
from podwright.cluster.store.errors import POD
from podwright.scheduler.columns import Cluster as Columns
from podwright.simulation.shadow.recorded_cluster import RecordedCluster
from podwright.simulation.shadow.tests.test_shadow import (
    UNSCHEDULABLE,
    Cluster,
    node,
    pod,
    with_status,
)


def busy_record():
    """Nodes and pods that are added, updated and deleted."""
    cluster = Cluster(node("n1"), node("n2"), pod("p1", "1", "n1"))
    waiting = pod("p2")
    cluster.add(100, waiting)
    cluster.update(110, with_status(waiting, nominatedNodeName="n2", conditions=[UNSCHEDULABLE]))
    cluster.update(120, node("n1", "8", {"app:1": 1 << 30}))
    cluster.add(130, node("n3"))
    cluster.update(140, pod("p2", "1", "n2"))
    cluster.update(150, with_status(pod("p1", "1", "n1"), phase="Succeeded"))
    cluster.delete(160, pod("p1", "1", "n1"))
    cluster.add(170, pod("p3", "500m"))
    cluster.delete(180, node("n2"))
    cluster.delete(190, pod("p2", "1", "n2"))
    cluster.update(200, pod("p3", "500m", "n3"))
    return cluster.record().lines


LINES = busy_record()


def fresh():
    return RecordedCluster(LINES, Columns())


def snapshot(cluster_state):
    """Return the parts of a cluster that decisions read, by name."""
    columns = cluster_state.cluster
    nodes = columns.nodes
    return {
        name: (
            nodes.allocatable[slot, :4].tolist(),
            nodes.requested[slot, :4].tolist(),
            sorted(columns.pods_on[slot]),
            sorted(
                image for image in ("app:1",)
                if (state := columns.images.find(image)) and slot in state.nodes
            ),
            sorted(columns.nominated.get(name, {})),
        )
        for name, slot in nodes.slot_of.items()
    }  # fmt: skip


positions = st.fixed_dictionaries(
    {kind: st.integers(0, len(track.lines)) for kind, track in fresh().tracks.items()}
)


@given(st.lists(positions, min_size=1, max_size=5))
def test_the_state_depends_only_on_the_positions(paths):
    detoured, direct = fresh(), fresh()
    for path in paths:
        detoured.go_to(path)
    direct.go_to(paths[-1])
    assert snapshot(detoured) == snapshot(direct)
    assert detoured.pods == direct.pods


@given(positions, st.lists(positions, max_size=4), st.booleans())
def test_a_speculation_leaves_the_state_unchanged(here, speculative, is_placed):
    cluster_state = fresh()
    cluster_state.go_to(here)
    cluster_state.touched.clear()
    before, order = snapshot(cluster_state), cluster_state.cluster.nodes.names_by_zone()
    with cluster_state.speculation():
        for path in speculative:
            cluster_state.go_to(path)
            waiting = [one for one in cluster_state.pods.values() if not one.spec.node_name]
            cluster_state.place_speculatively([(one, "n1") for one in waiting] if is_placed else [])
    assert snapshot(cluster_state) == before
    assert cluster_state.cluster.nodes.names_by_zone() == order
    assert cluster_state.positions() == here
    assert not cluster_state.touched


@pytest.fixture
def with_p2():
    cluster_state = fresh()
    cluster_state.go_to(dict.fromkeys(cluster_state.tracks, 0) | {("", "Node"): 2, POD: 2})
    return cluster_state


def requested(cluster_state, name):
    return cluster_state.cluster.nodes.requested[cluster_state.cluster.nodes.slot_of[name], 0]


def test_an_assumed_pod_is_counted_once_before_and_after_the_api_shows_it(with_p2):
    waiting = with_p2.pending("a/p2")
    assert isinstance(waiting, Pod)
    assert requested(with_p2, "n2") == 0
    with_p2.assume(waiting, "n2")
    assert requested(with_p2, "n2") == 1000
    with_p2.go_to({POD: 3})
    assert requested(with_p2, "n2") == 1000, "a change of its status does not take it away"
    with_p2.go_to({POD: 4})
    assert requested(with_p2, "n2") == 1000


def test_a_nomination_counts_immediately_and_can_be_removed(with_p2):
    waiting = with_p2.pending("a/p2")
    assert isinstance(waiting, Pod)
    with_p2.nominate(waiting, "n2")
    assert list(with_p2.cluster.nominated["n2"]) == ["a/p2"]
    assert with_p2.pending("a/p2").status.nominated_node_name == "", "the API does not show it"
    with_p2.go_to({POD: 3})
    assert with_p2.pending("a/p2").status.nominated_node_name == "n2"
    with_p2.nominate(with_p2.pending("a/p2"), "")
    assert not with_p2.cluster.nominated.get("n2")
    assert with_p2.pending("a/p2").status.nominated_node_name == "n2"


def test_a_nomination_counts_in_states_in_which_the_api_does_not_show_it_yet(with_p2):
    with_p2.nominate(with_p2.pending("a/p2"), "n2")
    with_p2.go_to({POD: 3})
    with with_p2.speculation():
        with_p2.go_to({POD: 2})
        assert list(with_p2.cluster.nominated["n2"]) == ["a/p2"]
    assert list(with_p2.cluster.nominated["n2"]) == ["a/p2"]


def test_a_nomination_replaces_what_the_api_showed_before_it(with_p2):
    for node_name in ("n1", "n3", ""):
        with_p2.go_to({POD: 3})
        with_p2.nominate(with_p2.pending("a/p2"), node_name)
        expected = {node_name} - {""}
        assert set(with_p2.cluster.nominated) == expected
        with with_p2.speculation():
            with_p2.go_to({POD: 2})
        assert set(with_p2.cluster.nominated) == expected


def test_another_nomination_of_the_api_replaces_that_of_the_scheduler(with_p2):
    with_p2.nominate(with_p2.pending("a/p2"), "n1")
    with with_p2.speculation():
        with_p2.go_to({POD: 3})
        assert set(with_p2.cluster.nominated) == {"n2"}
    assert set(with_p2.cluster.nominated) == {"n1"}
    with_p2.go_to({POD: 3})
    assert set(with_p2.cluster.nominated) == {"n2"}
    with with_p2.speculation():
        with_p2.go_to({POD: 2})
    assert set(with_p2.cluster.nominated) == {"n2"}


def test_changed_nodes_and_nodes_of_changed_pods_are_touched():
    cluster_state = fresh()
    cluster_state.go_to({("", "Node"): 2, POD: 1})
    assert set(cluster_state.touched) == {"n1", "n2"}
    cluster_state.touched.clear()
    cluster_state.go_to({POD: 4})
    assert set(cluster_state.touched) == {"n2"}
