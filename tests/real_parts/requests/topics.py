"""Sequences about one topic each: requests that make objects, then a draw of requests about them.

A topic is a file in `topics`: `setup` is sent whole, in order; of `probes`, some are drawn, in
their order or in a random one. In each request, `<a|b>` in a text and `{$choose: [a, b]}` in a
body stand for one of the parts.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final
from urllib.parse import quote

import msgspec
import yaml
from tests.real_parts.requests.steps import Step

_TYPES: Final = {
    "json": "application/json",
    "yaml": "application/yaml",
    "jsonpatch": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}
_ACCEPTS: Final = {
    "table": "application/json;as=Table;v=v1;g=meta.k8s.io",
    "partial": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "partials": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
}
_PROBES: Final = (8, 16)
_CHOICE: Final = re.compile(r"<([^<>]*\|[^<>]*)>")


class Template(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request with choices.

    Attributes
    ----------
    do : str
        The method, the path and the query, which is not encoded.
    body : any
        A document, or a text that is sent as it is.
    type, accept : str
        Content types, or their short names.
    changes : dict of str to any
        The body is the last answer about the path, with these changes; keys are dotted paths.
    until : int
        The request is repeated until kube-apiserver answers with this status.
    user : str
        Whose bearer token is sent; "" for none.
    headers : dict of str to str
        Further headers.
    """

    do: str
    body: Any = None
    type: str = ""
    accept: str = "application/json"
    changes: dict[str, Any] | None = None
    until: int = 0
    user: str = "admin"
    headers: dict[str, str] = {}


class Topic(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A topic: see the module.

    Attributes
    ----------
    gates : list of str
        The feature gates that are on, with the kinds that they enable.
    """

    setup: list[Template]
    probes: list[Template]
    in_order: bool = False
    gates: list[str] = []


@cache
def topics() -> dict[str, Topic]:
    """Return the topics by name."""
    folder = Path(__file__).parent / "topics"
    return {
        path.stem: msgspec.convert(yaml.load(path.read_text(), yaml.CSafeLoader), Topic)
        for path in sorted(folder.glob("*.yaml"))
    }


def topic_steps(seed: int, name: str = "") -> list[Step]:
    """Return the requests of one seed about a topic.

    By default it is the next one for each seed, of those that need no feature gates.
    """
    known = topics()
    plain = [each for each, topic in known.items() if not topic.gates]
    name = name or plain[seed % len(plain)]
    return _Draw(Random(f"topic {name} {seed}"), known[name]).steps


class _Draw:
    def __init__(self, random: Random, topic: Topic) -> None:
        self._random = random
        self.steps: list[Step] = []
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "{ns}"}}
        self._add(Template("POST /api/v1/namespaces", namespace))
        for each in topic.setup:
            self._add(each)
        count = random.randint(*_PROBES)
        if topic.in_order:
            indices = sorted(random.sample(range(len(topic.probes)), min(count, len(topic.probes))))
            drawn = [topic.probes[index] for index in indices]
        else:
            drawn = random.choices(topic.probes, k=count)
        for each in drawn:
            self._add(each)

    def _add(self, template: Template) -> None:
        method, _, target = self._chosen(template.do).partition(" ")
        path, _, query = target.partition("?")
        pairs = [part.partition("=") for part in query.split("&")] if query else []
        encoded = "&".join(f"{quote(key)}{sign}{quote(value)}" for key, sign, value in pairs)
        accept, kind = self._chosen(template.accept), self._chosen(template.type)
        headers = {"accept": _ACCEPTS.get(accept, accept)}
        if template.user:
            headers["authorization"] = f"Bearer {template.user}-token"
        body = self._chosen(template.body)
        if body is not None or template.changes is not None:
            kind = kind or "json"
            headers["content-type"] = _TYPES.get(kind, kind)
        headers |= self._chosen(template.headers)
        changes = self._chosen(template.changes or {})
        self.steps.append(
            Step(
                f"e{len(self.steps)}",
                method,
                path,
                encoded,
                body if isinstance(body, str) else json.dumps(body or changes or None)[:400],
                headers,
                body,
                self._about(path) if template.changes is not None else [],
                [(_path(key), value) for key, value in changes.items()],
                template.until,
            )
        )

    def _about(self, path: str) -> list[str]:
        """Return the steps whose answer may be the object of a path."""
        return [
            each.id
            for each in self.steps
            if each.path == path or f"{each.path}/{_name(each.body)}" == path
        ]

    def _chosen(self, value: Any) -> Any:
        if isinstance(value, str):
            return _CHOICE.sub(lambda found: self._random.choice(found[1].split("|")), value)
        if isinstance(value, list):
            return [self._chosen(each) for each in value]
        if isinstance(value, dict):
            if "$choose" in value:
                return self._chosen(self._random.choice(value["$choose"]))
            return {name: self._chosen(part) for name, part in value.items()}
        return value


def _path(key: str) -> list[str | int]:
    return [int(part) if part.isdigit() else part for part in key.split(".")]


def _name(body: Any) -> str:
    metadata = body.get("metadata") if isinstance(body, dict) else None
    return str((metadata or {}).get("name"))
