"""Changes whose objects are at rest."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.cluster.store.history import RestingChange
from podwright.testing import make_pod

KIND, KEY = ("", "Pod"), "default/a"


class AtRest:
    """Objects by version, and which were read."""

    def __init__(self) -> None:
        self.read_versions: list[int] = []

    def read(self, version: int) -> Any:
        self.read_versions.append(version)
        return make_pod("a", labels={"version": str(version)})


@pytest.mark.parametrize(
    ("previous", "is_removal", "read"),
    [
        pytest.param(0, False, 7, id="a creation"),
        pytest.param(5, False, 7, id="an update, without the version before"),
        pytest.param(5, True, 5, id="a deletion, whose last state it is"),
    ],
)
def test_the_object_of_a_resting_change_is_read_once(previous, is_removal, read):
    at_rest: Any = AtRest()
    found = RestingChange(7, KIND, KEY, at_rest, previous, is_removal).object
    assert at_rest.read_versions == [read]
    assert found.metadata.labels == {"version": str(read)}
    assert (found.metadata.resource_version == "7") is is_removal
