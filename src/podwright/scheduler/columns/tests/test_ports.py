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
        pytest.param(
            {"hostPort": 53, "protocol": "UDP"},
            (HostPort(ANY_ADDRESS, "UDP", 53),),
            id="another protocol",
        ),
        pytest.param({"hostPort": 80, "hostIP": "10.0.0.1"}, (OTHER,), id="an address of the node"),
    ],
)
def test_host_ports_of_a_pod(port, expected):
    assert host_ports(with_port("p", **port)) == expected


def test_containers_that_run_beside_the_pod_hold_ports():
    ports = [[{"containerPort": port, "hostPort": port}] for port in (80, 81, 82)]
    setup = {"name": "a", "image": "i", "ports": ports[0]}
    sidecar = {"name": "b", "image": "i", "ports": ports[1], "restartPolicy": "Always"}
    main = {"name": "c", "image": "i", "ports": ports[2]}
    held = host_ports(pod("p", initContainers=[setup, sidecar], containers=[main]))
    assert sorted(port.port for port in held) == [81, 82]


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


def test_a_port_that_is_freed_on_one_address_stays_taken_on_others():
    use = PortUse()
    for slot, port in ((0, LOCAL), (0, OTHER), (1, LOCAL)):
        use.count(slot, (port,), 1)
    assert sorted(use.conflicting_slots((EVERYWHERE,))) == [0, 0, 1]
    use.count(0, (LOCAL,), -1)
    assert use.conflicting_slots((LOCAL,)) == [1]
    assert use.conflicting_slots((OTHER,)) == [0]
    assert use.slots() == [0, 1]
    use.count(0, (OTHER,), -1)
    assert use.conflicting_slots((EVERYWHERE,)) == [1]
    assert use.slots() == [1]
    use.count(1, (LOCAL,), -1)
    assert use.conflicting_slots((EVERYWHERE,)) == []
    assert not use._slots, "ports that nobody uses cost nothing"


def test_a_dry_run_restores_the_ports_that_it_took_and_freed():
    use = PortUse()
    use.count(0, (LOCAL, LOCAL), 1)
    use.begin_dry_run(0)
    use.count(0, (LOCAL,), -1)
    use.count(0, (OTHER,), 1)
    assert not use.conflicts(0, (LOCAL,)), "upstream's set has forgotten the second user"
    assert use.conflicts(0, (OTHER,))
    use.end_dry_run()
    assert use.conflicts(0, (LOCAL,))
    assert not use.conflicts(0, (OTHER,))
    assert use.conflicting_slots((LOCAL,)) == [0]
    assert use.conflicting_slots((OTHER,)) == []
    use.count(0, (LOCAL,), -1)
    assert use.conflicts(0, (LOCAL,)), "the second user is counted again"


def test_a_dry_run_leaves_the_ports_that_it_does_not_touch():
    use = PortUse()
    use.count(0, (LOCAL, OTHER), 1)
    use.count(1, (LOCAL,), 1)
    use.begin_dry_run(0)
    use.count(0, (OTHER,), -1)
    use.count(0, (EVERYWHERE, EVERYWHERE), 1)
    # Two pods had it; upstream's set has forgotten it with the first one.
    use.count(0, (EVERYWHERE,), -1)
    use.count(0, (EVERYWHERE,), -1)
    assert use.conflicting_slots((HostPort("10.0.0.9", "TCP", 80),)) == []
    use.end_dry_run()
    assert sorted(use.conflicting_slots((LOCAL,))) == [0, 1]
    assert use.conflicting_slots((OTHER,)) == [0]
    assert sorted(use.conflicting_slots((EVERYWHERE,))) == [0, 0, 1]
    assert use.slots() == [0, 1] or use.slots() == [1, 0]
    for slot, port in ((0, LOCAL), (0, OTHER), (1, LOCAL)):
        use.count(slot, (port,), -1)
    assert use.slots() == []
