"""Nodes that are mirrored from another cluster keep the status that they have there."""

import pytest

from podwright.apimachinery.objects import SOURCE_UID, ObjectPut
from podwright.apimachinery.schema import decode
from podwright.cluster.kubelets import Lifecycle
from podwright.testing import make_pod


@pytest.mark.parametrize(("annotations", "is_left_alone"), [({}, False), ({SOURCE_UID: "u"}, True)])
def test_no_stage_applies_to_a_mirrored_node(annotations, is_left_alone):
    condition = {"type": "Ready", "status": "False"}
    node = decode({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": "n", "uid": "n", "annotations": annotations},
        "status": {"conditions": [condition]},
    })  # fmt: skip
    assert (Lifecycle(seed=1).handle(ObjectPut(node), 0) == []) is is_left_alone


def test_the_stages_of_a_mirrored_pod_apply():
    pod = make_pod("web", node="n", annotations={SOURCE_UID: "u"})
    assert Lifecycle(seed=1).handle(ObjectPut(pod), 0)
