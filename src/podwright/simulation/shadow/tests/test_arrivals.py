import pytest

from podwright.apimachinery.objects import Pod
from podwright.simulation.shadow.attempts import Arrivals
from podwright.simulation.shadow.tests.test_shadow import Cluster, node, pod, with_status


def bound(name):
    return pod(name, on="n1")


def ended(name):
    return with_status(bound(name), phase="Succeeded")


def arrivals(cluster, *logged):
    """Log the observations, and return the arrivals of a cluster as pairs."""
    for ms, name, event in logged:
        what = "queue" if event == "UnschedulablePodAdd" else "observed"
        cluster.log_line(ms, what, name, event=event)
    pods = [line for line in cluster.record().lines if isinstance(line.object, Pod)]
    found = Arrivals(cluster.log().lines, pods)
    return list(zip(found.indexes, found.positions, strict=True)), found


def a_life():
    """Attempts of another pod make the log valid; they are its first and its last line."""
    cluster = Cluster(node("n1"))
    cluster.log_line(0, "attempt", "z")
    cluster.log_line(9000, "attempt", "z")
    cluster.add(100, pod("p"))
    cluster.update(110, with_status(pod("p"), phase="Pending"))
    cluster.update(120, bound("p"))
    return cluster


LIFE = (
    (200, "p", "UnschedulablePodAdd"),
    (210, "p", "AssignedPodAdd"),
    (220, "p", "AssignedPodDelete"),
)


def test_additions_bindings_and_ends_are_found():
    cluster = a_life()
    cluster.delete(130, bound("p"))
    assert arrivals(cluster, *LIFE)[0] == [(1, 0), (2, 2), (3, 3)]


def test_the_watch_of_a_pod_ends_when_the_pod_succeeds():
    cluster = a_life()
    cluster.update(130, ended("p"))
    cluster.update(140, ended("p"))
    cluster.delete(150, ended("p"))
    assert arrivals(cluster, *LIFE)[0] == [(1, 0), (2, 2), (3, 3)]


def test_pods_that_have_a_node_or_ended_when_the_record_begins():
    cluster = Cluster(node("n1"), ended("e"), bound("b"))
    cluster.log_line(0, "attempt", "z")
    cluster.delete(100, ended("e"))
    found, _ = arrivals(cluster, (200, "b", "AssignedPodAdd"), (210, "e", "AssignedPodDelete"))
    assert found == [(1, 1)]


def test_a_name_that_is_used_twice_is_matched_in_order():
    cluster = a_life()
    cluster.delete(130, bound("p"))
    cluster.add(140, pod("p"))
    logged = (*LIFE, (230, "p", "UnschedulablePodAdd"))
    assert arrivals(cluster, *logged)[0] == [(1, 0), (2, 2), (3, 3), (4, 4)]


@pytest.mark.parametrize(
    ("wrong_ms", "expected"),
    [
        pytest.param(150, [(2, 0), (3, 2)], id="before all others"),
        pytest.param(300, [(1, 0), (2, 2), (3, 3)], id="in order"),
    ],
)
def test_observations_in_another_order_than_the_watch_are_ignored(wrong_ms, expected):
    cluster = a_life()
    cluster.add(140, pod("q"))
    logged = (*LIFE[:2], (wrong_ms, "q", "UnschedulablePodAdd"))
    assert arrivals(cluster, *logged)[0] == expected


def test_one_late_observation_does_not_hide_the_others():
    cluster = a_life()
    cluster.delete(130, bound("p"))
    logged = ((500, "p", "UnschedulablePodAdd"), *LIFE[1:])
    assert arrivals(cluster, *logged)[0] == [(1, 2), (2, 3)]


def test_positions_between_arrivals():
    cluster = a_life()
    _, found = arrivals(cluster, *LIFE[:2])
    assert [found.count_before(index) for index in (0, 1, 2, 3, 9)] == [0, 0, 1, 2, 2]
    assert [found.position_after(count) for count in (0, 1, 2)] == [0, 1, 3]
    assert [found.position_before(count) for count in (0, 1, 2)] == [0, 2, None]


def test_only_the_log_of_kube_scheduler_is_complete():
    assert not arrivals(a_life(), LIFE[0])[1].is_complete
    assert arrivals(a_life(), *LIFE[:2])[1].is_complete
