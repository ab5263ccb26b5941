"""Cross-origin resource sharing: pages of some other origins may read the replies."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

METHODS: Final = ("GET", "HEAD", "PUT", "PATCH", "POST", "DELETE")


def with_cors(application: Any, origins: Collection[str]) -> Any:
    """Return an ASGI application that answers preflight requests and marks its replies.

    Parameters
    ----------
    application : ASGI application
    origins : collection of str
        Such as `http://localhost:3000`.
    """
    # Starlette takes a tenth of a second to import.
    from starlette.middleware.cors import CORSMiddleware

    return CORSMiddleware(
        application,
        allow_origins=sorted(origins),
        allow_credentials=True,
        allow_methods=METHODS,
        allow_headers=["*"],
        expose_headers=["Warning"],
    )
