"""What the user of the page may do, by SelfSubjectAccessReviews."""

from __future__ import annotations

from typing import Any, Final

from podwright.online.ui.server_requests import RejectedRequest, ServerRequests

_REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


async def may_send(requests: ServerRequests, method: str, path: str) -> bool:
    """Return whether the user may send a request to a path that is no resource.

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
