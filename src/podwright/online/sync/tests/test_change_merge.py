import msgspec
from hypothesis import given, strategies as st

from podwright.online.client.cluster import ChangedObject, Meta
from podwright.online.sync.source import ChangeMerge, SourceChange
from podwright.online.sync.source_kinds import source_kinds

KIND = source_kinds()[0]


def change(version: int, received_ns: int) -> SourceChange:
    meta = Meta(name=f"o{version}", uid="u", resource_version=str(version))
    return SourceChange(KIND, ChangedObject("Update", meta), received_ns)


def versions(changes) -> list[int]:
    return [int(each.change.meta.resource_version) for each in changes]


@given(st.permutations(range(1, 30)), st.lists(st.integers(0, 3), min_size=29, max_size=29))
def test_changes_that_are_late_by_less_than_the_window_leave_in_order(order, gaps):
    """Each version may arrive up to three places too late, and the window is four places."""
    arrivals = sorted(order, key=lambda version: version + gaps[version - 1])
    merge, left = ChangeMerge(window_ns=4), []
    for now, version in enumerate(arrivals):
        merge.add(change(version, now))
        left += versions(merge.due(now))
    left += versions(merge.rest())
    assert left == list(range(1, 30))


def test_changes_without_an_order_leave_as_they_have_arrived():
    merge = ChangeMerge(window_ns=0)
    arrived = [change(version, 0) for version in (4, 4, 4)]
    for number, each in enumerate(arrived):
        meta = msgspec.structs.replace(each.change.meta, name=f"o{number}", resource_version="x")
        arrived[number] = SourceChange(KIND, ChangedObject("Update", meta), 0)
        merge.add(arrived[number])
    assert list(merge.due(0)) == arrived


def test_a_change_waits_for_the_window_and_takes_earlier_ones_along():
    merge = ChangeMerge(window_ns=10)
    merge.add(change(7, 0))
    merge.add(change(5, 8))
    merge.add(change(9, 9))
    assert versions(merge.due(9)) == []
    assert versions(merge.due(10)) == [5, 7]
    assert len(merge) == 1
    assert versions(merge.rest()) == [9]
