"""Requests of forms to the server: JSON in and out, and errors with the fields they are about."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from podwright.online.ui.upstream import UnreachableServer, Upstream

_STRICT: Final = re.compile(r'(?:unknown|duplicate) field "([^"]+)"')
_JSON: Final = "application/json"
_MERGE: Final = "application/merge-patch+json"
_QUERY: Final = "fieldValidation=Strict"


class Cause(msgspec.Struct, frozen=True):
    """One reason of a rejection.

    Attributes
    ----------
    message : str
    field : str
        The path of the field; empty if the reason is about none.
    """

    message: str
    field: str = ""


class RejectedRequest(Exception):  # noqa: N818 - named for what it is
    """The server rejected a request; the text is the server's.

    Attributes
    ----------
    causes : tuple of Cause
        At least one.
    status : int
        The status of the reply; 0 without one.
    """

    def __init__(self, causes: tuple[Cause, ...], status: int = 0) -> None:
        super().__init__("; ".join(cause.message for cause in causes))
        self.causes = causes
        self.status = status


class ServerRequests:
    """Requests with JSON.

    Parameters
    ----------
    upstream : Upstream
    """

    def __init__(self, upstream: Upstream) -> None:
        self.upstream = upstream

    async def send(self, method: str, path: str, body: Any = None, media_type: str = _JSON) -> Any:
        """Send a request, and return the JSON of the reply.

        Raises
        ------
        RejectedRequest
            The server rejected it, or did not answer.
        """
        headers = {"accept": "application/json"}
        content = None
        if method != "GET":
            content = msgspec.json.encode({} if body is None else body)
            headers["content-type"] = media_type
        try:
            async with self.upstream.open(method, path, headers, content) as response:
                text = await response.aread()
                status = response.status_code
        except UnreachableServer as error:
            raise RejectedRequest((Cause(str(error)),)) from error
        try:
            found = msgspec.json.decode(text) if text else None
        except msgspec.DecodeError:
            found = None
        if status >= 400:
            raise RejectedRequest(causes_of(found, status), status)
        return found

    async def write(self, method: str, path: str, body: Any, *, is_dry_run: bool) -> Any:
        """Create an object (POST) or merge a change into one (PATCH); unknown fields are errors.

        Raises
        ------
        RejectedRequest
            The server rejected it, or did not answer.
        """
        query = f"{_QUERY}&dryRun=All" if is_dry_run else _QUERY
        media_type = _MERGE if method == "PATCH" else _JSON
        return await self.send(method, f"{path}?{query}", body, media_type)

    async def collection_of(self, document: Any) -> str:
        """Return the path at which an object is created.

        Raises
        ------
        RejectedRequest
            The document is not an object, its kind does not exist, or the server does not tell.
        """
        version = document.get("apiVersion") if isinstance(document, Mapping) else None
        kind = document.get("kind") if isinstance(document, Mapping) else None
        if not isinstance(version, str) or not isinstance(kind, str) or not version or not kind:
            raise RejectedRequest((Cause("apiVersion and kind are required.", "kind"),))
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        try:
            found = await self.send("GET", root)
        except RejectedRequest as error:
            if error.status != 404:
                raise
            message = f'The server has no apiVersion "{version}".'
            raise RejectedRequest((Cause(message, "apiVersion"),)) from None
        for resource in found["resources"]:
            if resource["kind"] == kind and "/" not in resource["name"]:
                metadata = document.get("metadata")
                named = metadata.get("namespace") if isinstance(metadata, Mapping) else None
                namespace = f"/namespaces/{named or 'default'}" if resource["namespaced"] else ""
                return f"{root}{namespace}/{resource['name']}"
        message = f'The server has no kind "{kind}" in {version}.'
        raise RejectedRequest((Cause(message, "kind"),))


def causes_of(found: Any, status: int) -> tuple[Cause, ...]:
    """Return the reasons of an error: of a Status, or of a problem document.

    Parameters
    ----------
    found : object
        The JSON of the reply.
    status : int
        Its HTTP status.
    """
    without_text = f"The server answered with status {status}."
    if not isinstance(found, Mapping):
        return (Cause(without_text),)
    problems = found.get("errors")
    if problems:
        return tuple(Cause(_joined(each), str(each.get("field") or "")) for each in problems)
    texts = [found.get(name) for name in ("detail", "message", "title")]
    text = str(next(filter(None, texts), without_text))
    details = found.get("details") or {}
    causes = details.get("causes") or ()
    if causes:
        return tuple(
            Cause(_joined(each), str(each.get("field") or "").removeprefix("<nil>"))
            for each in causes
        )
    unknown = tuple(Cause(match[0], match[1]) for match in _STRICT.finditer(text))
    if unknown:
        return unknown
    return (Cause(text, str(found.get("field") or "")),)


def _joined(cause: Mapping[str, Any]) -> str:
    field, message = cause.get("field"), str(cause.get("message") or cause.get("detail") or "")
    return f"{field}: {message}" if field else message


# What the user of the page may do, by SelfSubjectAccessReviews.

_REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


async def may_send(requests: ServerRequests, method: str, path: str) -> bool:
    """Return whether the user may send a request to a path that is not a resource.

    Parameters
    ----------
    requests : ServerRequests
    method : str
        The HTTP method.
    path : str
        The path of the server.
    """
    review: dict[str, Any] = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"nonResourceAttributes": {"verb": method.lower(), "path": path}},
    }
    try:
        found = await requests.send("POST", _REVIEWS, review)
    except RejectedRequest:
        return False
    return found["status"].get("allowed") is True
