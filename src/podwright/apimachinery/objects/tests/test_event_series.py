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
