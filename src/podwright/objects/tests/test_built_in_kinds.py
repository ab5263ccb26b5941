"""The table of built-in kinds is complete."""

import pytest

from podwright.objects import api_group
from podwright.objects.built_in_kinds import KINDS_OF_GROUP, no_match
from podwright.objects.decode import NAMESPACED_GROUPS
from podwright.objects.kinds import TYPES


def test_every_typed_kind_is_in_the_table():
    read = {(api_group(cls.api_version), cls.kind) for cls in TYPES} | NAMESPACED_GROUPS
    missing = {(group, kind) for group, kind in read if kind not in KINDS_OF_GROUP.get(group, ())}
    assert missing == {("scheduling.x-k8s.io", "PodGroup")}, "which is a custom resource"


@pytest.mark.parametrize(
    ("api_version", "kind", "message"),
    [
        pytest.param("v1", "Pod", "", id="a kind of the core group"),
        pytest.param("apps/v1beta2", "Deployment", "", id="an old version"),
        pytest.param("networking.k8s.io/v1alpha1", "ClusterCIDR", "", id="gone since 1.29"),
        pytest.param("resource.k8s.io/v1alpha1", "PodScheduling", "", id="of 1.26 alone"),
        pytest.param("example.com/v1", "Pdo", "", id="a group of custom resources"),
        pytest.param(
            "v1",
            "Pdo",
            'no matches for kind "Pdo" in version "v1"; did you mean "Pod"?',
            id="misspelt",
        ),
        pytest.param(
            "apps/v1",
            "Job",
            'no matches for kind "Job" in version "apps/v1"',
            id="of another group",
        ),
    ],
)
def test_kinds_that_a_built_in_group_does_not_have(api_version, kind, message):
    assert no_match(api_version, kind) == message
