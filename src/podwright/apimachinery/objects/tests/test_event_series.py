from podwright.apimachinery.objects.event_series import (
    RECENT_MAX,
    REFRESH_NS,
    SERIES_NS,
    EventSeries,
)


def test_an_event_within_the_time_of_a_series_is_counted():
    series: EventSeries[str] = EventSeries()
    assert series.due(0) == []
    assert series.repeated("a", 0) is None
    series.begin("a", "/events/a", 0)
    assert series.repeated("b", 1) is None
    found = series.repeated("a", SERIES_NS - 1)
    assert found
    assert (found.path, found.count) == ("/events/a", 2)
    assert found.series == {
        "series": {"count": 2, "lastObservedTime": "1970-01-01T00:05:59.999999Z"}
    }
    # What has ended is looked for every six minutes, and then six minutes after its end.
    assert series.due(2 * SERIES_NS - 2) == []
    assert series.repeated("a", 2 * SERIES_NS - 2)
    assert series.due(3 * SERIES_NS - 1) == []
    assert series.due(4 * SERIES_NS) == [found]
    assert found.count == 3
    assert series.repeated("a", 4 * SERIES_NS) is None


def test_an_event_that_was_not_repeated_ends_without_a_write():
    series: EventSeries[str] = EventSeries()
    series.due(0)
    series.begin("a", "/events/a", 0)
    assert series.due(2 * SERIES_NS) == []
    assert series.repeated("a", 2 * SERIES_NS) is None


def test_the_counts_of_series_that_go_on_are_written_each_half_hour():
    series: EventSeries[str] = EventSeries()
    series.due(0)
    series.begin("a", "/events/a", 0)
    series.begin("b", "/events/b", REFRESH_NS - 1)
    found = series.repeated("a", REFRESH_NS - 1)
    assert series.due(REFRESH_NS) == [found]
    assert series.due(REFRESH_NS + 1) == []


def test_the_least_recent_event_is_forgotten_first():
    series: EventSeries[int] = EventSeries()
    for number in range(RECENT_MAX):
        series.begin(number, "", 0)
    assert series.repeated(0, 1)
    series.begin(RECENT_MAX, "", 2)
    assert series.repeated(1, 3) is None
    assert series.repeated(0, 3)
    series.forget(0)
    assert series.repeated(0, 4) is None


START_NS = 7


def test_a_series_ends_only_after_more_than_six_minutes():
    series: EventSeries[str] = EventSeries()
    series.due(START_NS)
    series.begin("a", "/events/a", START_NS)
    found = series.repeated("a", START_NS)
    assert series.due(START_NS + SERIES_NS - 1) == []
    assert series.due(START_NS + SERIES_NS) == []
    assert series.due(START_NS + 2 * SERIES_NS - 1) == []
    assert series.due(START_NS + 2 * SERIES_NS) == [found]
    assert series.repeated("a", START_NS + 2 * SERIES_NS) is None


def test_times_at_which_nothing_was_looked_for_are_made_up_once():
    series: EventSeries[str] = EventSeries()
    series.due(START_NS)
    late_ns = START_NS + 2 * REFRESH_NS + SERIES_NS + 1
    for name in ("old", "new", "once"):
        series.begin(name, name, START_NS if name == "old" else late_ns)
    old, new = series.repeated("old", START_NS), series.repeated("new", late_ns)
    # What has ended comes first, and the others because half an hour is over.
    assert series.due(late_ns) == [old, new]
    assert series.due(late_ns + SERIES_NS - 2) == []
    assert series.repeated("new", late_ns + SERIES_NS - 2) is new
    # The times stay multiples of the periods after the first one.
    assert series.due(START_NS + 3 * REFRESH_NS - 1) == [new]
    assert series.repeated("once", late_ns) is None
    series.begin("last", "last", START_NS + 3 * REFRESH_NS - 1)
    last = series.repeated("last", START_NS + 3 * REFRESH_NS - 1)
    assert series.due(START_NS + 3 * REFRESH_NS) == [last]


def test_an_event_that_begins_again_is_the_most_recent_one():
    series: EventSeries[int] = EventSeries()
    for number in range(RECENT_MAX):
        series.begin(number, "", 0)
    series.begin(0, "again", 1)
    series.begin(RECENT_MAX, "", 2)
    assert series.repeated(1, 3) is None
    found = series.repeated(0, 3)
    assert found is not None
    assert (found.path, found.count, found.last_ns) == ("again", 2, 3)
    series.forget(-1)
    assert series.repeated(2, 3)


def test_the_limits_of_series_are_those_of_client_go() -> None:
    assert (SERIES_NS, REFRESH_NS, RECENT_MAX) == (6 * 60 * 10**9, 30 * 60 * 10**9, 4_096)
