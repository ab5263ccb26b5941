"""Changes of objects of every mirrored kind, drawn from a seed, by a client that loses replies."""

from __future__ import annotations

import random
import threading
from collections import Counter
from http import HTTPStatus
from typing import Any, Final

from tests.real_parts.chaos.changed_kinds import CHANGED_KINDS, ChangedKind, Document
from tests.real_parts.chaos.client import Client, Reply

from podwright.online.sync import source_kinds

NAMESPACES: Final = ("default", "chaos")
_NAMES_PER_KIND: Final = 12
"""Few, so that a name is used again by another object."""


class Changes:
    """Draws changes, and requests them.

    What the server has is not read: a change may be refused, or its reply may be lost.

    Parameters
    ----------
    client : Client
        Of the thread that calls `run`.
    seed : int
    pause_seconds : float
        Between two changes.

    Attributes
    ----------
    replies : Counter
        How many requests had a reply of each status; 0 for none.
    """

    def __init__(self, client: Client, seed: int, *, pause_seconds: float = 0.05) -> None:
        self.replies: Counter[int] = Counter()
        self.refused: dict[str, Any] = {}
        """The last refusal of each kind of change but conflicts and absent objects."""
        self._client = client
        self._random = random.Random(f"changes {seed}")
        self._pause_seconds = pause_seconds
        self._kinds = {kind.resource: kind for kind in source_kinds()}
        self._names: dict[str, list[str]] = {}
        self._created: dict[str, list[tuple[str, str]]] = {}

    def prepare(self) -> None:
        """Create the second namespace, and the nodes that stay."""
        for name in NAMESPACES[1:]:
            self._send("POST", self._kinds["namespaces"].path(), {"metadata": {"name": name}})
        nodes = next(each for each in CHANGED_KINDS if each.resource == "nodes")
        for number in range(nodes.kept):
            self._create(nodes, name=f"nodes-{number}")

    def run(self, stop: threading.Event) -> None:
        """Request changes until stopped; run it in a thread beside the faults."""
        while not stop.wait(self._pause_seconds):
            self.step()

    def step(self) -> None:
        """Request one change."""
        weights = [kind.weight for kind in CHANGED_KINDS]
        kind = self._random.choices(CHANGED_KINDS, weights)[0]
        created = self._created.get(kind.resource, [])
        choice = self._random.random()
        if len(created) <= kind.kept or choice < 0.35:
            self._create(kind)
        elif choice < 0.85 and kind.patches:
            self._change(kind)
        else:
            self._delete(kind)

    def _create(self, kind: ChangedKind, *, name: str = "") -> None:
        source = self._kinds[kind.resource]
        name = name or f"{kind.resource}-{self._random.randrange(_NAMES_PER_KIND)}"
        namespace = self._random.choice(NAMESPACES) if source.is_namespaced else ""
        document = kind.make(self._random, self._names)
        document.setdefault("metadata", {})["name"] = name
        document |= {"apiVersion": source.api_version, "kind": source.kind}
        reply = self._send("POST", source.path(namespace), document)
        created = self._created.setdefault(kind.resource, [])
        # A request without a reply may have created it.
        if (reply.is_success or not reply.status) and (namespace, name) not in created:
            created.append((namespace, name))
            self._names.setdefault(kind.resource, []).append(name)

    def _change(self, kind: ChangedKind) -> None:
        namespace, name = self._random.choice(self._created[kind.resource])
        patch = self._random.choice(kind.patches)
        path = self._kinds[kind.resource].path(namespace, name)
        if patch.subresource:
            path = f"{path}/{patch.subresource}"
        self._send("PATCH", path, patch.make(self._random, self._names))

    def _delete(self, kind: ChangedKind) -> None:
        created = self._created[kind.resource]
        namespace, name = created[self._random.randrange(kind.kept, len(created))]
        reply = self._send("DELETE", self._kinds[kind.resource].path(namespace, name))
        if reply.is_success or reply.status == HTTPStatus.NOT_FOUND:
            created.remove((namespace, name))
            self._names[kind.resource].remove(name)

    def _send(self, verb: str, path: str, body: Document | None = None) -> Reply:
        reply = self._client.send(verb, path, body)
        self.replies[reply.status] += 1
        if reply.status in (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY):
            self.refused[f"{verb} {path.rpartition('/')[0]}"] = reply.body
        return reply
