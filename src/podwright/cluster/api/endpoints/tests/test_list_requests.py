"""Queries of lists with their answers, and long lists in parts in every form of replies."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podwright.cluster.api.endpoints import HttpReply, HttpRequest
from podwright.cluster.api.endpoints.read import check_token
from podwright.cluster.api.endpoints.tests.conftest import ADMIN, Server, config_map
from podwright.cluster.api.rejections import Rejection

PATH = "/api/v1/namespaces/default/configmaps"


class Filled(Server):
    """A server with six objects, the last of which came after the version `before`."""

    def __init__(self) -> None:
        super().__init__()
        for number in range(5):
            self.reply("POST", PATH, config_map(f"c{number}"))
        self.before = self.store.resource_version
        self.token = self.reply("GET", f"{PATH}?limit=2")[1]["metadata"]["continue"]
        self.reply("POST", PATH, config_map("c9"))
        self.current = self.store.resource_version

    def list(self, query: str) -> tuple[int, Any]:
        for name, value in (
            ("TOKEN", self.token), ("LATER", self.current + 9), ("BEFORE", self.before),
        ):  # fmt: skip
            query = query.replace(name, str(value))
        return self.reply("GET", f"{PATH}?{query}")


@pytest.fixture(scope="module")
def filled() -> Filled:
    return Filled()


@pytest.mark.parametrize(
    ("query", "count", "is_past", "remaining"),
    [
        ("", 6, False, None),
        ("limit=0", 6, False, None),
        ("limit=-1", 6, False, None),
        ("limit=6", 6, False, None),
        ("limit=5", 5, False, 1),
        ("resourceVersion=0", 6, False, None),
        # The cache has no pages.
        ("resourceVersion=0&limit=2", 6, False, None),
        ("resourceVersion=BEFORE", 6, False, None),
        # With a limit, a version is exact unless the match says otherwise.
        ("resourceVersion=BEFORE&limit=2", 2, True, 3),
        ("resourceVersion=BEFORE&resourceVersionMatch=Exact", 5, True, None),
        ("resourceVersion=BEFORE&resourceVersionMatch=Exact&limit=2", 2, True, 3),
        ("resourceVersion=BEFORE&resourceVersionMatch=NotOlderThan&limit=2", 2, False, 4),
        ("resourceVersion=0&resourceVersionMatch=NotOlderThan&limit=2", 6, False, None),
        # The pages of a list show the state of the first.
        ("continue=TOKEN&limit=2", 2, True, 1),
        ("continue=TOKEN&limit=3", 3, True, None),
        ("continue=TOKEN", 3, True, None),
        ("continue=TOKEN&resourceVersion=0", 3, True, None),
        ("labelSelector=a%3Db", 0, False, None),
        ("labelSelector=%21a&limit=2", 2, False, "unknown"),
        ("fieldSelector=metadata.name%3Dc1&limit=1&resourceVersion=0", 1, False, None),
        ("fieldSelector=metadata.name%3Dc1&limit=1", 1, False, None),
        ("fieldSelector=metadata.name!%3Dc1&limit=1", 1, False, "unknown"),
        ("fieldSelector=metadata.namespace%3Ddefault&limit=9", 6, False, None),
    ],
)
def test_what_a_list_has(filled, query, count, is_past, remaining):
    status, found = filled.list(query)
    assert status == 200, found
    metadata = found["metadata"]
    assert len(found["items"]) == count
    assert int(metadata["resourceVersion"]) == (filled.before if is_past else filled.current)
    assert ("continue" in metadata) == (remaining is not None)
    assert metadata.get("remainingItemCount") == (None if remaining == "unknown" else remaining)


OPTIONS = 'ListOptions.meta.k8s.io "" is invalid: '
TOKEN = "invalid continue token: continue key is not valid: "


@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        ("resourceVersion=LATER", 504, "Timeout: Too large resource version: {later}, current:"
         " {current}"),
        ("resourceVersion=LATER&limit=2&resourceVersionMatch=Exact", 504,
         "Timeout: Too large resource version: {later}, current: {current}"),
        ("resourceVersion=x", 400, 'invalid resource version: resourceVersion: Invalid value: "x":'
         ' strconv.ParseUint: parsing "x": invalid syntax'),
        ("resourceVersionMatch=Exact", 422, OPTIONS + "resourceVersionMatch: Forbidden:"
         " resourceVersionMatch is forbidden unless resourceVersion is provided"),
        ("resourceVersion=0&resourceVersionMatch=Exact", 422, OPTIONS + "resourceVersionMatch:"
         ' Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"'),
        ("resourceVersionMatch=Other&resourceVersion=1", 422, OPTIONS + "resourceVersionMatch:"
         ' Unsupported value: "Other": supported values: "Exact", "NotOlderThan", ""'),
        ("continue=TOKEN&resourceVersion=BEFORE", 400,
         "specifying resource version is not allowed when using continue"),
        ("continue=TOKEN&resourceVersionMatch=NotOlderThan&resourceVersion=0", 422, OPTIONS +
         "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is"
         " provided"),
        ("continue=%21", 400, TOKEN + "illegal base64 data at input byte 0"),
        ("continue=abcde", 400, TOKEN + "illegal base64 data at input byte 4"),
        ("continue=abc", 400, TOKEN + "invalid character 'i' looking for beginning of value"),
        ("labelSelector=%21", 400,
         "unable to parse requirement: found '', expected: identifier"),
        ("fieldSelector=x%3Dy", 400, '"x" is not a known field selector: only "metadata.name",'
         ' "metadata.namespace"'),
        ("sendInitialEvents=true", 422, OPTIONS + "sendInitialEvents: Forbidden: sendInitialEvents"
         " is forbidden for list"),
        ("timeoutSeconds=x", 400, 'strconv.ParseInt: parsing "x": invalid syntax'),
        ("limit=99999999999999999999", 400,
         'strconv.ParseInt: parsing "99999999999999999999": value out of range'),
    ],
)  # fmt: skip
def test_queries_that_are_refused(filled, query, code, message):
    status, found = filled.list(query)
    expected = message.replace("{later}", str(filled.current + 9))
    assert (status, found["message"]) == (code, expected.replace("{current}", str(filled.current)))


@pytest.mark.parametrize(
    ("name", "code", "message"),
    [
        ("c1?resourceVersion=0", 200, None),
        ("c1?resourceVersion=x", 500, 'resourceVersion: Invalid value: "x": strconv.ParseUint:'
         ' parsing "x": invalid syntax'),
        ("nope", 404, 'configmaps "nope" not found'),
        ("a%2Fb", 400, "Name parameter invalid: \"a%2Fb\": may not contain '%'"),
        ("..", 400, "Name parameter invalid: \"..\": may not be '..'"),
    ],
)  # fmt: skip
def test_one_object(filled, name, code, message):
    status, found = filled.reply("GET", f"{PATH}/{name}")
    assert (status, found.get("message")) == (code, message)
    later = f"{PATH}/c1?resourceVersion={filled.current + 1}"
    assert filled.reply("GET", later)[0] == 504
    assert filled.reply("GET", f"{PATH}/c1?resourceVersion={filled.current}")[0] == 200


@pytest.mark.parametrize(
    ("token", "position"),
    [
        ("", None),
        ("abcd", None),
        ("ab", None),
        ("a-_d", None),
        ("a", 0),
        ("abcde", 4),
        ("ab+d", 2),
        ("ab=", 2),
        ("abé", 2),
        ("/", 0),
    ],
)
def test_the_first_byte_that_is_wrong_in_a_token(token, position):
    if position is None:
        check_token(token)
        return
    with pytest.raises(Rejection, match=f"illegal base64 data at input byte {position}$"):
        check_token(token)


FORMS = {
    "JSON": "application/json",
    "indented": "application/json",
    "YAML": "application/yaml",
    "a Table": "application/json;as=Table;v=v1;g=meta.k8s.io",
    "an indented Table": "application/json;as=Table;v=v1;g=meta.k8s.io",
    "metadata": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    "metadata as protobuf": "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;"
    "v=v1;g=meta.k8s.io",
}


_IN_PARTS = FORMS.keys() - {"YAML", "metadata as protobuf"}


@pytest.fixture(scope="module")
def long() -> Server:
    server = Server()
    for number in range(230):
        config = config_map(f"c{number:03}", text="two\nlines") | {"metadata": {
            "name": f"c{number:03}", "labels": {"even": str(number % 2 == 0),
                                                "late": str(number > 210)}}}  # fmt: skip
        server.reply("POST", PATH, config)
    return server


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("query", "is_long"),
    [
        ("", True), ("limit=101", True), ("limit=100", False), ("resourceVersion=0", True),
        ("labelSelector=even%3DTrue", True), ("labelSelector=even%3DNo", False),
        ("labelSelector=late%3DTrue", False), ("fieldSelector=metadata.name%3Dc229", False),
    ],
)  # fmt: skip
def test_a_list_of_more_than_a_part_has_the_bytes_of_a_whole_one(long, form, query, is_long):
    if "indented" in form:
        query = f"{query}&pretty=true"
    bodies = []
    for in_parts in (False, True):
        backend = long.api._backend
        long.api._backend = msgspec.structs.replace(backend, sends_lists_in_parts=in_parts)
        try:
            request = HttpRequest("GET", PATH, query, {"accept": FORMS[form]})
            reply = long.api.handle(request, ADMIN, long.now_ns)
        finally:
            long.api._backend = backend
        assert isinstance(reply, HttpReply)
        assert reply.status == 200
        assert (reply.rest is not None) == (in_parts and is_long and form in _IN_PARTS)
        bodies.append(reply.body + b"".join(reply.rest or ()))
    assert bodies[0] == bodies[1]
    assert len(bodies[0]) > 40
