"""The clock of a cluster."""

import pytest

from podwright.apimachinery.objects import timestamp_text
from podwright.cluster.api.endpoints import HttpReply, HttpRequest
from podwright.online.apiserver import ClusterClock
from podwright.online.apiserver.cluster_clock import (
    END_NS,
    SPEED_MAX,
    SPEED_MIN,
    with_lease_warning,
)


class RealTime:
    def __init__(self):
        self.ns = 1_000

    def __call__(self):
        return self.ns


@pytest.fixture
def real():
    return RealTime()


def test_real_time_passes_by_default(real):
    clock = ClusterClock(read_ns=real)
    real.ns += 5
    assert clock.now_ns() == 1_005


def test_the_real_time_is_exact_however_long_it_passes(real):
    clock = ClusterClock(read_ns=real)
    real.ns += (1 << 54) + 1
    assert clock.now_ns() == (1 << 54) + 1_001


def test_a_paused_clock_advances_by_steps_only(real):
    clock = ClusterClock(start_ns=0, read_ns=real)
    real.ns += 5
    clock.pause()
    real.ns += 100
    assert clock.now_ns() == 5
    clock.step(10)
    assert clock.now_ns() == 15
    clock.run_to(40)
    assert clock.now_ns() == 40


def test_a_resumed_clock_continues_from_where_it_was(real):
    clock = ClusterClock(start_ns=0, read_ns=real)
    clock.pause()
    real.ns += 100
    clock.resume()
    assert clock.now_ns() == 0
    real.ns += 3
    assert clock.now_ns() == 3
    assert not clock.is_paused


def test_a_clock_that_was_paused_can_be_set_to_the_real_time(real):
    clock = ClusterClock(read_ns=real)
    clock.pause()
    real.ns += 100
    assert clock.now_ns() == 1_000
    clock.resume()
    clock.set_to_real_time()
    assert clock.now_ns() == 1_100
    real.ns += 5
    assert clock.now_ns() == 1_105
    clock.step(50)
    clock.set_to_real_time()
    assert clock.now_ns() == 1_155


def test_a_step_of_a_running_clock_is_added(real):
    clock = ClusterClock(start_ns=0, read_ns=real)
    clock.step(1_000)
    real.ns += 1
    assert clock.now_ns() == 1_001


def test_another_speed_counts_from_now_on(real):
    clock = ClusterClock(start_ns=0, read_ns=real)
    real.ns += 10
    clock.set_speed(3.0)
    real.ns += 10
    assert clock.now_ns() == 40
    assert clock.speed == 3.0


def test_a_real_clock_that_is_set_back_does_not_set_back_the_cluster(real):
    clock = ClusterClock(start_ns=0, read_ns=real)
    real.ns += 10
    assert clock.now_ns() == 10
    real.ns -= 7
    assert clock.now_ns() == 10


def test_the_real_time_until_a_time_of_the_cluster(real):
    clock = ClusterClock(start_ns=0, speed=2.0, read_ns=real)
    assert clock.real_seconds_until(4_000_000_000) == 2.0
    assert clock.real_seconds_until(0) == 0.0
    clock.pause()
    assert clock.real_seconds_until(4_000_000_000) is None
    assert clock.real_seconds_until(0) == 0.0


@pytest.mark.parametrize("speed", [0, -1.0, 1e-7, 2e6, 1e307, float("inf"), float("nan")])
def test_a_speed_is_a_positive_number_within_limits(speed):
    with pytest.raises(ValueError, match="a speed is a number from 1e-06 to 1e"):
        ClusterClock(speed=speed)


def test_the_time_ends(real):
    assert timestamp_text(END_NS) == "2200-01-01T00:00:00Z"
    clock = ClusterClock(start_ns=END_NS - 10, read_ns=real)
    with pytest.raises(ValueError, match="2200"):
        clock.step(11)
    clock.step(5)
    assert clock.now_ns() == END_NS - 5
    real.ns += 100
    assert clock.now_ns() == END_NS


def test_time_does_not_go_back(real):
    clock = ClusterClock(start_ns=50, read_ns=real)
    with pytest.raises(ValueError, match="back in time"):
        clock.step(-1)
    with pytest.raises(ValueError, match="back in time"):
        clock.run_to(49)


def test_steps_and_changes_of_a_running_clock_lose_no_time(real):
    clock = ClusterClock(start_ns=0, read_ns=real)
    real.ns += 7
    clock.step(10)
    assert clock.now_ns() == 17
    real.ns += 3
    clock.set_speed(2.0)
    assert clock.now_ns() == 20
    real.ns += 5
    assert clock.now_ns() == 30
    clock.set_speed(1.0)
    real.ns += 5
    assert clock.now_ns() == 35


def test_a_step_to_the_end_and_a_run_to_now_are_allowed(real):
    clock = ClusterClock(start_ns=END_NS - 10, read_ns=real)
    clock.run_to(END_NS - 10)
    clock.step(0)
    assert clock.now_ns() == END_NS - 10
    clock.step(10)
    assert clock.now_ns() == END_NS
    real.ns = 2 * END_NS
    clock.set_to_real_time()
    assert clock.now_ns() == END_NS


def test_a_clock_ahead_of_the_real_time_is_not_set_back_to_it(real):
    clock = ClusterClock(start_ns=5_000, read_ns=real)
    clock.set_to_real_time()
    assert clock.now_ns() == 5_000
    clock.pause()
    clock.set_to_real_time()
    assert clock.now_ns() == 5_000


@pytest.mark.parametrize("speed", [SPEED_MIN, SPEED_MAX])
def test_the_limits_of_the_speed_are_speeds(real, speed):
    clock = ClusterClock(start_ns=0, read_ns=real)
    clock.set_speed(speed)
    real.ns += 1_000_000
    assert clock.now_ns() == int(1_000_000 * speed)
    with pytest.raises(ValueError, match="a speed"):
        clock.set_speed(0)
    assert clock.speed == speed


LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler"


@pytest.mark.parametrize(
    ("method", "path", "speed", "is_paused", "warning"),
    [
        ("PUT", LEASE, 1.0, False, ""),
        ("PUT", LEASE, 1.0, True, "is paused"),
        ("POST", LEASE, 2.0, False, "runs at 2 times the speed of real time"),
        ("PATCH", LEASE, 2.0, True, "is paused"),
        ("GET", LEASE, 2.0, True, ""),
        ("PUT", "/api/v1/nodes/n", 2.0, True, ""),
    ],
)
def test_who_writes_a_lease_is_warned_unless_the_time_is_real(
    real, method, path, speed, is_paused, warning
):
    clock = ClusterClock(start_ns=0, speed=speed, read_ns=real)
    if is_paused:
        clock.pause()
    reply = HttpReply(200, (("content-type", "application/json"),), b"{}")
    found = with_lease_warning(HttpRequest(method, path, "", {}, b""), reply, clock)
    text = f'299 - "the clock of this cluster {warning}: leases end by the clocks of their holders"'
    assert found.headers == (*reply.headers, *([("warning", text)] if warning else []))
    assert (found.status, found.body) == (200, b"{}")
