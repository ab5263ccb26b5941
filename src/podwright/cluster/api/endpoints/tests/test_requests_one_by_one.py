"""Requests one by one: writes and paths with the status, the message and the warnings.

A row is the method, the path, the body, its type, the status, the message or the kind of the reply,
and the warnings; a shown document and a uid are replaced by a word.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from podwright.cluster.api.endpoints import HttpReply
from podwright.cluster.api.endpoints.tests.conftest import Server, config_map
from podwright.cluster.api.endpoints.tests.test_custom_resources import TRAINS, define, train

CM = "/api/v1/namespaces/default/configmaps"
PRESERVED = (
    "child pods are preserved by default when jobs are deleted; set"
    " propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress"
    " this warning"
)
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"

WRITES_ROWS: list[Any] = [
    (
        "PUT",
        f"{CM}/a",
        {"metadata": {"name": "a", "uid": "x"}},
        "json",
        409,
        (
            'Operation cannot be fulfilled on configmaps "a": StorageError: invalid object,'
            " Code: 4, Key: /registry/configmaps/default/a, ResourceVersion: 0,"
            " AdditionalErrorMsg: Precondition failed: UID in precondition: x, UID in"
            " object meta: UID"
        ),
        [],
    ),
    (
        "PUT",
        f"{CM}/absent",
        {"metadata": {"name": "absent"}},
        "json",
        404,
        'configmaps "absent" not found',
        [],
    ),
    (
        "PUT",
        f"{CM}/a",
        {"metadata": {"name": "b"}},
        "json",
        400,
        "the name of the object (b) does not match the name on the URL (a)",
        [],
    ),
    (
        "PUT",
        f"{CM}/a",
        {"metadata": {}},
        "json",
        400,
        "the name of the object (a based on URL) was undeterminable: name must be provided",
        [],
    ),
    (
        "PUT",
        f"{CM}/a",
        {"metadata": None},
        "json",
        400,
        "the name of the object (a based on URL) was undeterminable: name must be provided",
        [],
    ),
    (
        "PUT",
        f"{CM}/a",
        {},
        "json",
        400,
        "the name of the object (a based on URL) was undeterminable: name must be provided",
        [],
    ),
    (
        "PUT",
        f"{CM}/a",
        {"metadata": {"name": "a", "namespace": "b"}},
        "json",
        400,
        "the namespace of the provided object does not match the namespace sent on the request",
        [],
    ),
    (
        "PUT",
        "/api/v1/namespaces/default/events/e",
        {"metadata": {"name": "e", "uid": "x"}, "involvedObject": {"namespace": "default"}},
        "json",
        409,
        (
            'Operation cannot be fulfilled on events "e": StorageError: invalid object,'
            " Code: 4, Key: /registry/events/default/e, ResourceVersion: 0,"
            " AdditionalErrorMsg: Precondition failed: UID in precondition: x, UID in"
            " object meta: "
        ),
        [],
    ),
    ("PUT", f"{LEASES}/e", {"metadata": {"name": "e"}}, "json", 201, "Lease", []),
    (
        "PUT",
        f"{LEASES}/e",
        {"metadata": {"name": "e", "uid": "x"}},
        "json",
        409,
        (
            'Operation cannot be fulfilled on leases.coordination.k8s.io "e": StorageError:'
            " invalid object, Code: 4, Key: /registry/leases/default/e, ResourceVersion: 0,"
            " AdditionalErrorMsg: Precondition failed: UID in precondition: x, UID in"
            " object meta: "
        ),
        [],
    ),
    (
        "PUT",
        f"{LEASES}/f?dryRun=All",
        {"metadata": {"name": "f", "uid": "x"}},
        "json",
        409,
        (
            'Operation cannot be fulfilled on leases.coordination.k8s.io "f": StorageError:'
            " invalid object, Code: 4, Key: /leases/default/f, ResourceVersion: 0,"
            " AdditionalErrorMsg: Precondition failed: UID in precondition: x, UID in"
            " object meta: "
        ),
        [],
    ),
    (
        "PUT",
        f"{LEASES}/f",
        {"metadata": {"name": "f", "resourceVersion": "x"}},
        "json",
        500,
        'strconv.ParseUint: parsing "x": invalid syntax',
        [],
    ),
    (
        "POST",
        "/api/v1/nodes",
        {"metadata": {"name": "n", "namespace": "default"}},
        "json",
        201,
        "Node",
        [],
    ),
    (
        "POST",
        "/api/v1/nodes",
        {"metadata": {"name": "n2", "namespace": ""}},
        "json",
        201,
        "Node",
        [],
    ),
    (
        "POST",
        f"{TRAINS}",
        {"metadata": {"name": "t2"}},
        "json",
        400,
        (
            "the object provided is unrecognized (must be of type Train): Object 'Kind' is"
            ' missing in \'{"metadata": {"name": "t2"}}\' ({"metadata": {"name": "t2"}})'
        ),
        [],
    ),
    (
        "POST",
        f"{TRAINS}",
        {"kind": "Train", "metadata": {"name": "t2"}},
        "json",
        400,
        "the API version in the data () does not match the expected API version (example.com/v1)",
        [],
    ),
    (
        "POST",
        f"{TRAINS}",
        {"apiVersion": None, "kind": "Train", "metadata": {"name": "t2"}},
        "json",
        400,
        (
            'Train in version "" cannot be handled as a Train: .apiVersion accessor error:'
            " <nil> is of the type <nil>, expected string"
        ),
        [],
    ),
    (
        "POST",
        f"{TRAINS}",
        {"apiVersion": "example.com/v2", "kind": "Train", "metadata": {"name": "t2"}},
        "json",
        400,
        (
            "the API version in the data (example.com/v2) does not match the expected API"
            " version (example.com/v1)"
        ),
        [],
    ),
    (
        "POST",
        f"{TRAINS}",
        {"apiVersion": "example.com/v1", "kind": "Train", "metadata": {"name": "t2"}, "spec": 3},
        "json",
        422,
        (
            'Train.example.com "t2" is invalid: [spec: Invalid value: "integer": spec in'
            ' body must be of type object: "integer", <nil>: Invalid value: null: some'
            " validation rules were not checked because the object was invalid; correct the"
            " existing errors to complete validation]"
        ),
        [],
    ),
    (
        "POST",
        f"{TRAINS}",
        {"apiVersion": "example.com/v1", "kind": "Train", "metadata": 3},
        "json",
        400,
        (
            'Train in version "v1" cannot be handled as a Train: json: cannot unmarshal'
            " number into Go struct field Train.metadata of type v1.ObjectMeta"
        ),
        [],
    ),
    (
        "POST",
        f"{TRAINS}?fieldValidation=Strict",
        {
            "apiVersion": "example.com/v7",
            "kind": "Train",
            "metadata": {"name": "t3"},
            "spec": {"wings": 1},
        },
        "json",
        400,
        (
            # Of another version no field is known.
            'Train in version "v7" cannot be handled as a Train: strict decoding error:'
            ' unknown field "spec"'
        ),
        [],
    ),
    (
        "POST",
        f"{TRAINS}?fieldValidation=Strict",
        {
            "apiVersion": "example.com/v1",
            "kind": "Train",
            "metadata": {"name": "t3"},
            "spec": {"wings": 1},
        },
        "json",
        400,
        (
            'Train in version "v1" cannot be handled as a Train: strict decoding error:'
            ' unknown field "spec.wings"'
        ),
        [],
    ),
]

PATHS_ROWS: list[Any] = [
    ("GET", "/api", None, "", 200, "APIVersions", []),
    ("GET", "/api/v2", None, "", 404, "the server could not find the requested resource", []),
    (
        "GET",
        "/api/v1/nosuch",
        None,
        "",
        404,
        "the server could not find the requested resource",
        [],
    ),
    ("GET", "/version/x", None, "", 404, "the server could not find the requested resource", []),
    (
        "GET",
        "/apis/apps/v1/nosuch",
        None,
        "",
        404,
        "the server could not find the requested resource",
        [],
    ),
    (
        "GET",
        "/apis/apps/v9/deployments",
        None,
        "",
        404,
        "the server could not find the requested resource",
        [],
    ),
    ("GET", "/apis/nosuch/v1/x", None, "", 404, "404 page not found\n", []),
    ("GET", "/apis/example.com/v1/nosuch", None, "", 404, "404 page not found\n", []),
    ("GET", "/apis/example.com/v2/trains", None, "", 404, "404 page not found\n", []),
    ("GET", "/nosuch", None, "", 404, "404 page not found\n", []),
    (
        "GET",
        "/api/v1/nodes/n/nosuch",
        None,
        "",
        404,
        "the server could not find the requested resource",
        [],
    ),
    (
        "GET",
        "/api/v1/namespaces/default/nodes",
        None,
        "",
        404,
        "the server could not find the requested resource",
        [],
    ),
    (
        "GET",
        "/api/v1/pods/p",
        None,
        "",
        404,
        "the server could not find the requested resource",
        [],
    ),
    (
        "POST",
        "/api/v1/pods",
        {},
        "json",
        405,
        "the server does not allow this method on the requested resource",
        [],
    ),
    (
        "DELETE",
        "/api/v1/pods",
        None,
        "",
        405,
        "the server does not allow this method on the requested resource",
        [],
    ),
    (
        "POST",
        "/api/v1/namespaces/default/pods/p",
        {},
        "json",
        405,
        "the server does not allow this method on the requested resource",
        [],
    ),
    (
        "POST",
        f"{CM}/a",
        {},
        "json",
        405,
        "the server does not allow this method on the requested resource",
        [],
    ),
    (
        "PUT",
        f"{CM}",
        {},
        "json",
        405,
        "the server does not allow this method on the requested resource",
        [],
    ),
    ("DELETE", "/apis/example.com/v1/trains", None, "", 404, "404 page not found\n", []),
    ("POST", "/apis/example.com/v1/trains", {}, "json", 404, "404 page not found\n", []),
    ("GET", f"{TRAINS}/t1/nosuch", None, "", 404, 'trains.example.com "t1" not found', []),
    ("GET", f"{TRAINS}/t1/status", None, "", 404, 'trains.example.com "t1" not found', []),
    ("PUT", f"{TRAINS}", {}, "json", 400, "name must be provided", []),
    (
        "POST",
        f"{TRAINS}/t1",
        {},
        "json",
        400,
        (
            "the object provided is unrecognized (must be of type Train): Object 'Kind' is"
            " missing in '{}' ({})"
        ),
        [],
    ),
    ("GET", "/api/v1/namespaces//pods", None, "", 200, "PodList", []),
    ("GET", "/api/v1/namespaces//pods/p", None, "", 400, "Namespace parameter required.", []),
    (
        "GET",
        "/apis/example.com/v1/namespaces//trains/t1",
        None,
        "",
        404,
        "404 page not found\n",
        [],
    ),
    ("GET", "/api/v1/namespaces/default/pods/status", None, "", 404, 'pods "status" not found', []),
    (
        "POST",
        "/api/v1/namespaces/default/pods//binding",
        {},
        "json",
        400,
        "name must be provided",
        [],
    ),
    ("DELETE", f"{CM}/absent", None, "", 404, 'configmaps "absent" not found', []),
    (
        "DELETE",
        "/apis/batch/v1/namespaces/default/cronjobs/absent",
        None,
        "",
        404,
        'cronjobs.batch "absent" not found',
        [],
    ),
    *(
        (
            "DELETE",
            f"/apis/batch/v1/namespaces/default/jobs/absent{query}",
            None,
            "",
            404,
            'jobs.batch "absent" not found',
            [PRESERVED] if is_warned else [],
        )
        for query, is_warned in (
            ("", True),
            ("?propagationPolicy=Background", False),
            ("?orphanDependents=true", False),
        )
    ),
]


def plain(text: str) -> str:
    text = re.sub(r'Invalid value: "\{.*\}"', "Invalid value: OBJECT", text)
    return re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "UID", text)


@pytest.fixture(scope="module")
def filled() -> Server:
    """A server with a definition, an object of its kind, and a config map."""
    server = Server()
    define(server)
    assert server.reply("POST", TRAINS, train("t1"))[0] == 201
    return server


def check(filled: Server, row: Any) -> None:
    """Send a request to a server with a fresh config map, and compare the reply."""
    method, path, body, media_type, status, text, warnings = row
    for name in ("a", "n"):
        filled.reply("DELETE", f"{CM}/{name}")
    filled.reply("DELETE", f"{LEASES}/e")
    assert filled.reply("POST", CM, config_map("a", b="1"))[0] == 201
    headers = {"content-type": f"application/{media_type}"} if media_type else {}
    reply = filled.send(method, path, body, headers=headers)
    assert isinstance(reply, HttpReply)
    try:
        document = json.loads(reply.body)
    except ValueError:
        found = reply.body.decode()
    else:
        found = plain(document["message"]) if "message" in document else document["kind"]
    assert (reply.status, found) == (status, text)
    shown = [value for name, value in reply.headers if name == "warning"]
    assert shown == ['299 - "' + each.replace('"', '\\"') + '"' for each in warnings]


@pytest.mark.parametrize("row", [*WRITES_ROWS, *PATHS_ROWS], ids=str)
def test_each_request(filled: Server, row: Any) -> None:
    check(filled, row)
