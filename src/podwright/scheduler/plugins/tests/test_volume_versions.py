"""Whether a volume in the cluster is from before the scheduler's own write."""

import pytest

from podwright.scheduler.columns.tests.storage_objects import claim
from podwright.scheduler.plugins.volume_binding import _is_older


@pytest.mark.parametrize(
    ("seen", "written", "older"),
    [
        pytest.param("8", "9", True, id="before the write"),
        pytest.param("9", "9", False, id="the write itself"),
        pytest.param("10", "9", False, id="after it, by number and not by text"),
        pytest.param("", "9", False, id="unknown"),
        pytest.param("8", "", False, id="that of the write is"),
        pytest.param("x", "9", False, id="no number"),
        pytest.param("8", "x", False, id="that of the write is none"),
        pytest.param("8", "-9", False, id="nor is one with a sign"),
        pytest.param("99", "100", True, id="of another length"),
    ],
)
def test_versions_are_compared_as_numbers(seen, written, older):
    assert _is_older(claim("c", version=seen), claim("c", version=written)) is older


def test_without_a_write_no_version_is_older():
    assert not _is_older(claim("c", version="1"), None)
