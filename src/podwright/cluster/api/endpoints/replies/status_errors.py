"""Every error of the API as a Status, with upstream's reason, code, message and details.

Upstream: staging/src/k8s.io/apimachinery/pkg/api/errors/errors.go;
staging/src/k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/errors.go
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from podwright.apimachinery.objects import Document, PodwrightError, go_quoted
from podwright.apimachinery.schema import Problem
from podwright.cluster.api.admission import Rejected, rejections

_SUMMARY_LENGTH: Final = 30
"""How much of a body is shown in an error, in bytes."""


class ApiError(PodwrightError):
    """A request that is answered with a Status of status `Failure`.

    Attributes
    ----------
    code : int
        The HTTP status.
    status : dict
        The Status.
    """

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: Document | None = None,
        metadata: Document | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.status: Document = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": metadata or {},
            "status": "Failure",
            "message": message,
        }
        if reason:
            self.status["reason"] = reason
        if details is not None:
            self.status["details"] = details
        self.status["code"] = code

    @property
    def reason(self) -> str:
        """The reason of the Status; "" if it has none."""
        return str(self.status.get("reason", ""))

    @property
    def retry_after_seconds(self) -> int:
        """When to retry; 0 for no advice."""
        return int((self.status.get("details") or {}).get("retryAfterSeconds", 0))


class PlainError(PodwrightError):
    """A request that is answered with plain text, such as an unknown path.

    Attributes
    ----------
    code : int
    text : str
    """

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


def _details(group: str, resource: str, name: str = "", **more: Any) -> Document:
    details: Document = {"name": name, "group": group, "kind": resource, **more}
    return {key: value for key, value in details.items() if value}


def qualified(group: str, resource: str) -> str:
    """Return a resource or a kind with its group, such as `deployments.apps`."""
    return f"{resource}.{group}" if group else resource


def bad_request(message: str) -> ApiError:
    """Return the error of a request that cannot be understood."""
    return ApiError(400, "BadRequest", message)


def unclassified_error(message: str) -> ApiError:
    """Return an error without a reason, as upstream answers errors that it does not classify."""
    return ApiError(500, "", message)


def unrecognized(kind: str, message: str, body: bytes) -> ApiError:
    """Return the error of a body that is not recognized as an object."""
    if kind == "DeleteOptions":
        # Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/delete.go, which does not
        # transform the error.
        return bad_request(message)
    return bad_request(
        f"the object provided is unrecognized (must be of type {kind}): {message}"
        f" ({_summary(body)})"
    )


def _summary(body: bytes) -> str:
    if not body:
        return "<empty>"
    text = body[:_SUMMARY_LENGTH]
    shown = text.decode(errors="replace") if body[:1] == b"{" else text.hex()
    return f"{shown} ..." if len(body) > _SUMMARY_LENGTH else shown


def unauthorized() -> ApiError:
    """Return the error of invalid credentials."""
    return ApiError(401, "Unauthorized", "Unauthorized")


def forbidden(group: str, resource: str, name: str, message: str) -> ApiError:
    """Return the error of a request that authorization or admission rejects."""
    what = qualified(group, resource)
    if name:
        text = f"{what} {go_quoted(name)} is forbidden: {message}"
    elif what:
        text = f"{what} is forbidden: {message}"
    else:
        text = f"forbidden: {message}"
    return ApiError(403, "Forbidden", text, _details(group, resource, name))


def of_rejection(error: Rejected) -> ApiError:
    """Return the error of a write that admission rejects."""
    return ApiError(error.code, error.reason, str(error), error.details or None)


def not_found(group: str, resource: str, name: str) -> ApiError:
    """Return the error of an object that does not exist."""
    message = f"{qualified(group, resource)} {go_quoted(name)} not found"
    return ApiError(404, "NotFound", message, _details(group, resource, name))


def unknown_resource() -> ApiError:
    """Return the error of a resource that no version serves."""
    return ApiError(404, "NotFound", "the server could not find the requested resource", {})


def unknown_path() -> PlainError:
    """Return the error of a path that nothing serves."""
    return PlainError(404, "404 page not found\n")


def method_not_allowed() -> ApiError:
    """Return the error of a method that the path does not have."""
    message = "the server does not allow this method on the requested resource"
    return ApiError(405, "MethodNotAllowed", message, {})


def method_not_supported(group: str, resource: str, action: str) -> ApiError:
    """Return the error of a verb that the kind does not support."""
    message = f'{action} is not supported on resources of kind "{qualified(group, resource)}"'
    return ApiError(405, "MethodNotAllowed", message, _details(group, resource))


def no_representation(types: Iterable[str]) -> ApiError:
    """Return the error of an Accept header that matches no representation of the path."""
    listed = ", ".join(types)
    message = f"406: Not Acceptable\n\nAvailable representations: {listed}"
    return ApiError(406, "NotAcceptable", message, {})


def not_acceptable(message: str) -> ApiError:
    """Return the error of a transformation that is not possible."""
    return ApiError(406, "NotAcceptable", message)


def conflict(group: str, resource: str, name: str, message: str) -> ApiError:
    """Return the error of a write that does not fit the stored object."""
    what = qualified(group, resource)
    text = f"Operation cannot be fulfilled on {what} {go_quoted(name)}: {message}"
    return ApiError(409, "Conflict", text, _details(group, resource, name))


def already_exists(group: str, resource: str, name: str, *, is_terminating: bool) -> ApiError:
    """Return the error of a name that is in use."""
    message = f"{qualified(group, resource)} {go_quoted(name)} already exists"
    if is_terminating:
        message = f"object is being deleted: {message}"
    return ApiError(409, "AlreadyExists", message, _details(group, resource, name))


def no_unique_name(group: str, resource: str, name: str, *, is_terminating: bool) -> ApiError:
    """Return the error of a name in use, of an object that has a prefix for names as well.

    Upstream: staging/src/k8s.io/apiserver/pkg/registry/rest/create.go, CheckGeneratedNameError
    """
    message = (
        f"{qualified(group, resource)} {go_quoted(name)} already exists, the server was not able to"
        " generate a unique name for the object"
    )
    if is_terminating:
        message = f"object is being deleted: {message}"
    details = _details(group, resource, name) | {"retryAfterSeconds": 1}
    return ApiError(409, "AlreadyExists", message, details)


def expired(message: str, continue_token: str = "") -> ApiError:
    """Return the error of a version whose history was discarded."""
    metadata = {"continue": continue_token} if continue_token else {}
    return ApiError(410, "Expired", message, metadata=metadata)


def too_large(limit_bytes: int) -> ApiError:
    """Return the error of a body that is too large."""
    message = f"Request entity too large: limit is {limit_bytes}"
    return ApiError(413, "RequestEntityTooLarge", message)


def unsupported_media_type(types: Sequence[str]) -> ApiError:
    """Return the error of a body in an unknown format."""
    message = (
        "the body of the request was in an unknown format - accepted media types include:"
        f" {', '.join(types)}"
    )
    return ApiError(415, "UnsupportedMediaType", message)


def unsupported_content_type() -> ApiError:
    """Return the error of a Content-Type that the path does not consume."""
    return ApiError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})


def invalid(group: str, kind: str, name: str, problems: Iterable[Problem]) -> ApiError:
    """Return the error of an object that violates rules.

    Parameters
    ----------
    problems : iterable of Problem
        All errors, in upstream's order. The message has the same error once.
    """
    return of_rejection(rejections.invalid(group, kind, name, problems))


def invalid_options(options: str, problems: Iterable[Problem]) -> ApiError:
    """Return the error of query parameters, such as `ListOptions`."""
    return invalid("meta.k8s.io", options, "", problems)


def too_many_requests(message: str, *, cause: Document | None, retry_seconds: int) -> ApiError:
    """Return the error of a request that may succeed later."""
    details: Document = {}
    if cause is not None:
        details["causes"] = [cause]
    if retry_seconds:
        details["retryAfterSeconds"] = retry_seconds
    return ApiError(429, "TooManyRequests", message, details or None)


def internal(message: str) -> ApiError:
    """Return the error of a state with which the server cannot deal."""
    details = {"causes": [{"message": message}]}
    return ApiError(500, "InternalError", f"Internal error occurred: {message}", details)


def version_too_large(requested: int, current: int, kind: str = "") -> ApiError:
    """Return the error of a resourceVersion that the store has not reached.

    Events have no watch cache, which says when to try again.

    Notes
    -----
    Upstream: staging/src/k8s.io/apiserver/pkg/storage/errors.go, `NewTooLargeResourceVersionError`.
    """
    message = f"Timeout: Too large resource version: {requested}, current: {current}"
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    details: Document = {"causes": [cause]}
    if kind != "Event":
        details["retryAfterSeconds"] = 1
    return ApiError(504, "Timeout", message, details)


def success(details: Document | None = None, *, code: int = 0) -> Document:
    """Return a Status of status `Success`."""
    status: Document = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    if details:
        status["details"] = details
    if code:
        status["code"] = code
    return status
