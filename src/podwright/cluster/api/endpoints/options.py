"""The options of requests: ListOptions, CreateOptions and so on, from the query.

Upstream: staging/src/k8s.io/apimachinery/pkg/apis/meta/internalversion/validation/validation.go;
staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/validation/validation.go;
staging/src/k8s.io/apimachinery/pkg/runtime/converter.go
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias, cast

import msgspec

from podwright._interludes import interlude
from podwright.apimachinery.objects import (
    EVERYTHING,
    FieldSelector,
    Selector,
    SelectorError,
    go_quoted,
    integer_error,
    parse_duration,
    parse_field_selector,
    parse_int64,
    parse_label_selector,
    parse_uint64,
)
from podwright.apimachinery.schema import Problem
from podwright.cluster.api.deletion import DeleteOptions
from podwright.cluster.api.endpoints.decoding.body_fields import FieldValidation
from podwright.cluster.api.endpoints.decoding.go_type_errors import go_kind
from podwright.cluster.api.endpoints.paths import RequestInfo
from podwright.cluster.api.endpoints.request import HttpRequest, is_true, parse_query
from podwright.cluster.api.rejections import (
    Rejection,
    bad_request,
    invalid_options,
    unclassified_error,
)

VersionMatch: TypeAlias = Literal["", "Exact", "NotOlderThan"]

_FIELD_VALIDATIONS: Final = ("Ignore", "Strict", "Warn")
_LONG_RUNNING: Final = frozenset({"attach", "exec", "log", "portforward", "proxy"})
_MANAGER_MAX_BYTES: Final = 128
SELECTOR_MAX_BYTES: Final = 256 * 1024


class ListOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a list, a watch or a deletion of a collection selects.

    Attributes
    ----------
    labels : Selector
    fields : FieldSelector
    limit : int
        0 for no limit.
    continue_token : str
    resource_version : str
        "" for the most recent state.
    version_match : str
    sends_initial_events : bool or None
        None if the parameter is absent.
    allows_bookmarks : bool
    timeout_seconds : int or None
    """

    labels: Selector
    fields: FieldSelector
    limit: int
    continue_token: str
    resource_version: str
    version_match: VersionMatch
    sends_initial_events: bool | None
    allows_bookmarks: bool
    timeout_seconds: int | None


class WriteOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a create, update or patch request.

    Attributes
    ----------
    is_dry_run : bool
    field_manager : str
        "" if the parameter is absent.
    field_validation : str
    force : bool or None
        Whether an apply request takes fields over from other managers.
    document : dict
        The options as admission sees them.
    """

    is_dry_run: bool = False
    field_manager: str = ""
    field_validation: FieldValidation = "Warn"
    force: bool | None = None
    document: dict[str, Any] = {}


def integer(request: HttpRequest, name: str) -> int | None:
    """Return an integer parameter; None if it is absent.

    Raises
    ------
    Rejection
        The value is not an integer.
    """
    if name not in request.parameters:
        return None
    text = request.parameter(name)
    number = parse_int64(text)
    if number is None:
        raise bad_request(integer_error("ParseInt", text))
    return number


def check_timeout(request: HttpRequest, info: RequestInfo) -> None:
    """Reject a request whose `timeout` is not a duration; requests that last long ignore it.

    Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/filters/request_deadline.go

    Raises
    ------
    Rejection
        The value is not a duration.
    """
    text = request.parameter("timeout")
    if not text or info.verb == "watch" or info.subresource in _LONG_RUNNING:
        return
    try:
        parse_duration(text)
    except ValueError as error:
        raise bad_request(f"invalid timeout specified in the request URL - {error}") from None


def list_options(request: HttpRequest, *, is_watch: bool) -> ListOptions:
    """Return the options of a list or a watch.

    Raises
    ------
    Rejection
        A parameter cannot be parsed, or the parameters contradict each other.
    """
    parameters = request.parameters
    # Upstream converts the texts of parameters first, and then the selectors among them.
    timeout = integer(request, "timeoutSeconds")
    limit = integer(request, "limit") or 0
    label_text, field_text = request.parameter("labelSelector"), request.parameter("fieldSelector")
    if max(len(label_text), len(field_text)) > SELECTOR_MAX_BYTES:
        raise bad_request(f"selector is too long: may not be more than {SELECTOR_MAX_BYTES} bytes")
    try:
        with interlude():
            labels = parse_label_selector(label_text) if label_text else EVERYTHING
            fields = parse_field_selector(field_text)
    except SelectorError as error:
        raise bad_request(str(error)) from None
    initial = parameters.get("sendInitialEvents")
    options = ListOptions(
        labels=labels,
        fields=fields,
        limit=max(limit, 0),
        continue_token=request.parameter("continue"),
        resource_version=request.parameter("resourceVersion"),
        version_match=cast(VersionMatch, request.parameter("resourceVersionMatch")),
        sends_initial_events=None if initial is None else is_true(initial),
        allows_bookmarks=is_true(parameters.get("allowWatchBookmarks")),
        timeout_seconds=timeout,
    )
    problems = list(_watch_problems(options) if is_watch else _list_problems(options))
    if problems:
        raise invalid_options("ListOptions", problems)
    return options


def _match_problem(match: str) -> Problem:
    return (
        "resourceVersionMatch",
        f'Unsupported value: "{match}": supported values: "Exact", "NotOlderThan", ""',
        match,
    )


def _list_problems(options: ListOptions) -> Iterable[Problem]:
    match, version = options.version_match, options.resource_version
    path = "resourceVersionMatch"
    if match:
        if not version:
            text = "resourceVersionMatch is forbidden unless resourceVersion is provided"
            yield path, f"Forbidden: {text}", None
        if options.continue_token:
            text = "resourceVersionMatch is forbidden when continue is provided"
            yield path, f"Forbidden: {text}", None
        if match not in ("Exact", "NotOlderThan"):
            yield _match_problem(match)
        if match == "Exact" and version == "0":
            text = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
            yield path, f"Forbidden: {text}", None
    if options.sends_initial_events is not None:
        text = "sendInitialEvents is forbidden for list"
        yield "sendInitialEvents", f"Forbidden: {text}", None


def _watch_problems(options: ListOptions) -> Iterable[Problem]:
    path, match = "resourceVersionMatch", options.version_match
    if options.sends_initial_events is not None and match != "NotOlderThan":
        text = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        yield path, f"Forbidden: {text}", None
    if not match:
        return
    if options.sends_initial_events is None:
        text = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        yield path, f"Forbidden: {text}", None
    if match != "NotOlderThan":
        text = f'Unsupported value: "{match}": supported values: "NotOlderThan"'
        yield path, text, match
    if options.continue_token:
        text = "resourceVersionMatch is forbidden when continue is provided"
        yield path, f"Forbidden: {text}", None


def write_options(request: HttpRequest, kind: str, *, is_apply: bool = False) -> WriteOptions:
    """Return the options of a write.

    Parameters
    ----------
    kind : str
        `CreateOptions`, `UpdateOptions` or `PatchOptions`.
    is_apply : bool
        Whether the write is an apply request, which needs a field manager.

    Raises
    ------
    Rejection
        The options are not valid.
    """
    return _write_options(request.query, kind, is_apply=is_apply)


@lru_cache(maxsize=1024)
def _write_options(query: str, kind: str, *, is_apply: bool) -> WriteOptions:
    parameters = parse_query(query)
    dry_run = parameters.get("dryRun", [])
    manager = parameters.get("fieldManager", [""])[0]
    validation = parameters.get("fieldValidation", [""])[0]
    force = parameters.get("force")
    problems: list[Problem] = []
    if kind == "PatchOptions":
        problems += _apply_problems(force, manager, is_apply=is_apply)
    problems += manager_problems(manager)
    problems += dry_run_problems(dry_run)
    if validation and validation not in _FIELD_VALIDATIONS:
        listed = ", ".join(f'"{each}"' for each in ("", "Ignore", "Strict", "Warn"))
        text = f'Unsupported value: "{validation}": supported values: {listed}'
        problems.append(("fieldValidation", text, validation))
    if problems:
        raise invalid_options(kind, problems)
    return WriteOptions(
        is_dry_run=bool(dry_run),
        field_manager=manager,
        field_validation=cast(FieldValidation, validation or "Warn"),
        force=None if force is None else is_true(force),
        document={
            name: value
            for name, value in (
                ("dryRun", dry_run), ("fieldManager", manager), ("fieldValidation", validation),
            )
            if value
        },
    )  # fmt: skip


def _apply_problems(force: list[str] | None, manager: str, *, is_apply: bool) -> list[Problem]:
    if is_apply:
        if not manager:
            return [("fieldManager", "Required value: is required for apply patch", None)]
        return []
    if force is not None:
        return [("force", "Forbidden: may not be specified for non-apply patch", None)]
    return []


def manager_problems(manager: str) -> list[Problem]:
    """Return what is wrong with a field manager."""
    problems: list[Problem] = []
    if len(manager.encode()) > _MANAGER_MAX_BYTES:
        text = f"Too long: may not be more than {_MANAGER_MAX_BYTES} bytes"
        problems.append(("fieldManager", text, manager))
    for match in re.finditer(".", manager, re.DOTALL):
        letter = match[0]
        if letter.isprintable():
            continue
        position = len(manager[: match.start()].encode())
        where = f"invalid character U+{ord(letter):04X} (at position {position})"
        text = f"Invalid value: {go_quoted(manager)}: {where}"
        problems.append(("fieldManager", text, manager))
    return problems


def dry_run_problems(values: Sequence[str]) -> list[Problem]:
    """Return what is wrong with the values of `dryRun`."""
    if all(value == "All" for value in values):
        return []
    listed = "[" + ",".join(f'"{each}"' for each in values) + "]"
    return [("dryRun", f'Unsupported value: {listed}: supported values: "All"', list(values))]


def delete_options(body: dict[str, Any] | None, request: HttpRequest) -> DeleteOptions:
    """Return the options of a deletion.

    Parameters
    ----------
    body : dict or None
        The decoded DeleteOptions; without one the query has the options.

    Raises
    ------
    Rejection
        The options are not valid.
    """
    if body is None:
        body = {}
        if (grace := integer(request, "gracePeriodSeconds")) is not None:
            body["gracePeriodSeconds"] = grace
        if propagation := request.parameter("propagationPolicy"):
            body["propagationPolicy"] = propagation
        if (orphans := request.parameters.get("orphanDependents")) is not None:
            body["orphanDependents"] = is_true(orphans)
        if dry_run := request.parameters.get("dryRun"):
            body["dryRun"] = dry_run
        preconditions = {
            name: value for name in ("uid", "resourceVersion") if (value := request.parameter(name))
        }
        if preconditions:
            body["preconditions"] = preconditions
    _check_types(body)
    preconditions = body.get("preconditions") or {}
    options = DeleteOptions(
        grace_seconds=body.get("gracePeriodSeconds"),
        propagation=body.get("propagationPolicy"),
        orphans=body.get("orphanDependents"),
        uid=preconditions.get("uid"),
        resource_version=preconditions.get("resourceVersion"),
        is_dry_run=bool(body.get("dryRun")),
        document=body,
    )
    problems = _delete_problems(options, body.get("dryRun") or ())
    if problems:
        raise invalid_options("DeleteOptions", problems)
    return options


_DELETE_TYPES: Final[dict[str, tuple[type, str]]] = {
    "dryRun": (list, "[]string"),
    "gracePeriodSeconds": (int, "int64"),
    "orphanDependents": (bool, "bool"),
    "preconditions": (dict, "v1.Preconditions"),
    "propagationPolicy": (str, "v1.DeletionPropagation"),
}


def _check_types(body: dict[str, Any]) -> None:
    """Reject DeleteOptions with values of a wrong type.

    Raises
    ------
    Rejection
        A value has a wrong type.
    """
    preconditions = body.get("preconditions")
    inner = preconditions if isinstance(preconditions, dict) else {}
    checked = [(name, body.get(name), *types) for name, types in _DELETE_TYPES.items()]
    checked += [
        (f"preconditions.{name}", inner.get(name), str, "string")
        for name in ("uid", "resourceVersion")
    ]
    for name, value, type_, go_type in checked:
        if value is None:
            continue
        is_right = isinstance(value, type_) and (type_ is not int or not isinstance(value, bool))
        if name == "dryRun" and is_right:
            is_right = all(isinstance(each, str) for each in value)
        if not is_right:
            raise bad_request(
                f"json: cannot unmarshal {go_kind(value)} into Go struct field"
                f" DeleteOptions.{name} of type {go_type}"
            )


def _delete_problems(options: DeleteOptions, dry_run: Sequence[str]) -> list[Problem]:
    problems: list[Problem] = []
    policy = options.propagation
    path = "propagationPolicy"
    if options.orphans is not None and policy is not None:
        text = "orphanDependents and deletionPropagation cannot be both set"
        problems.append((path, f'Invalid value: "{policy}": {text}', policy))
    if policy not in (None, "Foreground", "Background", "Orphan"):
        listed = '"Foreground", "Background", "Orphan", "nil"'
        problems.append(
            (path, f'Unsupported value: "{policy}": supported values: {listed}', policy)
        )
    return problems + dry_run_problems(dry_run)


def parsed_version(text: str) -> int:
    """Return the `resourceVersion` of a get or list request as a number; 0 for "".

    Raises
    ------
    Rejection
        The text is not a number.
    """
    if not text:
        return 0
    version = parse_uint64(text)
    if version is None:
        raise invalid_version(text)
    return version


def invalid_version(text: str) -> Rejection:
    """Return the error of a `resourceVersion` that is not a number.

    Upstream: staging/src/k8s.io/apiserver/pkg/storage/cacher/delegator.go, Get, which passes the
    error on without a reason
    """
    error = integer_error("ParseUint", text)
    return unclassified_error(f"resourceVersion: Invalid value: {go_quoted(text)}: {error}")
