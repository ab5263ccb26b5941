"""The verbs of subresources and of computed resources, without a server."""

from __future__ import annotations

import pytest

from podwright.apimachinery.schema import built_in
from podwright.cluster.api.endpoints.kinds.subresources import COMPUTED, HANDLERS, has_tables
from podwright.cluster.api.endpoints.paths import request_info
from podwright.cluster.api.endpoints.request import HttpRequest

PARTS = {"get", "update", "patch"}
CONNECTED = {"get", "create"}


def test_the_verbs_of_each_subresource_are_those_of_upstream() -> None:
    assert {name: {*verbs} for name, verbs in HANDLERS.items()} == {
        "binding": {"create"}, "eviction": {"create"}, "token": {"create"},
        "scale": PARTS, "status": PARTS, "ephemeralcontainers": PARTS, "resize": PARTS,
        "approval": PARTS, "finalize": {"update"}, "log": {"get"}, "exec": CONNECTED,
        "attach": CONNECTED, "portforward": CONNECTED,
        "proxy": {"get", "create", "update", "patch", "delete"},
    }  # fmt: skip


def test_every_subresource_of_a_built_in_kind_has_a_handler() -> None:
    served = {each for kind in built_in() for each in kind.row.subresources if kind.row.resource}
    assert served
    assert served <= HANDLERS.keys()


def test_the_verbs_of_resources_without_objects() -> None:
    created = {
        ("", "bindings"), ("authentication.k8s.io", "selfsubjectreviews"),
        ("authentication.k8s.io", "tokenreviews"),
        ("authorization.k8s.io", "localsubjectaccessreviews"),
        ("authorization.k8s.io", "selfsubjectaccessreviews"),
        ("authorization.k8s.io", "selfsubjectrulesreviews"),
        ("authorization.k8s.io", "subjectaccessreviews"),
    }  # fmt: skip
    read = {("metrics.k8s.io", "nodes"), ("metrics.k8s.io", "pods")}
    assert {key: {*verbs} for key, verbs in COMPUTED.items()} == (
        {key: {"create"} for key in created} | {key: {"get", "list"} for key in read}
    )


@pytest.mark.parametrize(
    ("path", "has"),
    [
        ("/api/v1/namespaces/a/pods/p", True),
        ("/api/v1/namespaces/a/pods", True),
        ("/api/v1/namespaces/a/pods/p/status", True),
        ("/api/v1/namespaces/a/pods/p/binding", False),
        ("/api/v1/namespaces/a/pods/p/eviction", False),
        ("/api/v1/namespaces/a/serviceaccounts/s/token", False),
        ("/api/v1/namespaces/a/bindings", False),
        ("/apis/authentication.k8s.io/v1/tokenreviews", False),
        ("/apis/metrics.k8s.io/v1beta1/nodes", True),
        ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/x", True),
        ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/x/status", False),
        ("/apis/apps/v1/namespaces/a/deployments/d/scale", True),
    ],
)
def test_which_objects_can_be_shown_as_a_table(path: str, has: bool) -> None:
    assert has_tables(request_info(HttpRequest("GET", path))) is has
