"""Objects that etcd would not store are refused as kube-apiserver refuses them.

The statuses, texts and sizes are those of kube-apiserver 1.36 with etcd 3.6.
"""

from __future__ import annotations

from typing import Any

import pytest

from podwright.cluster.api.endpoints.tests.conftest import config_map
from podwright.cluster.api.endpoints.tests.test_custom_resources import definition, version

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
TRAINS = "/apis/example.com/v1/namespaces/default/trains"
MAPS = "/api/v1/namespaces/default/configmaps"
TOO_LARGE = {"message": "etcdserver: request is too large", "code": 500}


def train(name: str, size: int) -> dict[str, Any]:
    """Return a custom object with a long text."""
    return {
        "apiVersion": "example.com/v1",
        "kind": "Train",
        "metadata": {"name": name},
        "spec": {"route": "a" * size},
    }


@pytest.fixture
def trains(server):
    """Return a server that knows a custom kind."""
    any_fields = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    made = definition(version(schema=any_fields))
    assert server.reply("POST", DEFINITIONS, made)[0] == 201
    return server


def is_refused(found: tuple[int, dict[str, Any]]) -> bool:
    status, body = found
    assert status in (200, 201, 500), body
    return status == 500 and {name: body.get(name) for name in TOO_LARGE} == TOO_LARGE


def test_a_custom_object_may_have_one_and_a_half_mebibytes(trains):
    assert not is_refused(trains.reply("POST", TRAINS, train("a", 1_572_300)))
    assert is_refused(trains.reply("POST", TRAINS, train("b", 1_573_000)))
    assert trains.reply("GET", f"{TRAINS}/b")[0] == 404
    assert not is_refused(trains.reply("POST", f"{TRAINS}?dryRun=All", train("c", 1_573_000)))


def test_an_object_that_exists_is_refused_for_its_size_first(trains):
    trains.reply("POST", TRAINS, train("a", 10))
    assert is_refused(trains.reply("POST", TRAINS, train("a", 1_573_000)))


def test_what_is_too_large_with_managed_fields_is_stored_without(server):
    keys = {f"k{number}": "v" for number in range(60_000)}
    status, body = server.reply("POST", MAPS, config_map("many", **keys))
    assert status == 201
    assert "managedFields" not in body["metadata"]
    assert len(server.reply("GET", f"{MAPS}/many")[1]["data"]) == 60_000
    keys = {f"k{number}": "v" for number in range(20_000)}
    assert "managedFields" in server.reply("POST", MAPS, config_map("few", **keys))[1]["metadata"]


def test_patches_make_no_larger_objects(trains):
    trains.reply("POST", TRAINS, train("a", 800_000))
    merge = {"content-type": "application/merge-patch+json"}
    patch = {"spec": {"other": "b" * 800_000}}
    assert is_refused(trains.reply("PATCH", f"{TRAINS}/a", patch, headers=merge))
    copies = [{"op": "copy", "from": "/spec/route", "path": "/spec/other"}]
    headers = {"content-type": "application/json-patch+json"}
    assert is_refused(trains.reply("PATCH", f"{TRAINS}/a", copies, headers=headers))
    small = {"metadata": {"labels": {"a": "b"}}}
    assert not is_refused(trains.reply("PATCH", f"{TRAINS}/a", small, headers=merge))
