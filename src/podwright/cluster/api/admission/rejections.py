"""What admission says about a write that it does not allow.

Upstream: staging/src/k8s.io/apiserver/pkg/admission/errors.go
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from podwright.apimachinery.objects import Document, PodwrightError, go_quoted
from podwright.apimachinery.schema import Problem, reason_of


class Rejected(PodwrightError):  # noqa: N818 - named as the API names it
    """Admission rejects a write; the text is the message of the Status.

    Attributes
    ----------
    code : int
        The HTTP status.
    reason : str
        The reason of the Status.
    details : dict
        The details of the Status.
    """

    def __init__(self, message: str, *, code: int, reason: str, details: Document) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.details = details


class Forbidden(Rejected):
    """A write that is not allowed."""

    def __init__(
        self, group: str, resource: str, name: str, message: str, causes: Sequence[Document] = ()
    ) -> None:
        what = qualified(group, resource)
        # Upstream names what has no name yet so.
        name = name or "Unknown"
        text = f"{what} {go_quoted(name)} is forbidden"
        super().__init__(
            f"{text}: {message}",
            code=403,
            reason="Forbidden",
            details=details_of(group, resource, name, causes),
        )


class NamespaceTerminating(Forbidden):
    """Admission rejects a new object in a terminating namespace."""


def qualified(group: str, resource: str) -> str:
    """Return a resource with its group, such as `deployments.apps`."""
    return f"{resource}.{group}" if group else resource


def details_of(group: str, resource: str, name: str, causes: Sequence[Document] = ()) -> Document:
    """Return the details of a Status about an object."""
    details = {"name": name, "group": group, "kind": resource, "causes": list(causes)}
    return {key: value for key, value in details.items() if value}


def not_found(group: str, resource: str, name: str) -> Rejected:
    """Return the rejection of a write that refers to an object that does not exist."""
    return Rejected(
        f"{qualified(group, resource)} {go_quoted(name)} not found",
        code=404,
        reason="NotFound",
        details=details_of(group, resource, name),
    )


def invalid(group: str, kind: str, name: str, problems: Iterable[Problem]) -> Rejected:
    """Return the rejection of an object that violates rules.

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
    return Rejected(
        f"{qualified(group, kind)} {go_quoted(name)} is invalid: {listed}",
        code=422,
        reason="Invalid",
        details=details_of(group, kind, name, causes),
    )
