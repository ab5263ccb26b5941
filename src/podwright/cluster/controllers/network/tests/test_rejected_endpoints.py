"""What the controllers of endpoints report about objects that the API server rejects.

Upstream: pkg/controller/endpoint/endpoints_controller.go, syncService;
pkg/controller/endpointslice/endpointslice_controller.go, syncService;
pkg/controller/endpointslicemirroring/reconciler.go, finalize
"""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import ObjectPut
from podwright.cluster.api import CreateObject, RecordEvent, UpdateObject
from podwright.cluster.controllers.controller_loop import ControllerLoop
from podwright.cluster.controllers.interface import (
    ReportedWrite,
    SyncDue,
    SyncNext,
    WriteRejected,
)
from podwright.cluster.controllers.network import (
    EndpointsController,
    EndpointSliceController,
    EndpointSliceMirroringController,
)
from podwright.cluster.controllers.tests.single_sync import SingleSync
from podwright.cluster.controllers.tests.staged_cluster import NOW, SECOND, document

LATER = NOW + 60 * SECOND


def service(**spec: Any) -> Any:
    spec = {"selector": {"app": "web"}, "ports": [{"port": 80}], "clusterIP": "10.0.0.9", **spec}
    return document("Service", "web", namespace="shop", metadata={"uid": "su"}, spec=spec)


def rejected(maker: Any, *objects: Any) -> list[tuple[str, str, str]]:
    """Reject all creations of a controller, and return the Events about them."""
    loop = ControllerLoop([maker])
    for each in objects:
        loop.handle(ObjectPut(each), NOW)
    events: list[RecordEvent] = []
    creations = 0

    def reject(request: CreateObject) -> Exception:
        nonlocal creations
        creations += 1
        found = loop.handle(WriteRejected(request, "full"), LATER)
        events.extend(each for each in found if isinstance(each, RecordEvent))
        return ValueError("full")

    while loop.has_next:
        for action in loop.handle(SyncNext(), NOW):
            assert not isinstance(action, UpdateObject)
            if isinstance(action, ReportedWrite):
                action.execute(reject, events.append)  # type: ignore[arg-type]  # only creations
            elif isinstance(action, CreateObject):
                reject(action)
            elif (event := getattr(action, "event", None)) is not None:
                assert isinstance(event, SyncDue)
                loop.handle(event, LATER)
        if creations:
            break
    assert creations == 1
    return [(each.object_kind, each.reason, each.note) for each in events]


@pytest.mark.parametrize(
    ("maker", "objects", "expected"),
    [
        pytest.param(
            EndpointsController, [service()],
            [("Endpoints", "FailedToCreateEndpoint",
              "Failed to create endpoint for service shop/web: full")], id="endpoints",
        ),
        pytest.param(
            EndpointSliceController, [service()],
            [("Service", "FailedToUpdateEndpointSlices",
              "Error updating Endpoint Slices for Service shop/web: failed to create EndpointSlice"
              " for Service shop/web: full")], id="slices",
        ),
        pytest.param(
            EndpointSliceMirroringController,
            [service(selector=None),
             document("Endpoints", "web", namespace="shop", metadata={"uid": "eu"},
                      subsets=[{"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 80}]}])],
            [], id="mirrored slices",
        ),
    ],
)  # fmt: skip
def test_a_rejected_object_is_reported_as_upstream_reports_it(maker, objects, expected) -> None:
    assert rejected(maker, *objects) == expected


def test_the_label_of_headless_services_alone_writes_no_endpoints() -> None:
    """Upstream: endpoints_controller.go, labelsCorrectForEndpoints"""

    def requests(labels: dict[str, str]) -> list[str]:
        own = {"endpoints.kubernetes.io/managed-by": "endpoint-controller"}
        present = document("Endpoints", "web", namespace="shop", metadata={"labels": own | labels})
        bench = SingleSync(EndpointsController, present, service())
        return bench.sync("shop/web", 60) or bench.sync("shop/web", 61)

    assert requests({}) == []
    assert requests({"service.kubernetes.io/headless": ""}) == []
    assert requests({"another": ""}) != []
