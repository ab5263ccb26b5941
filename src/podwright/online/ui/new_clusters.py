"""New clusters of the manifests, dumps and snapshots that users bring to the page.

Each is a process of `podwright up` with a page of its own, on this machine, and ends with the
page that has started it.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import sys
import tempfile
from asyncio.subprocess import STDOUT, Process
from pathlib import Path
from typing import Final

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

BODY_MAX: Final = 1 << 30
CLUSTERS_MAX: Final = 8
NODES_MAX: Final = 5_000
_COMMAND: Final = (sys.executable, "-c", "from podwright._console import main; main()", "up")
_PAGE: Final = re.compile(r"page is at (http://\S+)")
_NAME: Final = re.compile(r"[\w-][\w.-]{0,63}")
_OUTPUT: Final = ".output"
"""The file of what the process prints; the file of a user has another name."""
_LINES_MAX: Final = 12
"""Of what the process printed before it ended: the first problems explain the others."""
_LOOK_SECONDS: Final = 0.1
_END_SECONDS: Final = 5.0


class NewClusters:
    """The clusters that were started from this page."""

    def __init__(self) -> None:
        self._started: list[tuple[Process, Path]] = []

    async def start(self, request: Request) -> Response:
        """Start a cluster of the body, and return the address of its `page`, or the `problem`.

        The query has the `name` of the file, whose ending says the format, and how many equal
        `nodes` are created.
        """
        # A problem is not an error of the request, which browsers would report as one of the page.
        name = Path(request.query_params.get("name", "")).name
        nodes = request.query_params.get("nodes", "0")
        if not _NAME.fullmatch(name) or not nodes.isdecimal() or int(nodes) > NODES_MAX:
            return _problem(f"Enter the name of a file, and at most {NODES_MAX:,} nodes.")
        for ended in [each for each in self._started if each[0].returncode is not None]:
            self._started.remove(ended)
            shutil.rmtree(ended[1], ignore_errors=True)
        if len(self._started) >= CLUSTERS_MAX:
            return _problem(f"{CLUSTERS_MAX} clusters that were started here still run.")
        folder = Path(tempfile.mkdtemp(prefix="podwright-"))
        file, size = folder / name, 0
        try:
            with file.open("wb") as out:
                async for part in request.stream():
                    size += len(part)
                    if size > BODY_MAX:
                        shutil.rmtree(folder)
                        return _problem(f"The file has more than {BODY_MAX >> 20} MiB.")
                    out.write(part)
        except ClientDisconnect:
            shutil.rmtree(folder)
            raise
        except OSError as error:
            shutil.rmtree(folder)
            return _problem(f"The file cannot be kept: {error.strerror}.")
        # After the dashes a name that starts with one is no option.
        options = ("--port", "0", "--ui-port", "0", "--nodes", str(int(nodes)), "--", name)
        printed = folder / _OUTPUT
        with printed.open("wb") as out:
            process = await asyncio.create_subprocess_exec(
                *_COMMAND, *options, cwd=folder, stdout=out, stderr=STDOUT, start_new_session=True
            )
        self._started.append((process, folder))
        while process.returncode is None:
            if found := _PAGE.search(printed.read_text(errors="replace")):
                return JSONResponse({"page": found[1]})
            await asyncio.sleep(_LOOK_SECONDS)
        lines = printed.read_text(errors="replace").strip().splitlines()
        more = [f"and {len(lines) - _LINES_MAX:,} more lines"] if len(lines) > _LINES_MAX else []
        return _problem("\n".join([*lines[:_LINES_MAX], *more]))

    async def close(self) -> None:
        """End all clusters."""
        for process, folder in self._started:
            if process.returncode is None:
                process.terminate()
            try:
                async with asyncio.timeout(_END_SECONDS):
                    await process.wait()
            except TimeoutError:
                process.kill()
                await process.wait()
            shutil.rmtree(folder, ignore_errors=True)


def _problem(text: str) -> Response:
    return JSONResponse({"problem": text})
