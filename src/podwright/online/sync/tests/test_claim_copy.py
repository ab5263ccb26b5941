"""Claims of a copy: which are left out, and which keep their devices."""

import pytest

from podwright.apimachinery.objects import Document
from podwright.online.sync.object_copy import settled
from podwright.online.sync.source_kinds import source_kinds

KINDS = {kind.resource: kind for kind in source_kinds()}
ALLOCATION = {"devices": {"results": [{"request": "r", "device": "gpu-0"}]}}


def pod(uid):
    return KINDS["pods"], {"metadata": {"name": uid, "namespace": "a", "uid": uid}}


def claim(*users, owner="", annotation="pod-claim-name", **status):
    metadata: Document = {"name": "c", "namespace": "a", "uid": "c"}
    if owner:
        metadata["ownerReferences"] = [{"kind": "Pod", "uid": owner, "controller": True}]
        metadata["annotations"] = {f"resource.kubernetes.io/{annotation}": "gpu"}
    if users:
        status["reservedFor"] = [{"resource": "pods", "name": u, "uid": u} for u in users]
    return KINDS["resourceclaims"], {"metadata": metadata, "status": status}


def the_claim(*objects):
    found = [obj for kind, obj in settled(objects) if kind.resource == "resourceclaims"]
    return found[0] if found else None


@pytest.mark.parametrize("annotation", ["pod-claim-name", "extended-resource-claim"])
def test_a_claim_that_was_made_for_a_pod_goes_with_it(annotation):
    given = claim("p", owner="p", annotation=annotation, allocation=ALLOCATION)
    assert the_claim(given, pod("p")) == given[1]
    assert the_claim(given, pod("other")) is None


def test_the_last_user_that_is_left_out_takes_the_devices_with_it():
    given = claim("p", "q", allocation=ALLOCATION, devices=[{"device": "gpu-0"}])
    assert the_claim(given, pod("p"), pod("q")) == given[1]
    one_left = the_claim(given, pod("q"))["status"]
    assert [user["uid"] for user in one_left["reservedFor"]] == ["q"]
    assert one_left["allocation"] == ALLOCATION
    assert the_claim(given)["status"] == {}


def test_a_claim_without_users_stays_as_it_is():
    given = claim(allocation=ALLOCATION)
    assert the_claim(given) == given[1]


def test_other_users_than_pods_are_kept():
    kind, obj = claim("p", allocation=ALLOCATION)
    obj["status"]["reservedFor"][0]["resource"] = "jobs"
    assert the_claim((kind, obj)) == obj
