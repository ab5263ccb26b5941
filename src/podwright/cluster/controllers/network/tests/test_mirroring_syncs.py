"""What the controller of mirrored endpoints requests in one sync, as whole documents.

Upstream: pkg/controller/endpointslicemirroring/reconciler.go
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from podwright.cluster.controllers.network.endpoint_mirroring import (
    EndpointSliceMirroringController,
)
from podwright.cluster.controllers.tests.single_sync import SingleSync
from podwright.cluster.controllers.tests.staged_cluster import at, document

MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
SERVICE_NAME = "kubernetes.io/service-name"
MANAGER = "endpointslicemirroring-controller.k8s.io"
OWN = {SERVICE_NAME: "web", MANAGED_BY: MANAGER}
OWNER = {
    "apiVersion": "v1", "kind": "Endpoints", "name": "web", "uid": "eu", "controller": True,
    "blockOwnerDeletion": True,
}  # fmt: skip
PORT = {"name": "", "port": 80, "protocol": "TCP"}


def service(**spec: Any) -> Any:
    return document("Service", "web", namespace="shop", metadata={"uid": "su"}, spec=spec)


def endpoints(*subsets: dict[str, Any], **metadata: Any) -> Any:
    metadata = {"uid": "eu"} | metadata
    return document("Endpoints", "web", namespace="shop", metadata=metadata, subsets=list(subsets))


def subset(*ips: str, unready: Any = (), ports: Any = None, **more: Any) -> dict[str, Any]:
    return {
        "addresses": [{"ip": ip} | more for ip in ips],
        "notReadyAddresses": [{"ip": ip} for ip in unready],
        "ports": [{"port": 80, "protocol": "TCP"}] if ports is None else ports,
    }


def a_slice(
    name: str, *ips: str, family: str = "IPv4", ports: Any = None, labels: Any = None,
    **metadata: Any,
) -> Any:  # fmt: skip
    return document(
        "EndpointSlice", name, api="discovery.k8s.io/v1", namespace="shop",
        metadata={
            "uid": f"{name}-uid", "labels": OWN | (labels or {}), "ownerReferences": [OWNER],
            **metadata,
        },
        addressType=family, ports=[PORT] if ports is None else ports,
        endpoints=[{"addresses": [ip], "conditions": {"ready": True}} for ip in ips],
    )  # fmt: skip


def synced(*objects: Any) -> list[Any]:
    found = SingleSync(EndpointSliceMirroringController, *objects).sync("shop/web")
    return [json.loads(each[7:]) if each.startswith("create ") else each for each in found]


ANNOTATED = {
    "note": "kept",
    "endpoints.kubernetes.io/last-change-trigger-time": at(0),
    "kubectl.kubernetes.io/last-applied-configuration": "{}",
}


def test_a_mirrored_slice_has_what_the_endpoints_have() -> None:
    target = {"kind": "Pod", "name": "p", "namespace": "shop"}
    given = {
        "addresses": [{"ip": "10.0.0.2"}, {"ip": "10.0.0.1", "hostname": "h", "nodeName": "n",
                                           "targetRef": target}],
        "notReadyAddresses": [{"ip": "10.0.0.3"}],
        "ports": [{"name": "web", "port": 80, "protocol": "TCP", "appProtocol": "h2c"}],
    }  # fmt: skip
    owned = endpoints(given, labels={"tier": "front"}, annotations=ANNOTATED)
    (found,) = synced(service(), owned)
    assert found == {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "generateName": "web-",
            "namespace": "shop",
            "labels": {"tier": "front", **OWN},
            "annotations": {"note": "kept"},
            "ownerReferences": [OWNER],
        },
        "addressType": "IPv4",
        "ports": given["ports"],
        "endpoints": [
            {
                "addresses": ["10.0.0.1"], "conditions": {"ready": True}, "hostname": "h",
                "nodeName": "n", "targetRef": target,
            },
            {"addresses": ["10.0.0.2"], "conditions": {"ready": True}},
            {"addresses": ["10.0.0.3"], "conditions": {"ready": False}},
        ],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("spec", "metadata", "is_mirrored"),
    [
        pytest.param({}, {}, True, id="without a selector"),
        pytest.param({"selector": {"a": "b"}}, {}, False, id="the service selects pods"),
        pytest.param({"selector": {}}, {}, True, id="with an empty selector"),
        pytest.param(None, {}, False, id="no service"),
        pytest.param({}, {"labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}}, False,
                     id="skipped"),
        pytest.param({}, {"labels": {"endpointslice.kubernetes.io/skip-mirror": "no"}}, True,
                     id="not skipped"),
        pytest.param({}, {"annotations": {"control-plane.alpha.kubernetes.io/leader": ""}}, False,
                     id="a lock of an election"),
        pytest.param({}, {"deletionTimestamp": at(0), "finalizers": ["x"]}, None,
                     id="being deleted"),
    ],
)  # fmt: skip
def test_which_endpoints_are_mirrored(spec, metadata, is_mirrored) -> None:
    services = [] if spec is None else [service(**spec)]
    old = a_slice("old", "10.0.0.9", ports=[])
    found = synced(*services, endpoints(subset("10.0.0.1"), **metadata), old)
    written = ["create" if isinstance(each, dict) else each.split(":")[0] for each in found]
    assert (
        written
        == {
            True: ["update EndpointSlice shop/old main"],
            False: ["delete EndpointSlice shop/old"],
            None: ["update EndpointSlice shop/old main"],
        }[is_mirrored]
    )
    new = synced(*services, endpoints(subset("10.0.0.1"), **metadata))
    assert len(new) == (is_mirrored is True)


def test_slices_of_removed_endpoints_are_deleted() -> None:
    assert synced(service(), a_slice("a", "10.0.0.1"), a_slice("b", family="IPv6")) == [
        "delete EndpointSlice shop/a",
        "delete EndpointSlice shop/b",
    ]
    foreign = {MANAGED_BY: "somebody"}
    others = [a_slice("a", labels=foreign), a_slice("b", labels={SERVICE_NAME: "x"})]
    assert synced(service(), *others) == []


def test_a_slice_is_written_only_if_it_is_another_one() -> None:
    one = endpoints(subset("10.0.0.1"))
    assert synced(service(), one, a_slice("a", "10.0.0.1")) == []
    two = endpoints(subset("10.0.0.1", "10.0.0.2"))
    assert synced(service(), two, a_slice("a", "10.0.0.2", "10.0.0.1")) == [], "in any order"
    owned_by = {kind: [OWNER | {"kind": kind, "uid": "other"}] for kind in ("Endpoints", "Other")}
    named = [OWNER | {"name": "other", "uid": "other"}]
    for owners in (owned_by["Other"], named):
        assert synced(service(), one, a_slice("a", "10.0.0.1", ownerReferences=owners)) == []
    replaced = a_slice("a", "10.0.0.1", ownerReferences=owned_by["Endpoints"])
    assert synced(service(), one, replaced) == [
        f"update EndpointSlice shop/a main: metadata.ownerReferences={json.dumps([OWNER])}"
    ]
    ready = {"addresses": ["10.0.0.1"], "conditions": {"ready": True}}
    rows: dict[str, tuple[Any, Any, str]] = {
        "endpoints": (one, a_slice("a", "10.0.0.2"), f"endpoints={json.dumps([ready])}"),
        "a label more": (
            one, a_slice("a", "10.0.0.1", labels={"x": "y"}), "-metadata.labels.x",
        ),
        "a label less": (
            endpoints(subset("10.0.0.1"), labels={"x": "y"}), a_slice("a", "10.0.0.1"),
            'metadata.labels.x="y"',
        ),
        "an annotation": (
            endpoints(subset("10.0.0.1"), annotations=ANNOTATED), a_slice("a", "10.0.0.1"),
            'metadata.annotations.note="kept"',
        ),
    }  # fmt: skip
    for row, (given, present, change) in rows.items():
        assert synced(service(), given, present) == [
            f"update EndpointSlice shop/a main: {change}"
        ], row


def test_of_several_slices_of_the_same_ports_the_first_stays() -> None:
    same = [a_slice(name, "10.0.0.1") for name in "abc"]
    assert synced(service(), endpoints(subset("10.0.0.1")), *same) == [
        "delete EndpointSlice shop/b",
        "delete EndpointSlice shop/c",
    ]


def test_the_first_of_several_slices_gets_what_is_desired_also_if_another_one_has_it() -> None:
    slices = [a_slice("a", "10.0.0.2"), a_slice("b", "10.0.0.1")]
    update, deletion = synced(service(), endpoints(subset("10.0.0.1")), *slices)
    assert update.startswith("update EndpointSlice shop/a main: endpoints=")
    assert deletion == "delete EndpointSlice shop/b"


OTHER = {"name": "", "port": 81, "protocol": "TCP"}


@pytest.mark.parametrize(
    ("ips", "present", "expected"),
    [
        pytest.param("10.0.0.1", "a4", "update a", id="of its family"),
        pytest.param("10.0.0.1", "a6", "create IPv4; delete a", id="not of another family"),
        pytest.param("10.0.0.1", "a6 b4", "update b; delete a", id="whichever has its family"),
        pytest.param("10.0.0.1", "a4 b4", "update a; delete b", id="one only"),
        pytest.param("10.0.0.1 fd00::1", "a6", "create IPv4; update a", id="the last new one"),
        pytest.param("10.0.0.1 fd00::1", "a6 b4", "update a; update b", id="both"),
    ],
)
def test_a_slice_of_other_ports_becomes_a_new_one(ips, present, expected) -> None:
    """Upstream: reconciler.go, finalize."""
    slices = [a_slice(each[0], family=f"IPv{each[1]}", ports=[OTHER]) for each in present.split()]
    found = [
        f"create {each['addressType']}" if isinstance(each, dict)
        else each.replace("EndpointSlice shop/", "").split(" main")[0]
        for each in synced(service(), endpoints(subset(*ips.split())), *slices)
    ]  # fmt: skip
    assert "; ".join(found) == expected


def test_ports_without_a_name_or_a_number_are_written_as_they_are() -> None:
    ports = [{"name": None, "port": 80, "protocol": "TCP"}, {"name": "b", "port": 81}]
    (found,) = synced(service(), endpoints(subset("10.0.0.1", ports=ports)))
    assert sorted(found["ports"], key=lambda port: port["port"]) == [
        {"name": "", "port": 80, "protocol": "TCP"},
        {"name": "b", "port": 81},
    ]
    (found,) = synced(service(), endpoints(subset("10.0.0.1", ports=[])))
    assert found["ports"] is None


def test_addresses_are_written_in_their_shortest_form() -> None:
    (found,) = synced(service(), endpoints(subset("fd00:0:0::0001")))
    assert found["endpoints"][0]["addresses"] == ["fd00::1"]


@pytest.mark.parametrize(
    ("unready", "skipped"),
    [((), 0), (("10.1.0.1",), 0), (("10.1.0.1", "10.1.0.2"), 1), (("10.1.0.1", "fd00::1"), 1)],
)
def test_what_is_left_out_is_reported_once(unready, skipped) -> None:
    ips = [f"10.0.{index // 250}.{index % 250 + 1}" for index in range(999)]
    *events, made = synced(service(), endpoints(subset(*ips, unready=unready)))
    note = (
        "Warning Endpoints shop/web TooManyAddressesToMirror by"
        " endpoint-slice-mirroring-controller: A max of 1000 addresses can be mirrored to"
        f" EndpointSlices per Endpoints subset. {skipped} addresses were skipped"
    )
    assert events == ([note] if skipped else [])
    assert len(made["endpoints"]) == 999 + len(unready) - skipped


def test_which_key_is_synced() -> None:
    bench = SingleSync(EndpointSliceMirroringController)
    rows: dict[str, tuple[Any, list[str]]] = {
        "endpoints": (endpoints(), ["shop/web"]),
        "a service": (service(), ["shop/web"]),
        "a mirror": (a_slice("a"), ["shop/web"]),
        "another's slice": (a_slice("b", labels={MANAGED_BY: "x"}), []),
    }
    for row, (obj, keys) in rows.items():
        assert bench.put(obj) == keys, row
        assert bench.remove(obj) == keys, row
