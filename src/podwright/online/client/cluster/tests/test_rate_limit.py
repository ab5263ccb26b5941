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
