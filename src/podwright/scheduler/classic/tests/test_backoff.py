import pytest

from podwright.scheduler.classic.backoff import BackoffRecord, BackoffRecords

A = "default/a"


def waits(initial, most, *, gap=1):
    """Fail `gap` after the end of each backoff; return the durations."""
    records, now, found = BackoffRecords(initial, most), 1_000, []
    for _ in range(8):
        record = records.fail(A, now)
        found.append(record.end_ns - now)
        now = record.end_ns + gap
    return found


@pytest.mark.parametrize(
    ("initial", "most", "expected"),
    [
        # A backoff of the maximum duration is the last one: its record is dropped.
        pytest.param(10, 80, [10, 20, 40, 80, 10, 20, 40, 80], id="three doublings"),
        pytest.param(10, 79, [10, 20, 40, 79, 10, 20, 40, 79], id="one less"),
        pytest.param(10, 81, [10, 20, 40, 80, 81, 10, 20, 40], id="one more"),
        pytest.param(10, 70, [10, 20, 40, 70, 10, 20, 40, 70], id="seven"),
        pytest.param(10, 30, [10, 20, 30, 10, 20, 30, 10, 20], id="three"),
        pytest.param(30, 70, [30, 60, 70, 30, 60, 70, 30, 60], id="three and seven"),
        pytest.param(10, 10, [10] * 8, id="the longest is the first"),
        pytest.param(10, 5, [10] * 8, id="the first is longer than the longest"),
    ],
)
def test_each_back_off_is_twice_the_last_one_and_at_most_the_longest(initial, most, expected):
    # Just after 80 of at most 81 the record is kept; any other gap would drop it.
    assert waits(initial, most) == expected


def test_the_longest_of_an_odd_maximum_is_kept_for_as_long_as_it_lasts():
    records = BackoffRecords(10, 70)
    now = 0
    for wait in (10, 20, 40):
        assert records.fail(A, now) == BackoffRecord({10: 1, 20: 2, 40: 3}[wait], now, now + wait)
        now += wait + 1
    assert records.fail(A, now).end_ns == now + 70
    assert records.fail(A, now + 70).end_ns == now + 70, "it ends now, and does not count"
    assert records.is_backing_off(A, now + 69)
    assert not records.is_backing_off(A, now + 70)
    assert records.fail(A, now + 71) == BackoffRecord(1, now + 71, now + 81)


def test_a_failure_while_it_waits_changes_nothing():
    records = BackoffRecords(10, 70)
    first = records.fail(A, 0)
    assert records.fail(A, 5) is first
    assert records.fail(A, 10) is first
    assert records.fail(A, 11) == BackoffRecord(2, 11, 31)


def test_a_failure_drops_the_records_not_updated_for_longer_than_the_longest():
    records = BackoffRecords(10, 70)
    records.fail("old", 0)
    records.fail("newer", 1)
    records.fail("renewed", 0)
    records.fail("renewed", 20)
    records.fail(A, 70)
    assert list(records.all()) == ["old", "newer", "renewed", A]
    records.fail(A, 71)
    assert list(records.all()) == ["newer", "renewed", A]
    records.fail(A, 91)
    assert records.get("renewed") is None
    assert list(records.all()) == [A]


def test_a_renewed_record_does_not_keep_older_ones_alive():
    records = BackoffRecords(10, 70)
    records.fail("renewed", 0)
    records.fail("old", 1)
    records.fail("renewed", 20)
    assert list(records.all()) == ["old", "renewed"]
    records.fail(A, 72)
    assert list(records.all()) == ["renewed", A]


def test_a_dropped_record_starts_again():
    records = BackoffRecords(10, 70)
    records.fail(A, 0)
    records.drop(A)
    records.drop(A)
    assert not records.is_backing_off(A, 1)
    assert records.fail(A, 1) == BackoffRecord(1, 1, 11)
