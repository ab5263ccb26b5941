"""The parts of endpoints: parameters, bodies, problems and their documents, without a server."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any

import msgspec
import pytest
from starlette.requests import Request
from starlette.responses import Response

from podwright.apimachinery.objects import FieldError, InputError
from podwright.online.apiserver.control.endpoints import (
    BODY_MAX,
    Endpoint,
    declared,
    endpoint,
    json_response,
    long_reply,
    read_query,
    routes_of,
)
from podwright.online.apiserver.control.openapi import openapi_document
from podwright.online.apiserver.control.problems import (
    FieldProblem,
    Problem,
    field_problems,
    input_problem,
    problem_response,
    read_body,
    read_json_object,
)
from podwright.simulation.recording import LogError

JSON = ((b"content-type", b"application/json"),)


def request_of(
    *parts: bytes, headers: Any = JSON, query: str = "", method: str = "POST", **scope: Any
) -> Request:
    """Return a request whose body comes in parts, of a client that waits for the reply."""
    rest = list(parts or (b"",))

    async def receive() -> dict[str, Any]:
        if not rest:
            await asyncio.Event().wait()
        body = rest.pop(0)
        return {"type": "http.request", "body": body, "more_body": bool(rest)}

    return Request(
        {
            "type": "http", "method": method, "path": "/x", "headers": list(headers),
            "query_string": query.encode(), "state": {}, **scope,
        },
        receive,
    )  # fmt: skip


class Size(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A size.

    Attributes
    ----------
    most_pods : int
        How many at most.
    """

    most_pods: Annotated[int, msgspec.Meta(ge=0)] = 7
    by_name: bool = False
    name: str | None = None


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", Size()),
        ("mostPods=3&byName=true", Size(3, by_name=True)),
        ("name=a%20b", Size(name="a b")),
        ("name=", Size(name="")),
    ],
)
def test_parameters_have_the_types_of_a_struct_and_its_defaults(query, found):
    assert read_query(request_of(query=query), Size) == found


@pytest.mark.parametrize(
    ("query", "status", "field", "detail"),
    [
        ("most_pods=3", 400, "most_pods",
         "there is no parameter 'most_pods'; there are byName, mostPods, name"),
        ("name=a&name=a", 400, "name", "is given more than once"),
        ("mostPods=-1", 422, "mostPods", "must be an integer >= 0"),
        ("mostPods=x", 422, "mostPods", "must be an integer"),
        ("byName=maybe", 422, "byName", "must be true or false"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_parameter(query, status, field, detail):
    with pytest.raises(Problem) as wrong:
        read_query(request_of(query=query), Size)
    assert (wrong.value.status, wrong.value.field, wrong.value.detail) == (status, field, detail)


def test_what_has_no_parameters_takes_none():
    assert read_query(request_of(), None) is None
    with pytest.raises(Problem) as wrong:
        read_query(request_of(query="a=1"), None)
    assert (wrong.value.status, wrong.value.field) == (400, "a")
    assert wrong.value.detail == "there is no parameter 'a'; there are none"


class Inner(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part."""

    depth: int = 0


class Whole(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A body."""

    inner: Inner = Inner()
    parts: list[Inner] = []


@pytest.mark.parametrize(
    ("body", "status", "field", "detail"),
    [
        (b'{"innr": {}}', 422, "innr", 'unknown field "innr"; did you mean "inner"?'),
        (b'{"zzzzzzz": {}}', 422, "zzzzzzz", 'unknown field "zzzzzzz"; there are inner, parts'),
        (b'{"inner": {"dept": 1}}', 422, "inner.dept", 'unknown field "dept"'),
        (b'{"parts": [{}, {"x": 1}]}', 422, "parts[1].x", 'unknown field "x"'),
        (b'{"inner": {"depth": "1"}}', 422, "inner.depth", "must be an integer"),
        (b"[]", 422, "", "must be an object"),
        (b"{", 400, "", "the body is not JSON: Input data was truncated"),
        (b"[" * 100_000, 422, "", "must be an object"),
        (b'{"inner":', 400, "", "the body is not JSON: Input data was truncated"),
    ],
)
def test_what_is_wrong_with_a_body(body, status, field, detail):
    with pytest.raises(Problem) as wrong:
        asyncio.run(read_body(request_of(body), Whole))
    assert (wrong.value.status, wrong.value.field, wrong.value.detail) == (status, field, detail)


@pytest.mark.parametrize(
    ("body", "status", "detail"),
    [
        (b"[]", 422, "the body must be a JSON object"),
        (b"null", 422, "the body must be a JSON object"),
        (b"{", 400, "the body is not JSON: Input data was truncated"),
        (b'{"a":' * 100_000, 400, "the body is nested too deeply"),
    ],
)
def test_what_is_no_object(body, status, detail):
    with pytest.raises(Problem) as wrong:
        asyncio.run(read_json_object(request_of(body)))
    assert (wrong.value.status, wrong.value.field, wrong.value.detail) == (status, "", detail)


@pytest.mark.parametrize(
    ("content_type", "is_json"),
    [
        ("application/json", True),
        ("Application/JSON; charset=utf-8", True),
        (" application/json ;x", True),
        ("application/yaml", False),
        ("application/jsonx", False),
        ("", False),
    ],
)
def test_a_body_has_the_content_type_of_json(content_type, is_json):
    request = request_of(b'{"a": 1}', headers=[(b"content-type", content_type.encode())])
    if is_json:
        assert asyncio.run(read_json_object(request)) == b'{"a": 1}'
        return
    for read in (read_json_object(request), read_body(request, Whole)):
        with pytest.raises(Problem) as wrong:
            asyncio.run(read)
        assert wrong.value.status == 415
        assert wrong.value.detail == "the body must be JSON, with Content-Type: application/json"


def errors(*paths: str) -> InputError:
    return InputError(FieldError(source="f", path=path, message=f"m{n}")
                      for n, path in enumerate(paths))  # fmt: skip


@pytest.mark.parametrize(
    ("paths", "prefix", "detail", "fields"),
    [
        (["a.b"], "", "m0", ["a.b"]),
        (["a.b", "c"], "", "m0, and 1 more error", ["a.b", "c"]),
        (["a", "b", "c"], "given.", "m0, and 2 more errors", ["given.a", "given.b", "given.c"]),
        ([""], "", "m0", ["f"]),
        ([""], "given.", "m0", ["given.f"]),
    ],
)
def test_the_errors_of_an_input_are_one_problem(paths, prefix, detail, fields):
    found = [FieldProblem(field, f"m{n}") for n, field in enumerate(fields)]
    assert field_problems(errors(*paths), prefix=prefix) == found
    problem = input_problem(errors(*paths), prefix=prefix)
    assert (problem.status, problem.detail, problem.field) == (422, detail, fields[0])
    assert problem.errors == found


def test_a_problem_is_a_document():
    response = problem_response(
        Problem(422, "d", field="f", errors=[FieldProblem("f", "d")]), {"x-a": "b"}
    )
    assert response.status_code == 422
    assert response.headers["content-type"] == "application/problem+json"
    assert response.headers["x-a"] == "b"
    assert json.loads(bytes(response.body)) == {
        "type": "about:blank", "title": "Unprocessable Entity", "status": 422, "detail": "d",
        "field": "f", "errors": [{"field": "f", "detail": "d"}],
    }  # fmt: skip
    assert json.loads(bytes(problem_response(Problem(404, "no")).body)) == {
        "type": "about:blank", "title": "Not Found", "status": 404, "detail": "no"
    }  # fmt: skip


class Reply(msgspec.Struct, frozen=True):
    """A reply."""

    text: str


class Other(msgspec.Struct, frozen=True):
    """Another reply."""

    count: int


class _Endpoints:
    """Some endpoints."""

    @endpoint("GET", "/size/{name}", problems={404: "there is none"})
    async def show(self, name: str, query: Size) -> Reply:
        """Show a size.

        Not this line.
        """
        return Reply(f"{name} {query.most_pods}")

    @endpoint("POST", "/whole", body=dict, changes_nothing=True)
    @endpoint("PUT", "/whole", body=dict, body_max=9, is_at_root=True, summary="Put it")
    async def put(self, body: bytes) -> Reply:
        """Send it."""
        return Reply(body.decode())

    @endpoint("DELETE", "/whole", reply=(Reply, Other), media_type="t", other_media_types=("u",))
    async def remove(self, body: Whole, request: Request) -> Response:
        """Remove it"""
        return Response(f"{body.inner.depth} {request.method}")


TABLE = declared(_Endpoints())


def test_endpoints_are_declared_by_their_functions():
    rows = [
        (each.method, each.url, each.summary, each.body, each.query, each.reply, each.body_max)
        for each in TABLE
    ]
    assert rows == [
        ("GET", "/podwright/v1/size/{name}", "Show a size", None, Size, Reply, BODY_MAX),
        ("POST", "/podwright/v1/whole", "Send it", dict, None, Reply, 1 << 20),
        ("PUT", "/whole", "Put it", dict, None, Reply, 9),
        ("DELETE", "/podwright/v1/whole", "Remove it", Whole, None, (Reply, Other), BODY_MAX),
    ]
    assert [each.changes_nothing for each in TABLE] == [False, True, False, False]
    assert [(each.media_type, each.other_media_types) for each in TABLE] == [
        ("application/json", ())] * 3 + [("t", ("u",))]  # fmt: skip


QUERY_OR_BODY = "the body is not JSON, or the query has unknown or repeated parameters"
ALL = {
    401: "the user is not authenticated",
    403: "the user may not access the path, or the Host or the page is not allowed",
    404: "the path has another form",
    405: "the method is another one",
    413: "the body is too long",
    500: "the server failed; its log has the reason",
    503: "the server is stopping",
}
FORM = "the request has an Origin, and no Content-Type but that of an HTML form"


@pytest.mark.parametrize(
    ("shape", "more"),
    [
        ({"method": "GET"}, {400: "the query has unknown or repeated parameters"}),
        ({"method": "POST"}, {400: "the query has unknown or repeated parameters", 415: FORM}),
        (
            {"method": "PUT", "body": Whole},
            {400: QUERY_OR_BODY, 415: "the content type of the body is not JSON",
             422: "a field of the body is not valid"},
        ),
        (
            {"method": "GET", "query": Size, "problems": {404: "none", 409: "not now"}},
            {400: "the query has unknown or repeated parameters", 404: "none", 409: "not now",
             422: "a parameter or field is not valid"},
        ),
        (
            {"method": "DELETE", "query": Size, "body": Whole},
            {400: QUERY_OR_BODY, 415: "the content type of the body is not JSON",
             422: "a parameter or field is not valid"},
        ),
    ],
)  # fmt: skip
def test_the_statuses_of_an_endpoint_are_those_of_its_parts(shape, more):
    made = Endpoint(path="/x", summary="", handler=TABLE[0].handler, **shape)
    assert list(made.statuses.items()) == sorted((ALL | more).items())


async def answer(
    method: str, path: str, *parts: bytes, headers: Any = JSON, query: str = ""
) -> Any:
    """Return status and body of the endpoint of a path."""
    (route,) = (each for each in routes_of(TABLE) if each.path == path)
    request = request_of(
        *parts, headers=headers, query=query, method=method, path_params={"name": "n"}
    )
    response = await route.endpoint(request)
    return response.body.decode()


@pytest.mark.parametrize(
    ("method", "path", "parts", "query", "text"),
    [
        ("GET", "/podwright/v1/size/{name}", [], "mostPods=2", '{"text":"n 2"}\n'),
        ("HEAD", "/podwright/v1/size/{name}", [], "", '{"text":"n 7"}\n'),
        ("POST", "/podwright/v1/whole", [b'{"a"', b": 1}"], "", '{"text":"{\\"a\\": 1}"}\n'),
        ("PUT", "/whole", [b'{"a":', b"123}"], "", '{"text":"{\\"a\\":123}"}\n'),
        ("DELETE", "/podwright/v1/whole", [b'{"inner": {"depth": 4}}'], "", "4 DELETE"),
    ],
)
def test_an_endpoint_gets_what_its_signature_names(method, path, parts, query, text):
    assert asyncio.run(answer(method, path, *parts, query=query)) == text


@pytest.mark.parametrize(
    ("parts", "length"),
    [([b'{"a":1234}'], "10"), ([b'{"a":1', b"234}"], ""), ([b"1" * 10], "10")],
)
def test_a_body_has_at_most_the_bytes_of_its_endpoint(parts, length):
    headers = [*JSON, *([(b"content-length", length.encode())] if length else [])]
    with pytest.raises(Problem) as wrong:
        asyncio.run(answer("PUT", "/whole", *parts, headers=headers))
    assert wrong.value.status == 413
    assert wrong.value.detail == "the body must have at most 9 bytes"


@pytest.mark.parametrize(
    ("method", "changes_nothing", "is_cancelled"),
    [("GET", False, True), ("POST", True, True), ("POST", False, False)],
    ids=["reads", "has a body and reads", "changes something"],
)
def test_only_a_request_that_reads_ends_with_its_client(method, changes_nothing, is_cancelled):
    async def run() -> tuple[bool, int | None]:
        begun, left, allowed = asyncio.Event(), asyncio.Event(), asyncio.Event()
        ended: list[bool] = []

        async def handle(request: Request) -> Response:
            assert await request.body() == b"{}"
            begun.set()
            try:
                await allowed.wait()
            finally:
                ended.append(allowed.is_set())
            return Response("done")

        (route,) = routes_of(
            [Endpoint(method=method, path="/x", summary="", handler=handle,
                      changes_nothing=changes_nothing)]
        )  # fmt: skip
        messages = [{"type": "http.request", "body": b"{}", "more_body": False}]

        async def receive() -> dict[str, Any]:
            if messages:
                return messages.pop()
            await left.wait()
            return {"type": "http.disconnect"}

        reply = asyncio.ensure_future(
            route.endpoint(Request(dict(request_of().scope, method=method), receive))
        )
        await begun.wait()
        left.set()
        if not is_cancelled:
            allowed.set()
        response = await reply
        return ended[0], response.status_code

    assert asyncio.run(run()) == ((False, 499) if is_cancelled else (True, 200))


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/podwright/v1/size/{name}"), ("PUT", "/whole")]
)
def test_a_client_may_leave_before_its_body_is_there(method, path):
    async def leave() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    (route,) = (each for each in routes_of(TABLE) if each.path == path)
    scope = request_of(method=method, path_params={"name": "n"}).scope
    response = asyncio.run(route.endpoint(Request(scope, leave)))
    assert response.status_code == 499


def test_routes_have_the_methods_of_their_path():
    assert [(each.path, sorted(each.methods or ())) for each in routes_of(TABLE)] == [
        ("/podwright/v1/size/{name}", ["GET", "HEAD"]),
        ("/podwright/v1/whole", ["DELETE", "POST"]),
        ("/whole", ["PUT"]),
    ]


def test_a_reply_in_json_ends_with_a_line():
    response = json_response(Reply("a"))
    assert response.body == b'{"text":"a"}\n'
    assert response.headers["content-type"] == "application/json"


def test_the_document_of_endpoints_as_a_whole():
    found = openapi_document(TABLE, "1.2.3")
    problem = {
        "application/problem+json": {"schema": {"$ref": "#/components/schemas/ProblemDocument"}}
    }

    def responses(each: Endpoint, content: Any) -> Any:
        answers = {"200": {"description": "OK", "content": content}}
        for status, meaning in each.statuses.items():
            answers[str(status)] = {"description": meaning, "content": problem}
        return answers

    def schema(name: str) -> Any:
        return {"schema": {"$ref": f"#/components/schemas/{name}"}}

    show, send, put, remove = TABLE
    body = {"application/json": {"schema": {"type": "object"}}}
    assert found["openapi"] == "3.1.0"
    assert found["info"] == {"title": "podwright", "version": "1.2.3"}
    assert found["security"] == [{"token": []}, {}]
    assert found["components"]["securitySchemes"] == {"token": {"type": "http", "scheme": "bearer"}}
    assert found["paths"] == {
        "/podwright/v1/size/{name}": {
            "get": {
                "operationId": "get-size-name",
                "summary": "Show a size",
                "parameters": [
                    {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}},
                    {"name": "mostPods", "in": "query", "description": "How many at most.",
                     "schema": {"type": "integer", "minimum": 0, "default": 7}},
                    {"name": "byName", "in": "query",
                     "schema": {"type": "boolean", "default": False}},
                    {"name": "name", "in": "query", "schema": {
                        "anyOf": [{"type": "string"}, {"type": "null"}], "default": None}},
                ],
                "responses": responses(show, {"application/json": schema("Reply")}),
            }
        },
        "/podwright/v1/whole": {
            "post": {
                "operationId": "post-whole", "summary": "Send it", "parameters": [],
                "responses": responses(send, {"application/json": schema("Reply")}),
                "requestBody": {"required": True, "content": body},
            },
            "delete": {
                "operationId": "delete-whole", "summary": "Remove it", "parameters": [],
                "responses": responses(remove, {
                    "u": {}, "t": {"schema": {"anyOf": [schema("Reply")["schema"],
                                                        schema("Other")["schema"]]}}}),
                "requestBody": {
                    "required": True, "content": {"application/json": schema("Whole")}
                },
            },
        },
        "/whole": {
            "put": {
                "operationId": "put-whole-at-root", "summary": "Put it", "parameters": [],
                "responses": responses(put, {"application/json": schema("Reply")}),
                "requestBody": {"required": True, "content": body},
            }
        },
    }  # fmt: skip
    assert sorted(found["components"]["schemas"]) == [
        "FieldProblem", "Inner", "Other", "ProblemDocument", "Reply", "Whole"
    ]  # fmt: skip
    fields = found["components"]["schemas"]["FieldProblem"]["properties"]
    assert fields == {
        "field": {"type": "string",
                  "description": 'The path of the field; "" for the whole document.'},
        "detail": {"type": "string", "description": "What is wrong, and what to do."},
    }  # fmt: skip


class _Here:
    """Makes a reply in parts without a reader process."""

    async def parts(self, content: Callable[[], bytes]) -> AsyncIterator[bytes]:
        body = content()
        yield body[:4]
        yield body[4:]


@pytest.mark.parametrize(
    ("accepted", "is_compressed"), [(b"br, gzip", True), (b"identity", False), (None, False)]
)
def test_a_long_reply_is_compressed_for_clients_that_accept_it(
    accepted: bytes | None, is_compressed: bool
) -> None:
    headers = [] if accepted is None else [(b"accept-encoding", accepted)]

    async def main() -> tuple[Any, bytes]:
        readers: Any = _Here()
        response: Any = await long_reply(
            request_of(headers=headers), readers, lambda: b"content", "a/b"
        )
        return response.headers, b"".join([part async for part in response.body_iterator])

    found, body = asyncio.run(main())
    encoding = {"content-encoding": "gzip"} if is_compressed else {}
    assert dict(found) == {"vary": "Accept-Encoding", "content-type": "a/b", **encoding}
    assert (gzip.decompress(body) if is_compressed else body) == b"content"
    assert not is_compressed or body[8] == 4, "the fastest level"


def test_a_long_reply_from_a_log_that_cannot_be_replayed_is_a_problem() -> None:
    def content() -> bytes:
        raise LogError("plugin Slow is not here")

    readers: Any = _Here()
    with pytest.raises(Problem) as wrong:
        asyncio.run(long_reply(request_of(), readers, content, "a/b"))
    assert (wrong.value.status, wrong.value.detail) == (409, "plugin Slow is not here")
