"""Requests to a server that may be gone, each with a reply or an error."""

from __future__ import annotations

import json
import ssl
from collections.abc import Sequence
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
import yaml

from podwright.online.sync import SourceKind

_REPLY_SECONDS: Final = 30
_CONTENT_TYPES: Final = {"PATCH": "application/merge-patch+json"}


class Reply(msgspec.Struct, frozen=True):
    """The reply to a request; status 0 stands for none: the request may have been executed."""

    status: int
    body: Any = None

    @property
    def is_success(self) -> bool:
        """Whether the request was executed."""
        return 200 <= self.status < 300


class Client:
    """Sends requests to the cluster of a kubeconfig, one after another."""

    def __init__(self, kubeconfig: Path) -> None:
        document = yaml.safe_load(kubeconfig.read_text())
        self._url = urlsplit(document["clusters"][0]["cluster"]["server"])
        self._token = document["users"][0]["user"].get("token", "")
        self._connection: HTTPConnection | None = None

    def send(self, verb: str, path: str, body: object = None, content_type: str = "") -> Reply:
        """Send a request once; a patch is a merge patch by default."""
        headers = {"Content-Type": content_type or _CONTENT_TYPES.get(verb, "application/json")}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        try:
            connection = self._connection = self._connection or self._opened()
            connection.request(verb, path, None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            raw = response.read()
        except (OSError, HTTPException):
            self.close()
            return Reply(0)
        try:
            return Reply(response.status, json.loads(raw))
        except ValueError:
            return Reply(response.status, raw.decode(errors="replace"))

    def items(self, path: str) -> list[dict[str, Any]] | None:
        """Return the objects of a collection; None if the server did not answer with them."""
        reply = self.send("GET", path)
        return reply.body.get("items") or [] if reply.is_success else None

    def objects(self, kinds: Sequence[SourceKind]) -> dict[tuple[str, str], dict[str, Any]] | None:
        """Return all objects of some kinds, by resource and `namespace/name`; None without reply.

        A kind that the server does not serve has no objects.
        """
        found: dict[tuple[str, str], dict[str, Any]] = {}
        for kind in kinds:
            reply = self.send("GET", kind.path())
            if reply.status == 404 and not kind.is_required:
                continue
            if not reply.is_success:
                return None
            for each in reply.body.get("items") or []:
                found[kind.resource, key_of(each)] = each
        return found

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _opened(self) -> HTTPConnection:
        if self._url.scheme == "https":
            context = ssl._create_unverified_context()
            return HTTPSConnection(self._url.netloc, timeout=_REPLY_SECONDS, context=context)
        return HTTPConnection(self._url.netloc, timeout=_REPLY_SECONDS)


def key_of(document: dict[str, Any]) -> str:
    """Return `namespace/name`, or the name of an object without a namespace."""
    metadata = document["metadata"]
    namespace = metadata.get("namespace", "")
    return f"{namespace}/{metadata['name']}" if namespace else str(metadata["name"])
