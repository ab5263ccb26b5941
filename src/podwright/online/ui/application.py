"""The application of the page: NiceGUI's pages, the elements, and the way to the server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from fastapi import FastAPI
from nicegui import ui
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from podwright.online.ui.manifests import InvalidText, read_documents
from podwright.online.ui.new_clusters import NewClusters
from podwright.online.ui.pages import add_pages
from podwright.online.ui.pass_through import COMPARED_PREFIX, METHODS, PREFIX, PassThrough
from podwright.online.ui.upstream import Upstream

PICTURES: Final = Path(__file__).parent / "pictures"


class _Pictures(StaticFiles):
    """The modules of the elements; a browser checks each time whether they have changed."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return a file."""
        response = await super().get_response(path, scope)
        response.headers["cache-control"] = "no-cache"
        return response


async def read_document(request: Request) -> Response:
    """Return a text of YAML or JSON as `document`, or its `problem`: browsers read no YAML."""
    # A problem is not an error of the request, which browsers would report as one of the page.
    try:
        found = read_documents((await request.body()).decode())
    except UnicodeDecodeError:
        return JSONResponse({"problem": "The text is not UTF-8."})
    except InvalidText as error:
        where = f"line {error.error.line}: " if error.error.line else ""
        return JSONResponse({"problem": f"{where}{error}"})
    if len(found) > 1:
        return JSONResponse({"problem": f"There are {len(found)} documents; enter one."})
    return JSONResponse({"document": found[0].value})


def new_application(upstream: Upstream, compared: Upstream | None = None) -> FastAPI:
    """Return the application; there is one in a process, because NiceGUI has global state.

    Parameters
    ----------
    upstream : Upstream
        The server of the page.
    compared : Upstream, optional
        Another server to compare with, which the page only reads.
    """
    passed = PassThrough(upstream)
    clusters = NewClusters()

    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        yield
        await clusters.close()
        await upstream.close()
        if compared is not None:
            await compared.close()

    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, lifespan=lifespan)
    app.router.add_route(f"{PREFIX}/{{path:path}}", passed.forward, methods=list(METHODS))
    app.router.add_route("/feeds/state", passed.follow_state, methods=["GET"])
    app.router.add_route("/documents", read_document, methods=["POST"])
    app.router.add_route("/clusters", clusters.start, methods=["POST"])
    if compared is not None:
        other = PassThrough(compared, COMPARED_PREFIX)
        app.router.add_route(f"{COMPARED_PREFIX}/{{path:path}}", other.forward, methods=["GET"])
    app.mount("/pictures", _Pictures(directory=PICTURES))
    add_pages(upstream, compared)
    ui.run_with(
        app, title="podwright", dark=None, tailwind=False, show_welcome_message=False,
        favicon=PICTURES / "favicon.svg",
    )  # fmt: skip
    return app
