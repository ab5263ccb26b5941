"""Who holds a Lease, with a simulated server and two clocks."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from podwright.online.live.lease_election import ElectionTimes, LeaseState

SECOND = 1_000_000_000
TIMES = ElectionTimes(
    lease_duration_ns=15 * SECOND, renew_deadline_ns=10 * SECOND, retry_period_ns=2 * SECOND
)


def lease_of(state, now_ns, wall_ns=0) -> Any:
    return state.lease_to_write(now_ns, wall_ns)


def holder(lease):
    return lease["spec"]["holderIdentity"]


def test_a_free_lease_is_taken_and_renewed():
    state = LeaseState("a", TIMES)
    state.observe(None, 0)
    lease = lease_of(state, 0)
    assert holder(lease) == "a"
    assert lease["spec"]["leaseDurationSeconds"] == 15
    state.observe(lease, 0)
    again = lease_of(state, 2 * SECOND, 2 * SECOND)
    assert again["spec"]["acquireTime"] == lease["spec"]["acquireTime"]
    assert again["spec"]["renewTime"] > lease["spec"]["renewTime"]
    assert again["spec"]["leaseTransitions"] == 0


@pytest.mark.parametrize(("seconds", "is_taken"), [(14, False), (15, True)])
def test_a_lease_is_taken_when_it_was_not_renewed_for_its_duration_here(seconds, is_taken):
    first = LeaseState("a", TIMES)
    first.observe(None, 0)
    lease = lease_of(first, 0)
    other = LeaseState("b", TIMES)
    # The clocks of the machines are years apart, and only this one counts.
    start = 10**18
    other.observe(lease, start)
    other.observe(lease, start + 5 * SECOND)
    taken = lease_of(other, start + seconds * SECOND)
    assert (taken is not None) is is_taken
    if taken is not None:
        assert (holder(taken), taken["spec"]["leaseTransitions"]) == ("b", 1)


def test_a_released_lease_is_taken_at_once():
    state = LeaseState("a", TIMES)
    state.observe(None, 0)
    state.observe(lease_of(state, 0), 0)
    released = state.released(0)
    other = LeaseState("b", TIMES)
    other.observe(released, 0)
    assert holder(lease_of(other, 0)) == "b"
    assert other.released(0) is None


@pytest.mark.parametrize(
    ("seconds", "attempt"),
    [
        pytest.param(0, (2, 5), id="half of the deadline for a request that hangs"),
        pytest.param(7, (2, 1), id="no request lasts past the deadline"),
        pytest.param(9, (1, 0), id="nor does the wait before it"),
        pytest.param(60, (0, 0), id="late"),
    ],
)
def test_no_attempt_to_renew_lasts_past_the_deadline(seconds, attempt):
    """The next leader may start after the lease duration: the time between is for stopping."""
    found = TIMES.next_attempt(100 * SECOND, (100 + seconds) * SECOND)
    assert found == tuple(each * SECOND for each in attempt)


class Server:
    """A Lease with optimistic concurrency."""

    def __init__(self):
        self.lease: Any = None
        self.version = 0

    def write(self, lease, version):
        if version == self.version:
            self.lease, self.version = lease, version + 1
        return version + 1 == self.version


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 6)), max_size=80))
def test_two_replicas_never_schedule_at_once(steps):
    """A replica schedules from a successful write until the renew deadline after it."""
    server, now = Server(), 0
    replicas = [LeaseState(name, TIMES) for name in "abc"]
    until = [-1, -1, -1]
    for number, seconds in steps:
        now += seconds * SECOND
        state = replicas[number]
        seen, version = server.lease, server.version
        state.observe(seen, now)
        lease = lease_of(state, now, now)
        if lease is not None and server.write(lease, version):
            state.observe(lease, now)
            until[number] = now + TIMES.renew_deadline_ns
        elif until[number] < now:
            until[number] = -1
        assert sum(end >= now for end in until) <= 1


@pytest.mark.parametrize(
    ("holder_before", "acquired", "transitions"),
    [("", None, 5), ("a", "2020-01-01T00:00:00.000000Z", 4), ("gone", None, 5)],
)
def test_a_lease_says_since_when_its_holder_has_it(holder_before, acquired, transitions):
    state = LeaseState("a", TIMES)
    spec = {
        "holderIdentity": holder_before, "leaseDurationSeconds": 3, "leaseTransitions": 4,
        "acquireTime": "2020-01-01T00:00:00.000000Z", "renewTime": "2020-01-01T00:00:01.000000Z",
        "strategy": "OldestEmulationVersion", "preferredHolder": "c",
    }  # fmt: skip
    metadata = {"name": "l", "resourceVersion": "7"}
    state.observe({"metadata": metadata, "spec": spec}, 0)
    now = "1970-01-01T00:00:09.000000Z"
    # The duration of the holder counts, not the own one.
    lease = lease_of(state, 3 * SECOND, 9 * SECOND)
    assert lease == {
        "metadata": metadata,
        "spec": {
            "holderIdentity": "a", "leaseDurationSeconds": 15, "leaseTransitions": transitions,
            "acquireTime": acquired or now, "renewTime": now,
        },
    }  # fmt: skip


@pytest.mark.parametrize(("duration_ns", "seconds"), [(999_999_999, 1), (1_999_999_999, 1),
                                                      (60 * SECOND, 60)])  # fmt: skip
def test_the_duration_of_a_lease_is_in_whole_seconds(duration_ns, seconds):
    times = ElectionTimes(lease_duration_ns=duration_ns, renew_deadline_ns=1, retry_period_ns=1)
    state = LeaseState("a", times)
    state.observe(None, 0)
    assert lease_of(state, 0)["spec"]["leaseDurationSeconds"] == seconds


@pytest.mark.parametrize("transitions", [None, 3])
def test_a_lease_is_released_by_its_holder_alone(transitions):
    state = LeaseState("a", TIMES)
    assert state.released(0) is None
    state.observe({"spec": {"holderIdentity": "b"}}, 0)
    assert state.released(0) is None
    spec = {"holderIdentity": "a"} | (
        {} if transitions is None else {"leaseTransitions": transitions}
    )
    state.observe({"metadata": {"name": "l"}, "spec": spec | {"strategy": "s"}}, 0)
    assert state.released(9 * SECOND) == {
        "metadata": {"name": "l"},
        "spec": {
            "holderIdentity": "",
            "leaseDurationSeconds": 1,
            "leaseTransitions": transitions or 0,
            "acquireTime": "1970-01-01T00:00:09.000000Z",
            "renewTime": "1970-01-01T00:00:09.000000Z",
        },
    }


@pytest.mark.parametrize(
    ("since", "wait", "limit"),
    [(0, 2, 5), (3, 2, 5), (4, 2, 4), (7, 2, 1), (9, 1, 0), (12, 0, 0)],
)
def test_renewals_end_at_the_deadline(since, wait, limit):
    found = TIMES.next_attempt(100 * SECOND, (100 + since) * SECOND)
    assert found == (wait * SECOND, limit * SECOND)
