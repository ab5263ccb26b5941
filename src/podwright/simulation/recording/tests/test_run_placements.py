"""Where the pods of a log are, from its events."""

from podwright.apimachinery.objects import with_node_name
from podwright.simulation.recording.comparison.diff import _Reader
from podwright.testing import make_pod


def test_a_pod_that_arrives_with_a_node_is_placed():
    reader = _Reader()
    reader._put(make_pod("pending"))
    reader._put(with_node_name(make_pod("placed"), "n1"))
    found = reader.placements()
    assert {key: placement.node for key, placement in found.items()} == {
        "default/pending": "",
        "default/placed": "n1",
    }
