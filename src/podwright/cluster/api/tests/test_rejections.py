"""Each error of the API: its code, its reason, its words, and its details."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from podwright.apimachinery.objects import FieldError, InputError
from podwright.cluster.api import rejections
from podwright.cluster.api.rejections import Invalid, PlainError, Rejection
from podwright.cluster.store import AlreadyExists, NotFound
from podwright.testing import make_pod

DEPLOYMENT = ("apps", "deployments")
NAMED = {"name": "web", "group": "apps", "kind": "deployments"}


def with_causes(*causes: dict[str, str], **more: Any) -> dict[str, Any]:
    return {**more, "causes": list(causes)}


TAKEN = AlreadyExists(("apps", "Deployment"), "shop/web", is_terminating=False)


@pytest.mark.parametrize(
    ("error", "code", "reason", "message", "details"),
    [
        (rejections.bad_request("why"), 400, "BadRequest", "why", None),
        (rejections.unclassified_error("why"), 500, "", "why", None),
        (rejections.unauthorized(), 401, "Unauthorized", "Unauthorized", None),
        (rejections.forbidden(*DEPLOYMENT, "web", "why"), 403, "Forbidden",
         'deployments.apps "web" is forbidden: why', NAMED),
        (rejections.forbidden("", "pods", "", "why", [{"reason": "r"}]), 403, "Forbidden",
         "pods is forbidden: why", with_causes({"reason": "r"}, kind="pods")),
        (rejections.forbidden(*DEPLOYMENT, "", "why", [{"reason": "r"}]), 403, "Forbidden",
         "deployments.apps is forbidden: why",
         with_causes({"reason": "r"}, group="apps", kind="deployments")),
        (rejections.forbidden("", "", "", "why"), 403, "Forbidden", "forbidden: why", {}),
        (rejections.not_found(*DEPLOYMENT, "web"), 404, "NotFound",
         'deployments.apps "web" not found', NAMED),
        (rejections.not_found("", "pods", "a"), 404, "NotFound", 'pods "a" not found',
         {"name": "a", "kind": "pods"}),
        (rejections.unknown_resource(), 404, "NotFound",
         "the server could not find the requested resource", {}),
        (rejections.method_not_allowed(), 405, "MethodNotAllowed",
         "the server does not allow this method on the requested resource", {}),
        (rejections.method_not_supported(*DEPLOYMENT, "delete"), 405, "MethodNotAllowed",
         'delete is not supported on resources of kind "deployments.apps"',
         {"group": "apps", "kind": "deployments"}),
        (rejections.no_representation(["a/b", "c/d"]), 406, "NotAcceptable",
         "406: Not Acceptable\n\nAvailable representations: a/b, c/d", {}),
        (rejections.not_acceptable("why"), 406, "NotAcceptable", "why", None),
        (rejections.conflict(*DEPLOYMENT, "web", "why"), 409, "Conflict",
         'Operation cannot be fulfilled on deployments.apps "web": why', NAMED),
        (rejections.already_exists(*DEPLOYMENT, "web", is_terminating=False), 409, "AlreadyExists",
         'deployments.apps "web" already exists', NAMED),
        (rejections.already_exists(*DEPLOYMENT, "web", is_terminating=True), 409, "AlreadyExists",
         'object is being deleted: deployments.apps "web" already exists', NAMED),
        (rejections.already_exists("", "pods", "a", is_terminating=True, has_prefix=True), 409,
         "AlreadyExists", 'object is being deleted: pods "a" already exists, the server was not'
         " able to generate a unique name for the object",
         {"name": "a", "kind": "pods", "retryAfterSeconds": 1}),
        (rejections.already_exists("", "pods", "a", is_terminating=False, has_prefix=True), 409,
         "AlreadyExists", 'pods "a" already exists, the server was not able to generate a unique'
         " name for the object", {"name": "a", "kind": "pods", "retryAfterSeconds": 1}),
        (rejections.expired("why"), 410, "Expired", "why", None),
        (rejections.too_large(7), 413, "RequestEntityTooLarge",
         "Request entity too large: limit is 7", None),
        (rejections.unsupported_media_type(["a/b", "c/d"]), 415, "UnsupportedMediaType",
         "the body of the request was in an unknown format - accepted media types include: a/b,"
         " c/d", None),
        (rejections.unsupported_content_type(), 415, "UnsupportedMediaType",
         "415: Unsupported Media Type", {}),
        (rejections.too_many_requests("why", cause=None, retry_seconds=0), 429, "TooManyRequests",
         "why", None),
        (rejections.too_many_requests("why", cause={"reason": "r"}, retry_seconds=0), 429,
         "TooManyRequests", "why", with_causes({"reason": "r"})),
        (rejections.too_many_requests("why", cause=None, retry_seconds=5), 429, "TooManyRequests",
         "why", {"retryAfterSeconds": 5}),
        (rejections.too_many_requests("why", cause={"reason": "r"}, retry_seconds=10), 429,
         "TooManyRequests", "why", with_causes({"reason": "r"}, retryAfterSeconds=10)),
        (rejections.internal("why"), 500, "InternalError", "Internal error occurred: why",
         with_causes({"message": "why"})),
        (rejections.version_too_large(9, 7), 504, "Timeout",
         "Timeout: Too large resource version: 9, current: 7",
         with_causes({"reason": "ResourceVersionTooLarge", "message": "Too large resource version"},
                     retryAfterSeconds=1)),
        (rejections.version_too_large(9, 7, "Event"), 504, "Timeout",
         "Timeout: Too large resource version: 9, current: 7",
         with_causes({"reason": "ResourceVersionTooLarge",
                      "message": "Too large resource version"})),
        (rejections.unrecognized("Pod", "why", b""), 400, "BadRequest",
         "the object provided is unrecognized (must be of type Pod): why (<empty>)", None),
        (rejections.unrecognized("Pod", "why", b"{\xff}"), 400, "BadRequest",
         "the object provided is unrecognized (must be of type Pod): why ({\ufffd})", None),
        (rejections.invalid_options("ListOptions", [("a", "Required value", None)]), 422,
         "Invalid", 'ListOptions.meta.k8s.io "" is invalid: a: Required value',
         with_causes({"reason": "FieldValueRequired", "message": "Required value", "field": "a"},
                     group="meta.k8s.io", kind="ListOptions")),
        (rejections.unrecognized("Pod", "why", b"{" + b"x" * 29), 400, "BadRequest",
         "the object provided is unrecognized (must be of type Pod): why"
         f" ({{{'x' * 29})", None),
        (rejections.unrecognized("Pod", "why", b"{" + b"x" * 30), 400, "BadRequest",
         "the object provided is unrecognized (must be of type Pod): why"
         f" ({{{'x' * 29} ...)", None),
        (rejections.unrecognized("Pod", "why", b"k8s\0"), 400, "BadRequest",
         "the object provided is unrecognized (must be of type Pod): why (6b387300)", None),
        (rejections.unrecognized("DeleteOptions", "why", b"k"), 400, "BadRequest", "why", None),
        (rejections.of_object(NotFound(("apps", "Deployment"), "shop/web")), 404, "NotFound",
         'deployments.apps "web" not found', NAMED),
        (rejections.of_object(TAKEN), 409,
         "AlreadyExists", 'deployments.apps "web" already exists', NAMED),
    ],
)  # fmt: skip
def test_an_error_has_its_status(error, code, reason, message, details):
    assert error.status == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        **({"reason": reason} if reason else {}),
        **({"details": details} if details is not None else {}),
        "code": code,
    }
    assert str(error) == message
    assert error.causes == (details or {}).get("causes", ())
    assert error.retry_after_seconds == (details or {}).get("retryAfterSeconds", 0)


def test_an_expired_list_has_the_token_to_continue_from_now():
    assert rejections.expired("why", "token").status["metadata"] == {"continue": "token"}


def test_a_cause_is_found_by_its_reason():
    error = rejections.forbidden("", "pods", "a", "why", [{"message": "m"}, {"reason": "r"}])
    assert [error.has_cause(each) for each in ("r", "m", "")] == [True, False, False]
    assert not rejections.bad_request("why").has_cause("r")


def test_a_path_that_nothing_serves_is_answered_in_plain_text():
    found = rejections.unknown_path()
    assert isinstance(found, PlainError)
    text = "404 page not found\n"
    assert (found.code, found.text, str(found)) == (404, text, text)


REQUIRED = ("spec.a", "Required value", None)
WRONG = ("spec.b", "Invalid value: 7: why", 7)
CAUSES = [
    {"reason": "FieldValueRequired", "message": "Required value", "field": "spec.a"},
    {"reason": "FieldValueInvalid", "message": "Invalid value: 7: why", "field": "spec.b"},
]


@pytest.mark.parametrize(
    ("problems", "listed", "causes"),
    [
        ([REQUIRED], "spec.a: Required value", CAUSES[:1]),
        ([REQUIRED, WRONG], "[spec.a: Required value, spec.b: Invalid value: 7: why]", CAUSES),
        ([WRONG, WRONG], "spec.b: Invalid value: 7: why", [CAUSES[1]] * 2),
        ([REQUIRED, WRONG, REQUIRED],
         "[spec.a: Required value, spec.b: Invalid value: 7: why]", [*CAUSES, CAUSES[0]]),
        ([("", "Required value", None)], "Required value", [
            {"reason": "FieldValueRequired", "message": "Required value"}]),
    ],
)  # fmt: skip
def test_the_errors_of_an_object_are_listed_once_each(problems, listed, causes):
    found = rejections.invalid("apps", "Deployment", "web", problems)
    assert (found.code, found.reason) == (422, "Invalid")
    assert found.message == f'Deployment.apps "web" is invalid: {listed}'
    named = {"name": "web", "group": "apps", "kind": "Deployment"}
    assert found.details == {**named, "causes": causes}
    options = rejections.invalid_options("ListOptions", problems)
    assert options.message == f'ListOptions.meta.k8s.io "" is invalid: {listed}'
    typed = Invalid(make_pod("p", namespace="shop"), problems)
    assert isinstance(typed, Rejection)
    assert (typed.code, typed.message) == (422, f'Pod "p" is invalid: {listed}')
    assert [(each.source, each.path, each.value) for each in typed.errors] == [
        ("Pod shop/p", path, value) for path, _, value in problems
    ]


@pytest.mark.parametrize(
    "error",
    [
        Invalid(make_pod("p"), [REQUIRED, WRONG]),
        Rejection(429, "TooManyRequests", "later", {"retryAfterSeconds": 1}, about=("web",)),
        PlainError(404, "404 page not found"),
        TAKEN,
        InputError([FieldError(source="f", path="a", message="no")]),
        InputError.of("a", "no"),
    ],
)
def test_an_error_arrives_in_another_process_as_it_is(error):
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert (str(again), again.args, vars(again)) == (str(error), error.args, vars(error))


def test_success_has_details_and_a_code_if_there_are_any():
    plain = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    assert rejections.success() == plain
    assert rejections.success({"name": "a"}, code=201) == {
        **plain, "details": {"name": "a"}, "code": 201,
    }  # fmt: skip
    assert rejections.success({}) == plain
    assert rejections.qualified("", "pods") == "pods"
