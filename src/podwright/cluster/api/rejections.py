"""Every rejection of the API, with upstream's reason, code, message and details.

Upstream: staging/src/k8s.io/apimachinery/pkg/api/errors/errors.go;
staging/src/k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/errors.go;
staging/src/k8s.io/apiserver/pkg/admission/errors.go
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from podwright.apimachinery.objects import (
    Document,
    FieldError,
    InvalidObject,
    KubernetesObject,
    PodwrightError,
    api_group,
    go_quoted,
)
from podwright.apimachinery.schema import Problem, reason_of
from podwright.cluster.api.versions.resources import plural_of
from podwright.cluster.store import AlreadyExists, NotFound, ObjectError

MODIFIED: Final = (
    "the object has been modified; please apply your changes to the latest version and try again"
)

_SUMMARY_LENGTH: Final = 30
"""How much of a body is shown in an error, in bytes."""


class Rejection(PodwrightError):  # noqa: N818 - named as the API names it
    """Why a write or another request is rejected; nothing was written then, but by admission.

    Stages return it, and what they call may raise it. HTTP encodes it as a Status of status
    `Failure`.

    Attributes
    ----------
    code : int
        The HTTP status.
    reason : str
        The reason of the Status; "" if it has none.
    message : str
    details, metadata : dict or None
        Of the Status.
    about : tuple of str
        The names of the disruption budgets that reject an eviction.
    """

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: Document | None = None,
        metadata: Document | None = None,
        about: tuple[str, ...] = (),
    ) -> None:
        Exception.__init__(self, message)  # another base of `Invalid` has other arguments
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.metadata = metadata
        self.about = about

    @property
    def status(self) -> Document:
        """The Status."""
        status: Document = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.metadata or {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            status["reason"] = self.reason
        if self.details is not None:
            status["details"] = self.details
        status["code"] = self.code
        return status

    @property
    def retry_after_seconds(self) -> int:
        """When to retry; 0 for no advice."""
        return int((self.details or {}).get("retryAfterSeconds", 0))

    @property
    def causes(self) -> Sequence[Document]:
        """The causes in the details."""
        return (self.details or {}).get("causes") or ()

    def has_cause(self, reason: str) -> bool:
        """Whether one of the causes has a reason, such as `NamespaceTerminating`."""
        return any(each.get("reason") == reason for each in self.causes)


def of_object(error: ObjectError) -> Rejection:
    """Return the error of a store as the rejection that it is."""
    (group, kind), name = error.kind, error.key.rpartition("/")[2]
    plural = plural_of(error.kind)
    if isinstance(error, AlreadyExists):
        return already_exists(group, plural, name, is_terminating=error.is_terminating)
    assert isinstance(error, NotFound), kind
    return not_found(group, plural, name)


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


def bad_request(message: str) -> Rejection:
    """Return the error of a request that cannot be understood."""
    return Rejection(400, "BadRequest", message)


def unclassified_error(message: str) -> Rejection:
    """Return an error without a reason, as upstream answers errors that it does not classify."""
    return Rejection(500, "", message)


def unrecognized(kind: str, message: str, body: bytes) -> Rejection:
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


def unauthorized() -> Rejection:
    """Return the error of invalid credentials."""
    return Rejection(401, "Unauthorized", "Unauthorized")


def forbidden(
    group: str, resource: str, name: str, message: str, causes: Sequence[Document] = ()
) -> Rejection:
    """Return the error of a request that authorization or admission rejects."""
    what = qualified(group, resource)
    if name:
        text = f"{what} {go_quoted(name)} is forbidden: {message}"
    elif what:
        text = f"{what} is forbidden: {message}"
    else:
        text = f"forbidden: {message}"
    return Rejection(403, "Forbidden", text, _details(group, resource, name, causes=list(causes)))


def not_found(group: str, resource: str, name: str) -> Rejection:
    """Return the error of an object that does not exist."""
    message = f"{qualified(group, resource)} {go_quoted(name)} not found"
    return Rejection(404, "NotFound", message, _details(group, resource, name))


def unknown_resource() -> Rejection:
    """Return the error of a resource that no version serves."""
    return Rejection(404, "NotFound", "the server could not find the requested resource", {})


def unknown_path() -> PlainError:
    """Return the error of a path that nothing serves."""
    return PlainError(404, "404 page not found\n")


def method_not_allowed() -> Rejection:
    """Return the error of a method that the path does not have."""
    message = "the server does not allow this method on the requested resource"
    return Rejection(405, "MethodNotAllowed", message, {})


def method_not_supported(group: str, resource: str, action: str) -> Rejection:
    """Return the error of a verb that the kind does not support."""
    message = f'{action} is not supported on resources of kind "{qualified(group, resource)}"'
    return Rejection(405, "MethodNotAllowed", message, _details(group, resource))


def no_representation(types: Iterable[str]) -> Rejection:
    """Return the error of an Accept header that matches no representation of the path."""
    listed = ", ".join(types)
    message = f"406: Not Acceptable\n\nAvailable representations: {listed}"
    return Rejection(406, "NotAcceptable", message, {})


def not_acceptable(message: str) -> Rejection:
    """Return the error of a transformation that is not possible."""
    return Rejection(406, "NotAcceptable", message)


def conflict(group: str, resource: str, name: str, message: str) -> Rejection:
    """Return the error of a write that does not fit the stored object."""
    what = qualified(group, resource)
    text = f"Operation cannot be fulfilled on {what} {go_quoted(name)}: {message}"
    return Rejection(409, "Conflict", text, _details(group, resource, name))


def already_exists(
    group: str, resource: str, name: str, *, is_terminating: bool, has_prefix: bool = False
) -> Rejection:
    """Return the error of a name that is in use.

    Parameters
    ----------
    has_prefix : bool
        Whether the object has a prefix for names as well. Upstream:
        staging/src/k8s.io/apiserver/pkg/registry/rest/create.go, CheckGeneratedNameError
    """
    message = f"{qualified(group, resource)} {go_quoted(name)} already exists"
    details = _details(group, resource, name)
    if has_prefix:
        message += ", the server was not able to generate a unique name for the object"
        details["retryAfterSeconds"] = 1
    if is_terminating:
        message = f"object is being deleted: {message}"
    return Rejection(409, "AlreadyExists", message, details)


def expired(message: str, continue_token: str = "") -> Rejection:
    """Return the error of a version whose history was discarded."""
    metadata = {"continue": continue_token} if continue_token else {}
    return Rejection(410, "Expired", message, metadata=metadata)


def too_large(limit_bytes: int) -> Rejection:
    """Return the error of a body that is too large."""
    message = f"Request entity too large: limit is {limit_bytes}"
    return Rejection(413, "RequestEntityTooLarge", message)


def unsupported_media_type(types: Sequence[str]) -> Rejection:
    """Return the error of a body in an unknown format."""
    message = (
        "the body of the request was in an unknown format - accepted media types include:"
        f" {', '.join(types)}"
    )
    return Rejection(415, "UnsupportedMediaType", message)


def unsupported_content_type() -> Rejection:
    """Return the error of a Content-Type that the path does not consume."""
    return Rejection(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})


def invalid(group: str, kind: str, name: str, problems: Iterable[Problem]) -> Rejection:
    """Return the error of an object that violates rules.

    Parameters
    ----------
    problems : iterable of Problem
        All errors, in upstream's order. The message has the same error once.
    """
    texts: dict[str, None] = {}
    causes: list[Document] = []
    for path, message, _ in problems:
        text = f"{path}: {message}" if path else message
        texts[text] = None
        cause = {"reason": reason_of(message), "message": message, "field": path}
        causes.append({key: value for key, value in cause.items() if value})
    listed = ", ".join(texts)
    if len(texts) > 1:
        listed = f"[{listed}]"
    text = f"{qualified(group, kind)} {go_quoted(name)} is invalid: {listed}"
    return Rejection(422, "Invalid", text, _details(group, kind, name, causes=causes))


def invalid_options(options: str, problems: Iterable[Problem]) -> Rejection:
    """Return the error of query parameters, such as `ListOptions`."""
    return invalid("meta.k8s.io", options, "", problems)


def too_many_requests(message: str, *, cause: Document | None, retry_seconds: int) -> Rejection:
    """Return the error of a request that may succeed later."""
    details: Document = {}
    if cause is not None:
        details["causes"] = [cause]
    if retry_seconds:
        details["retryAfterSeconds"] = retry_seconds
    return Rejection(429, "TooManyRequests", message, details or None)


def internal(message: str) -> Rejection:
    """Return the error of a state with which the server cannot deal."""
    details = {"causes": [{"message": message}]}
    return Rejection(500, "InternalError", f"Internal error occurred: {message}", details)


def version_too_large(requested: int, current: int, kind: str = "") -> Rejection:
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
    return Rejection(504, "Timeout", message, details)


def success(details: Document | None = None, *, code: int = 0) -> Document:
    """Return a Status of status `Success`."""
    status: Document = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    if details:
        status["details"] = details
    if code:
        status["code"] = code
    return status


class Invalid(Rejection, InvalidObject):
    """A typed object violates upstream's rules; for files, it is an error of each field.

    Parameters
    ----------
    obj : KubernetesObject
        The rejected object.
    problems : sequence of Problem
        All errors, at least one.
    """

    def __init__(self, obj: KubernetesObject, problems: Sequence[Problem]) -> None:
        InvalidObject.__init__(
            self,
            [
                FieldError(source=f"{obj.kind} {obj.key}", path=path, message=message, value=value)
                for path, message, value in problems
            ],
        )
        name = obj.name or obj.metadata.generate_name
        found = invalid(api_group(obj.api_version), obj.kind, name, problems)
        Rejection.__init__(self, found.code, found.reason, found.message, found.details)
