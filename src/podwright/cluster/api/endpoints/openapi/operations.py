"""The paths of a resource with their operations.

Parameters that all operations of a path have are those of the path.

Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/installer.go, registerResourceHandlers;
k8s.io/kube-openapi/pkg/builder3/openapi.go
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema import KindRow, built_in
from podwright.cluster.api.endpoints.openapi.names import (
    META,
    GroupVersionNames,
    reference,
    schema_name,
)
from podwright.cluster.api.endpoints.openapi.plain_schemas import PATCH

STATUS: Final = f"{META}.Status"
DELETE_OPTIONS: Final = f"{META}.DeleteOptions"
_WATCH_EVENT: Final = f"{META}.WatchEvent"

_JSON: Final = "application/json"
_YAML: Final = "application/yaml"
_PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
OBJECT_TYPES: Final = (_JSON, _PROTOBUF, _YAML)
_LIST_TYPES: Final = (_JSON, f"{_JSON};stream=watch", _PROTOBUF, f"{_PROTOBUF};stream=watch", _YAML)
_PATCH_TYPES: Final = tuple(
    f"application/{each}"
    for each in ("apply-patch+yaml", "json-patch+json", "merge-patch+json",
                 "strategic-merge-patch+json")
)  # fmt: skip
CUSTOM_TYPES: Final = (_JSON, _YAML)
CUSTOM_PATCH_TYPES: Final = tuple(
    f"application/{each}" for each in ("apply-patch+yaml", "json-patch+json", "merge-patch+json")
)

LISTING: Final = (
    "allowWatchBookmarks", "continue", "fieldSelector", "labelSelector", "limit",
    "resourceVersion", "resourceVersionMatch", "sendInitialEvents", "shardSelector",
    "timeoutSeconds", "watch",
)  # fmt: skip
DELETING: Final = (
    "dryRun", "gracePeriodSeconds", "ignoreStoreReadErrorWithClusterBreakingPotential",
    "orphanDependents", "propagationPolicy",
)  # fmt: skip
WRITING: Final = ("dryRun", "fieldManager", "fieldValidation")
PATCHING: Final = (*WRITING, "force")
_DELETING_MANY: Final = (*DELETING, *(set(LISTING) - {"allowWatchBookmarks", "watch"}))

_PARAMETER_TYPES: Final = {
    "allowWatchBookmarks": "boolean", "follow": "boolean", "force": "boolean",
    "gracePeriodSeconds": "integer", "ignoreStoreReadErrorWithClusterBreakingPotential": "boolean",
    "insecureSkipTLSVerifyBackend": "boolean", "limit": "integer", "limitBytes": "integer",
    "orphanDependents": "boolean", "ports": "integer", "previous": "boolean",
    "sendInitialEvents": "boolean", "sinceSeconds": "integer", "stderr": "boolean",
    "stdin": "boolean", "stdout": "boolean", "tailLines": "integer", "timeoutSeconds": "integer",
    "timestamps": "boolean", "tty": "boolean", "watch": "boolean",
}  # fmt: skip
_STREAMING: Final = ("container", "stderr", "stdin", "stdout", "tty")
_CONNECTING: Final = {
    "attach": _STREAMING,
    "exec": ("command", *_STREAMING),
    "portforward": ("ports",),
    "proxy": ("path",),
}
_LOGGING: Final = (
    "container", "follow", "insecureSkipTLSVerifyBackend", "limitBytes", "pretty", "previous",
    "sinceSeconds", "stream", "tailLines", "timestamps",
)  # fmt: skip
_PROXY_METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch")
_DESCRIPTIONS: Final = {200: "OK", 201: "Created", 202: "Accepted"}
_METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch")


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One operation of a path.

    Attributes
    ----------
    method : str
    id : str
        The operation id.
    tag : str
    description : str
    action : str
        The extension `x-kubernetes-action`; "" if there is none.
    kind : dict or None
        The extension `x-kubernetes-group-version-kind`.
    parameters : tuple of str
        The names of query parameters.
    body : str
        The schema of the request's body; "" if there is none.
    body_types : tuple of str
    is_body_required : bool
    answer : str
        The schema of the reply; "" for text.
    answer_types : tuple of str
    statuses : tuple of int
        The statuses of success.
    """

    method: str
    id: str
    tag: str
    description: str = ""
    action: str = ""
    kind: Document | None = None
    parameters: tuple[str, ...] = ()
    body: str = ""
    body_types: tuple[str, ...] = ("*/*",)
    is_body_required: bool = True
    answer: str = ""
    answer_types: tuple[str, ...] = OBJECT_TYPES
    statuses: tuple[int, ...] = (200,)


def path_item(path: str, operations: Sequence[Operation]) -> Document:
    """Return a path of a document."""
    in_path = [part[1:-1] for part in path.split("/") if part.startswith("{")]
    common = set(operations[0].parameters).intersection(*(each.parameters for each in operations))
    made: Document = {}
    for each in sorted(operations, key=lambda one: _METHODS.index(one.method)):
        made[each.method] = _operation(each, set(each.parameters) - common)
    parameters = [_parameter(name, "path") for name in in_path]
    parameters += [_parameter(name, "query") for name in common]
    if parameters:
        made["parameters"] = sorted(parameters, key=lambda one: (one["name"], one["in"]))
    return made


def _operation(operation: Operation, parameters: Iterable[str]) -> Document:
    made: Document = {"tags": [operation.tag]}
    if operation.description:
        made["description"] = operation.description
    made["operationId"] = operation.id
    if own := [_parameter(name, "query") for name in sorted(parameters)]:
        made["parameters"] = own
    if operation.body:
        content = {"schema": reference(operation.body)}
        made["requestBody"] = {"content": dict.fromkeys(operation.body_types, content)}
        if operation.is_body_required:
            made["requestBody"]["required"] = True
    schema = reference(operation.answer) if operation.answer else {"type": "string"}
    content = {each: {"schema": schema} for each in operation.answer_types}
    made["responses"] = {
        str(status): {"description": _DESCRIPTIONS[status], "content": content}
        for status in operation.statuses
    }
    made["responses"]["401"] = {"description": "Unauthorized"}
    if operation.action:
        made["x-kubernetes-action"] = operation.action
    if operation.kind is not None:
        made["x-kubernetes-group-version-kind"] = operation.kind
    return made


def _article(noun: str) -> str:
    """Return the article of a kind with a space; upstream takes `Endpoints` for a plural."""
    if noun.endswith("s") and not noun.endswith("ss"):
        return ""
    return "an " if noun[0].lower() in "aeiou" else "a "


def _parameter(name: str, place: str) -> Document:
    made: Document = {"name": name, "in": place}
    if place == "path":
        made["required"] = True
    kind = _PARAMETER_TYPES.get(name, "string")
    return made | {"schema": {"type": kind, "uniqueItems": True}}


# ------------------------------------------------------------------- built-in resources


class ResourcePaths:
    """Makes the paths of a built-in resource.

    Parameters
    ----------
    row : KindRow
    """

    def __init__(self, row: KindRow) -> None:
        self._row = row
        self._names = GroupVersionNames(row.group, row.version)
        self._schema = schema_name(row.type)
        self._scope = "Namespaced" if row.namespaced else ""
        start = f"/apis/{row.group}/{row.version}" if row.group else f"/api/{row.version}"
        self._start = start
        self._collection = f"{start}{'/namespaces/{namespace}' if self._scope else ''}"
        self._collection += f"/{row.resource}"
        self._kind = {"group": row.group, "version": row.version, "kind": row.kind}
        # The deletion of a namespace returns it, but upstream documents a Status.
        returns_object = row.returns_deleted and "finalize" not in row.subresources
        self._deleted = self._schema if returns_object else STATUS

    def items(self) -> Iterator[tuple[str, Document]]:
        """Yield the paths with their operations."""
        for path, operations in self._operations():
            if operations:
                yield path, path_item(path, operations)

    def _operations(self) -> Iterator[tuple[str, list[Operation]]]:
        row, scope = self._row, self._scope
        name, verbs = row.kind, set(row.verbs)
        one, many = f"{scope}{name}", f"{self._collection}/{{name}}"
        if scope and "list" in verbs:
            everywhere = self._make("get", "list", f"{name}ForAllNamespaces", action="list")
            yield f"{self._start}/{row.resource}", [everywhere]
        collection = [("get", "list", "list"), ("post", "create", "post"),
                      ("delete", "deletecollection", "deletecollection")]  # fmt: skip
        yield (
            self._collection,
            [
                self._make(method, verb, one, action=action)
                for method, verb, action in collection
                if verb in verbs
            ],
        )
        object_verbs = [("get", "get"), ("put", "update"), ("delete", "delete"), ("patch", "patch")]
        yield (
            many,
            [
                self._make(method, verb, one, action=method)
                for method, verb in object_verbs
                if verb in verbs
            ],
        )
        for part, where in sorted(row.subresources.items()):
            yield from self._subresource(part, where, f"{many}/{part}", f"{one}{part.title()}")
        if "watch" in verbs:
            yield from self._watches(one)

    def _make(self, method: str, verb: str, noun: str, **facts: Any) -> Operation:
        """Return an operation of the resource, or one with other facts."""
        return msgspec.structs.replace(self._plain(method, verb, noun), **facts)

    def _plain(self, method: str, verb: str, noun: str) -> Operation:
        infix = self._names.infix
        words = {"get": "read", "update": "replace", "deletecollection": "delete"}
        middle = f"{infix}Collection" if verb == "deletecollection" else infix
        made = Operation(
            method=method,
            id=f"{words.get(verb, verb)}{middle}{noun}",
            tag=self._names.tag,
            description=self._description(verb),
            action=method,
            kind=self._kind,
            parameters=("pretty",),
            answer=self._schema,
        )
        change = msgspec.structs.replace
        match verb:
            case "list":
                return change(
                    made,
                    parameters=("pretty", *LISTING),
                    answer=f"{self._schema}List",
                    answer_types=_LIST_TYPES,
                )
            case "create":
                return change(
                    made,
                    parameters=("pretty", *WRITING),
                    body=self._schema,
                    statuses=(200, 201, 202),
                )
            case "update":
                return change(
                    made, parameters=("pretty", *WRITING), body=self._schema, statuses=(200, 201)
                )
            case "patch":
                return change(
                    made,
                    parameters=("pretty", *PATCHING),
                    body=PATCH,
                    body_types=_PATCH_TYPES,
                    statuses=(200, 201),
                )
            case "delete" | "deletecollection":
                is_one = verb == "delete"
                return change(
                    made,
                    parameters=("pretty", *(DELETING if is_one else _DELETING_MANY)),
                    body=DELETE_OPTIONS,
                    is_body_required=False,
                    answer=self._deleted if is_one else STATUS,
                    statuses=(200, 202) if is_one else (200,),
                )
            case _:
                return made

    def _description(self, verb: str, part: str = "") -> str:
        """Return the sentence about a verb of the resource, or of a subresource.

        Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/installer.go
        """
        name, of = self._row.kind, f"{part} of " if part else ""
        match verb:
            case "list":
                watch = "or watch " if "watch" in self._row.verbs else ""
                return f"list {watch}objects of kind {name}"
            case "watchlist":
                return (
                    f"watch individual changes to a list of {name}. deprecated: use the 'watch'"
                    " parameter with a list operation instead."
                )
            case "watch":
                return (
                    f"watch changes to an object of kind {name}. deprecated: use the 'watch'"
                    " parameter with a list operation instead, filtered to a single item with the"
                    " 'fieldSelector' parameter."
                )
            case "create" | "delete":
                return f"{verb} {of}{_article(name)}{name}"
            case "deletecollection":
                return f"delete collection of {name}"
            case _:
                pass
        words = {"get": "read", "update": "replace", "patch": "partially update"}
        return f"{words.get(verb, verb)} {of}the specified {name}"

    def _watches(self, one: str) -> Iterator[tuple[str, list[Operation]]]:
        """Yield the deprecated paths of watches."""
        resource, name = self._row.resource, self._row.kind
        start = f"{self._start}/watch"
        collection = self._collection.replace(self._start, start, 1)
        facts: dict[str, Any] = {
            "parameters": ("pretty", *LISTING), "answer": _WATCH_EVENT, "answer_types": _LIST_TYPES,
        }  # fmt: skip

        def watch(noun: str, action: str) -> list[Operation]:
            sentence = self._description(action)
            return [self._make("get", "watch", noun, action=action, description=sentence, **facts)]

        if self._scope:
            yield f"{start}/{resource}", watch(f"{name}ListForAllNamespaces", "watchlist")
        yield collection, watch(f"{one}List", "watchlist")
        yield f"{collection}/{{name}}", watch(one, "watch")

    def _subresource(
        self, part: str, where: str, path: str, noun: str
    ) -> Iterator[tuple[str, list[Operation]]]:
        kind, schema = self._part_kind(where)
        if part in _CONNECTING:
            yield from self._connections(part, path, noun, kind)
            return
        facts: dict[str, Any] = {"kind": kind, "answer": schema}
        verbs = [("get", "get"), ("put", "update"), ("patch", "patch")]
        if part in ("binding", "eviction", "token"):
            verbs = [("post", "create")]
        elif part == "finalize":
            verbs = [("put", "update")]
        elif part == "log":
            verbs = [("get", "get")]
            text = (*OBJECT_TYPES, "text/plain")
            facts |= {"parameters": _LOGGING, "answer": "", "answer_types": text}
        made = [
            self._make(method, verb, noun, description=self._description(verb, part), **facts)
            for method, verb in verbs
        ]
        yield (
            path,
            [
                msgspec.structs.replace(each, body=schema) if each.body not in ("", PATCH) else each
                for each in made
            ],
        )

    def _part_kind(self, where: str) -> tuple[Document, str]:
        """Return the kind of a subresource's objects, and their schema."""
        if not where:
            return self._kind, self._schema
        api_version, _, name = where.rpartition("/")
        group, _, version = api_version.rpartition("/")
        if not version:
            group, version = self._row.group, self._row.version
        known = built_in().find(f"{group}/{version}" if group else version, name)
        schema = schema_name(known.row.type) if known is not None else ""
        return {"group": group, "version": version, "kind": name}, schema

    def _connections(
        self, part: str, path: str, noun: str, kind: Document
    ) -> Iterator[tuple[str, list[Operation]]]:
        methods = _PROXY_METHODS if part == "proxy" else ("get", "post")
        facts: dict[str, Any] = {
            "action": "connect", "kind": kind, "parameters": _CONNECTING[part], "answer": "",
            "answer_types": ("*/*",), "body": "", "statuses": (200,),
        }  # fmt: skip
        ends = [("", "")] + [("/{path}", "WithPath")] * (part == "proxy")
        for end, suffix in ends:
            yield (
                path + end,
                [
                    self._make(
                        method,
                        "connect",
                        noun,
                        id=f"connect{self._names.infix}{method.title()}{noun}{suffix}",
                        description=(
                            f"connect {method.upper()} requests to {part} of {self._row.kind}"
                        ),
                        **facts,
                    )
                    for method in methods
                ],
            )
