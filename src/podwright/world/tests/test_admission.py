"""What pods are given on their way in."""

from __future__ import annotations

from podwright.objects import KubernetesObject, Pod, decode
from podwright.store import ObjectStore
from podwright.testing import make_pod
from podwright.world.admission import Admission


def a_class(value: int) -> KubernetesObject:
    return decode(
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": "usual"},
            "value": value,
            "globalDefault": True,
        }
    )


def priority_of(admission: Admission, pod: Pod) -> int:
    admitted = admission.admit(pod)
    assert isinstance(admitted, Pod)
    return admitted.priority


def test_a_pod_that_is_created_again_has_the_priority_that_holds_then():
    admission, pod = Admission(ObjectStore()), make_pod("web")
    given = [priority_of(admission, pod)]
    for value in (5, 7):
        admission.put(a_class(value))
        given += [priority_of(admission, pod), priority_of(admission, pod)]
    admission.forget(a_class(7))
    assert [*given, priority_of(admission, pod)] == [0, 5, 5, 7, 7, 0]
