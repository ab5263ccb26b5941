import numpy as np
import pytest

from podwright.scheduler.columns import NOT_STARTED, start_ns
from podwright.scheduler.columns.placement import importance
from podwright.scheduler.kernels import preemption
from podwright.scheduler.preemption.tests.situations import pod


def test_a_pod_that_has_not_started_is_later_than_all_others():
    assert start_ns(pod("p")) == NOT_STARTED == np.iinfo(np.int64).max
    assert start_ns(pod("q", started="2026-01-01T00:00:00Z")) < NOT_STARTED
    assert preemption.NOT_STARTED == NOT_STARTED


@pytest.mark.parametrize(
    ("started", "expected"),
    [
        pytest.param("", NOT_STARTED, id="not yet"),
        pytest.param("soon", NOT_STARTED, id="not a time"),
        pytest.param("1970-01-01T00:00:01Z", 1_000_000_000, id="a time"),
        pytest.param("0001-01-01T00:00:00Z", -NOT_STARTED, id="the earliest, of all before"),
        pytest.param("2999-01-01T00:00:00Z", NOT_STARTED - 1, id="the latest, of all after"),
    ],
)
def test_the_start_of_a_pod_fits_in_64_bits(started, expected):
    assert start_ns(pod("p", started=started)) == expected


def test_pods_without_a_valid_start_are_ordered_as_if_they_started_now():
    now_ns = 5_000_000_000
    order = [
        pod("high", priority=1),
        pod("early", started="1970-01-01T00:00:01Z"),
        pod("a"),
        pod("b", started="soon"),
        pod("late", started="1970-01-01T00:00:09Z"),
        pod("low", priority=-1, started="1970-01-01T00:00:01Z"),
    ]
    shuffled = [order[place] for place in (3, 0, 5, 1, 4, 2)]
    shuffled.sort(key=lambda each: importance(each, now_ns))
    assert shuffled == order
    # By default they start last.
    assert importance(pod("a")) > importance(pod("late", started="1970-01-01T00:00:09Z"))
    assert importance(pod("b", started="soon"))[:2] == importance(pod("a"))[:2]
