"""What pods are given on their way in."""

from __future__ import annotations

from podwright.objects import decode
from podwright.store import ObjectStore
from podwright.testing import make_pod
from podwright.world.admission import Admission


def a_class(value: int):
    return decode(
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": "usual"},
            "value": value,
            "globalDefault": True,
        }
    )


def test_a_pod_that_is_created_again_has_the_priority_that_holds_then():
    admission, pod = Admission(ObjectStore()), make_pod("web")
    given = [admission.admit(pod).priority]
    for value in (5, 7):
        admission.put(a_class(value))
        given += [admission.admit(pod).priority, admission.admit(pod).priority]
    admission.forget(a_class(7))
    assert [*given, admission.admit(pod).priority] == [0, 5, 5, 7, 7, 0]
