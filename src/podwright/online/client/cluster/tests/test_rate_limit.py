import pytest

from podwright.online.client.cluster.read_connection import BURST, PER_SECOND, TokenBucket

SECOND = 1_000_000_000


def test_a_burst_starts_at_once_and_the_rest_at_the_rate():
    bucket = TokenBucket(10, 3)
    assert [bucket.reserve(0) for _ in range(5)] == [0, 0, 0, SECOND // 10, 2 * SECOND // 10]


def test_an_idle_bucket_is_full_but_no_fuller():
    bucket = TokenBucket(10, 3)
    for _ in range(3):
        bucket.reserve(0)
    assert [bucket.reserve(60 * SECOND) for _ in range(4)] == [0, 0, 0, SECOND // 10]


def test_the_rate_is_that_of_a_scheduler():
    bucket = TokenBucket(PER_SECOND, BURST)
    assert [bucket.reserve(0) for _ in range(102)] == [0] * 100 + [SECOND // 50, 2 * SECOND // 50]


@pytest.mark.parametrize(
    ("per_second", "burst", "waits_ns"),
    [
        pytest.param(3, 1, [0, 333_333_333, 666_666_666], id="whole nanoseconds"),
        pytest.param(0.5, 1, [0, 2 * SECOND, 4 * SECOND], id="less than one in a second"),
        pytest.param(1e9, 2, [0, 0, 1], id="one in each nanosecond"),
    ],
)
def test_waits_are_whole_nanoseconds(per_second, burst, waits_ns):
    bucket = TokenBucket(per_second, burst)
    found = [bucket.reserve(0) for _ in waits_ns]
    assert found == waits_ns
    assert {type(each) for each in found} == {int}


def test_a_bucket_fills_at_the_rate():
    bucket = TokenBucket(10, 3)
    assert [bucket.reserve(0) for _ in range(4)] == [0, 0, 0, SECOND // 10]
    # Since then three tokens were made, of which the one that was waited for is taken.
    assert [bucket.reserve(3 * SECOND // 10) for _ in range(3)] == [0, 0, SECOND // 10]
