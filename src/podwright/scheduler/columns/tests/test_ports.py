import pytest

from podwright.scheduler.columns.ports import ANY_ADDRESS, HostPort, PortUse, host_ports
from podwright.scheduler.preemption.tests.situations import cluster_of, node, pod

LOCAL = HostPort("127.0.0.1", "TCP", 80)
OTHER = HostPort("10.0.0.1", "TCP", 80)
EVERYWHERE = HostPort(ANY_ADDRESS, "TCP", 80)


def with_port(name, **port):
    containers = [{"name": "c", "image": "i", "ports": [{"containerPort": 80, **port}]}]
    return pod(name, containers=containers)


@pytest.mark.parametrize(
    ("port", "expected"),
    [
        pytest.param({"hostPort": 0}, (), id="no host port"),
        pytest.param({"hostPort": 1}, (HostPort(ANY_ADDRESS, "TCP", 1),), id="the lowest port"),
    ],
)
def test_host_ports_of_a_pod(port, expected):
    assert host_ports(with_port("p", **port)) == expected


@pytest.mark.parametrize(
    ("taken", "requested", "slots"),
    [
        pytest.param(LOCAL, LOCAL, [3], id="the same address"),
        pytest.param(LOCAL, OTHER, [], id="another address"),
        pytest.param(LOCAL, EVERYWHERE, [3], id="the wildcard is requested"),
        pytest.param(EVERYWHERE, LOCAL, [3], id="the wildcard is taken"),
        pytest.param(LOCAL, HostPort("127.0.0.1", "UDP", 80), [], id="another protocol"),
    ],
)
def test_slots_where_a_port_is_taken(taken, requested, slots):
    use = PortUse()
    use.count(3, (taken,), 1)
    assert use.conflicting_slots((requested,)) == slots
    assert use.conflicts(3, (requested,)) is bool(slots)


def test_after_a_dry_run_a_port_is_counted_again():
    cluster = cluster_of(node("n"))
    with cluster.dry_run(0) as dry_run:
        dry_run.add(with_port("p", hostPort=80))
    cluster.ports.count(0, (LOCAL,), 1)
    cluster.ports.count(0, (LOCAL,), 1)
    cluster.ports.count(0, (LOCAL,), -1)
    assert cluster.ports.conflicts(0, (LOCAL,)), "a second pod uses the port"
