import pytest
from hypothesis import given
from hypothesis import strategies as st

from podwright.columns import Cluster as Columns
from podwright.objects import Pod
from podwright.shadow.recorded_cluster import RecordedCluster
from podwright.shadow.tests.test_shadow import Cluster, node, pod, with_status
from podwright.store.kinds import POD


def busy_record():
    """Nodes and pods that come, change and go."""
    cluster = Cluster(node("n1"), node("n2"), pod("p1", "1", "n1"))
    waiting = pod("p2")
    cluster.add(100, waiting)
    cluster.update(110, with_status(waiting, nominatedNodeName="n2"))
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


def shown(view):
    """Return what decisions read of a cluster, by name."""
    columns = view.cluster
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
def test_a_view_is_the_same_whichever_way_it_came(ways):
    wandering, straight = fresh(), fresh()
    for way in ways:
        wandering.go_to(way)
    straight.go_to(ways[-1])
    assert shown(wandering) == shown(straight)
    assert wandering.pods == straight.pods


@given(positions, st.lists(positions, max_size=4), st.booleans())
def test_what_is_only_tried_leaves_nothing_behind(here, tried, is_placed):
    view = fresh()
    view.go_to(here)
    view.touched.clear()
    before, order = shown(view), view.cluster.nodes.names_by_zone()
    with view.trying():
        for way in tried:
            view.go_to(way)
            waiting = [one for one in view.pods.values() if not one.spec.node_name]
            view.try_placed([(one, "n1") for one in waiting] if is_placed else [])
    assert shown(view) == before
    assert view.cluster.nodes.names_by_zone() == order
    assert view.positions() == here
    assert not view.touched


@pytest.fixture
def with_p2():
    view = fresh()
    view.go_to(dict.fromkeys(view.tracks, 0) | {("", "Node"): 2, POD: 2})
    return view


def requested(view, name):
    return view.cluster.nodes.requested[view.cluster.nodes.slot_of[name], 0]


def test_an_assumed_pod_counts_until_the_api_shows_it_and_once_then(with_p2):
    waiting = with_p2.pending("a/p2")
    assert isinstance(waiting, Pod)
    assert requested(with_p2, "n2") == 0
    with_p2.assume(waiting, "n2")
    assert requested(with_p2, "n2") == 1000
    with_p2.go_to({POD: 3})
    assert requested(with_p2, "n2") == 1000, "a change of its status does not take it away"
    with_p2.go_to({POD: 4})
    assert requested(with_p2, "n2") == 1000


def test_a_nomination_counts_at_once_and_can_be_taken_back(with_p2):
    waiting = with_p2.pending("a/p2")
    assert isinstance(waiting, Pod)
    with_p2.nominate(waiting, "n2")
    assert list(with_p2.cluster.nominated["n2"]) == ["a/p2"]
    assert with_p2.pending("a/p2").status.nominated_node_name == "n2"
    with_p2.go_to({POD: 3})
    with_p2.nominate(with_p2.pending("a/p2"), "")
    assert not with_p2.cluster.nominated.get("n2")
    assert with_p2.pending("a/p2").status.nominated_node_name == ""


def test_nodes_that_changed_or_whose_pods_did_are_noted():
    view = fresh()
    view.go_to({("", "Node"): 2, POD: 1})
    assert set(view.touched) == {"n1", "n2"}
    view.touched.clear()
    view.go_to({POD: 4})
    assert set(view.touched) == {"n2"}
