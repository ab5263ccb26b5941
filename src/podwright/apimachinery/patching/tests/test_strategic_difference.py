"""The strategic merge patch between two documents."""

import pytest

from podwright.apimachinery.patching import strategic_difference, strategic_merged
from podwright.apimachinery.schema import built_in


@pytest.fixture
def kind():
    found = built_in().find("v1", "Pod")
    assert found is not None
    return found


def pod(**spec):
    return {"spec": {"containers": [{"name": "a", "image": "x"}, {"name": "b"}], **spec}}


@pytest.mark.parametrize(
    ("after", "patch"),
    [
        pytest.param(pod(), {}, id="nothing"),
        pytest.param(
            {"spec": {"containers": [{"name": "a", "image": "y"}, {"name": "b"}]}},
            {"spec": {"containers": [{"name": "a", "image": "y"}]}},
            id="a field of an item of a list with keys",
        ),
        pytest.param(
            {"spec": {"containers": [{"name": "a"}, {"name": "b"}]}},
            {"spec": {"containers": [{"name": "a", "image": None}]}},
            id="a removed field",
        ),
        pytest.param(
            {"spec": {"containers": [{"name": "a", "image": "x"}]}},
            {"spec": {"containers": [{"$patch": "delete", "name": "b"}]}},
            id="a removed item",
        ),
        pytest.param(
            pod(nodeSelector={"disk": "ssd"}),
            {"spec": {"nodeSelector": {"disk": "ssd"}}},
            id="a new field",
        ),
        pytest.param(
            pod(tolerations=[{"key": "a"}]),
            {"spec": {"tolerations": [{"key": "a"}]}},
            id="a list without keys is replaced",
        ),
    ],
)
def test_the_patch_has_only_what_differs_and_makes_the_other_document(kind, after, patch):
    assert strategic_difference(kind, pod(), after) == patch
    assert strategic_merged(kind, pod(), patch) == after


def test_an_order_that_no_patch_without_directives_makes_has_none(kind):
    after = {"spec": {"containers": [{"name": "b"}, {"name": "a", "image": "x"}]}}
    assert strategic_difference(kind, pod(), after) is None
