"""What the server makes of a changed object before it is checked, as whole objects."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema import decode
from podwright.cluster.api.gated_fields import disabled_fields
from podwright.cluster.api.rejections import Rejection
from podwright.cluster.api.stages.preparation import prepare_change
from podwright.cluster.api.stages.tests.writes import parts, sent_write
from podwright.cluster.store import ObjectStore

MODIFIED = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


def stored(kind: str, **more: Any) -> Any:
    version, name = kind.split(" ")
    document = {"apiVersion": version, "kind": name, "metadata": {"name": "a", "namespace": "b"}}
    store = ObjectStore()
    return store.put(decode(document | more)).object


def change(kind: str, metadata: dict[str, Any], **more: Any) -> Any:
    current = stored(kind)
    new = {"metadata": {"name": "a", **metadata}} | more
    write = sent_write(kind, new, old=current.raw, current=current)
    prepare_change(parts(), write)
    return write.new


def test_versions_are_compared_as_numbers() -> None:
    for kind in ("v1 ConfigMap", "coordination.k8s.io/v1 Lease"):
        for sent in ("2", "02"):
            assert change(kind, {"resourceVersion": sent})["metadata"]["resourceVersion"] == "2"


def test_an_update_without_a_version_has_that_of_the_stored_object() -> None:
    version = stored("v1 ConfigMap").metadata.resource_version
    assert version == "2"
    for sent in ({}, {"resourceVersion": ""}, {"resourceVersion": "0"}, {"resourceVersion": "2"}):
        made = change("v1 ConfigMap", sent, data={"a": "1"})
        assert made["metadata"]["resourceVersion"] == "2", sent
        assert made["data"] == {"a": "1"}


@pytest.mark.parametrize(
    ("kind", "sent", "code", "message"),
    [
        (
            "v1 ConfigMap", "1", 409,
            f'Operation cannot be fulfilled on configmaps "a": {MODIFIED}',
        ),
        (
            "v1 ConfigMap", "3", 409,
            f'Operation cannot be fulfilled on configmaps "a": {MODIFIED}',
        ),
        ("v1 ConfigMap", "x", 500, 'strconv.ParseUint: parsing "x": invalid syntax'),
        (
            "v1 ConfigMap", f"{2**64}", 500,
            'strconv.ParseUint: parsing "18446744073709551616": value out of range',
        ),
        (
            "v1 ConfigMap", f"{2**64 - 1}", 409,
            f'Operation cannot be fulfilled on configmaps "a": {MODIFIED}',
        ),
        (
            "coordination.k8s.io/v1 Lease", "", 422,
            'leases.coordination.k8s.io "a" is invalid: metadata.resourceVersion:'
            " Invalid value: 0: must be specified for an update",
        ),
        (
            "coordination.k8s.io/v1 Lease", "1", 409,
            f'Operation cannot be fulfilled on leases.coordination.k8s.io "a": {MODIFIED}',
        ),
    ],
)  # fmt: skip
def test_an_update_with_another_version(kind: str, sent: str, code: int, message: str) -> None:
    with pytest.raises(Rejection) as error:
        change(kind, {"resourceVersion": sent})
    assert (error.value.status["code"], error.value.status["message"]) == (code, message)


def test_a_change_keeps_what_the_kind_and_the_server_own() -> None:
    kind = "apps/v1 Deployment"
    template = {
        "metadata": {"labels": {"a": "1"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    spec = {"replicas": 1, "selector": {"matchLabels": {"a": "1"}}, "template": template}
    old = stored(kind, spec=spec, status={"replicas": 1})
    old.raw["metadata"]["generation"] = 4
    new = {
        "metadata": {"name": "a", "namespace": "b", "generation": 9, "uid": ""},
        "spec": spec | {"replicas": 2},
        "status": {"replicas": 9},
    }
    write = sent_write(kind, new, old=old.raw, current=old)
    prepare_change(parts(), write)
    assert write.new == {
        "metadata": {
            "name": "a", "namespace": "b", "generation": 5, "resourceVersion": "2",
            "uid": old.raw["metadata"].get("uid"),
        },
        "spec": spec | {"replicas": 2},
        "status": {"replicas": 1},
    }  # fmt: skip
    status = sent_write(kind, new, old=old.raw, current=old, subresource="status")
    prepare_change(parts(), status)
    assert status.new["spec"] == spec
    assert status.new["status"] == {"replicas": 9}
    assert status.new["metadata"]["generation"] == 4


def test_a_change_loses_new_fields_of_gates_that_are_off() -> None:
    kind, field = "resource.k8s.io/v1 DeviceClass", {"extendedResourceName": "a.b/c"}
    gated = disabled_fields(frozenset({"DRAExtendedResource"}))
    for before, disabled, after in (({}, gated, {}), (field, gated, field), ({}, {}, field)):
        old = stored(kind, spec=before)
        new = old.raw | {"spec": field}
        write = sent_write(kind, new, old=old.raw, current=old, namespace="")
        prepare_change(parts(disabled_fields=disabled), write)
        assert write.new["spec"] == after, (before, disabled)
        # Without the field nothing has changed, so that the generation does not count.
        assert write.new["metadata"].get("generation") == (None if before == after else 1)


def test_an_empty_list_of_a_network_policy_is_a_change() -> None:
    kind = "networking.k8s.io/v1 NetworkPolicy"
    old = stored(kind, spec={"podSelector": {}})
    old.raw["metadata"]["generation"] = 4
    for sent, formed, spec, generation in (
        ({"podSelector": {}}, {"podSelector": {}}, {"podSelector": {}}, 4),
        (
            {"podSelector": {}, "ingress": []},
            {"podSelector": {}},
            {"podSelector": {}, "ingress": []},
            5,
        ),
    ):
        write = sent_write(
            kind, old.raw | {"spec": formed}, old=old.raw, current=old, sent={"spec": sent}
        )
        prepare_change(parts(), write)
        assert write.new["spec"] == spec
        assert write.new["metadata"]["generation"] == generation
    # Lists of other kinds are as they were decoded.
    kind = "apps/v1 Deployment"
    old = stored(kind, spec={"replicas": 1})
    write = sent_write(
        kind, old.raw, old=old.raw, current=old, sent={"spec": {"replicas": 1, "template": {}}}
    )
    prepare_change(parts(), write)
    assert write.new["spec"] == {"replicas": 1}
