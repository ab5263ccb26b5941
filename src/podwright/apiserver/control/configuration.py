"""The configuration of the scheduler: show, check, compare, replace.

A configuration that is sent is not trusted as one on the command line is; see
`podwright.apiserver.received_configuration`.
"""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from podwright.apiserver.control.controlled_cluster import ControlledCluster
from podwright.apiserver.control.endpoints import JSON, Endpoint, json_response
from podwright.apiserver.control.problems import (
    FieldProblem,
    Problem,
    field_problems,
    input_problem,
    read_body,
    read_json_object,
)
from podwright.apiserver.readers import Readers
from podwright.apiserver.received_configuration import check_options, warnings_of
from podwright.apiserver.running_scheduler import ExternalScheduler
from podwright.config import effective_document, parse_document
from podwright.machine import SchedulerOptions
from podwright.objects import Document, InputError
from podwright.recording import Scenario, diff_document, diff_scenarios

_EXTERNAL = "podwright does not schedule the pods, so there is no configuration"


class ConfigurationState(msgspec.Struct, frozen=True, kw_only=True):
    """The configuration of the scheduler.

    Attributes
    ----------
    written : dict
        The KubeSchedulerConfiguration as it was written.
    effective : dict
        The same with all defaults.
    warnings : list of str
        Settings that have no effect.
    """

    written: dict[str, Any]
    effective: dict[str, Any]
    warnings: list[str]


class ConfigurationCheck(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Whether a configuration can replace the present one.

    Attributes
    ----------
    is_valid : bool
    errors : list of FieldProblem
    warnings : list of str
        Settings that have no effect.
    effective : dict, optional
        The configuration with all defaults, if it is valid.
    """

    is_valid: bool
    errors: list[FieldProblem]
    warnings: list[str]
    effective: dict[str, Any] | None


class OtherConfiguration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to compare.

    Attributes
    ----------
    configuration : dict
        A KubeSchedulerConfiguration.
    reschedule : bool
        Whether pods that have a node are scheduled again, from an empty cluster.
    """

    configuration: dict[str, Any]
    reschedule: bool = False


class _Configuration:
    """The endpoints."""

    def __init__(self, cluster: ControlledCluster) -> None:
        self._turns = cluster.turns
        self._scheduler = cluster.scheduler
        self._readers = Readers(cluster.turns)

    async def show(self, _: Request) -> Response:
        scheduler = self._scheduler
        self._require_own()
        options = scheduler.options
        found = ConfigurationState(
            written=scheduler.configuration(),
            effective=effective_document(check_options(options)),
            warnings=list(warnings_of(options)),
        )
        return json_response(found)

    async def check(self, request: Request) -> Response:
        body = await read_json_object(request)
        self._require_own()
        try:
            options, effective = self._scheduler.read(body)
        except InputError as error:
            errors = field_problems(error)
            found = ConfigurationCheck(is_valid=False, errors=errors, warnings=[], effective=None)
            return json_response(found)
        found = ConfigurationCheck(
            is_valid=True,
            errors=[],
            warnings=list(warnings_of(options)),
            effective=effective_document(effective),
        )
        return json_response(found)

    async def replace(self, request: Request) -> Response:
        body = await read_json_object(request)
        self._require_own()
        document = parse_document(body)  # with duplicate keys, which are errors
        assert isinstance(document, dict), "read_json_object"
        try:
            await self._scheduler.replace(document)
        except InputError as error:
            raise input_problem(error) from error
        return await self.show(request)

    async def compare(self, request: Request) -> Response:
        given = await read_body(request, OtherConfiguration)
        self._require_own()
        try:
            options, _ = self._scheduler.read(given.configuration)
        except InputError as error:
            raise input_problem(error, prefix="configuration.") from error
        content = await self._readers.call(
            lambda _: self._differences(options, is_rescheduled=given.reschedule)
        )
        return Response(content, media_type=JSON)

    def _differences(self, options: SchedulerOptions, *, is_rescheduled: bool) -> bytes:
        """Schedule the present pods by both configurations."""
        scheduler, cluster = self._scheduler, self._turns.cluster
        store = cluster.store
        objects: list[Any] = [obj for kind in store.kinds() for obj in store.list(kind).objects]
        before, after = (
            Scenario(
                objects,
                each,
                reschedule=is_rescheduled,
                call_extender=scheduler.new_caller(each),
            )
            for each in (scheduler.options, options)
        )
        return msgspec.json.encode(diff_document(diff_scenarios(before, after))) + b"\n"

    def _require_own(self) -> None:
        try:
            self._scheduler.require_own()
        except ExternalScheduler as error:
            raise Problem(409, str(error)) from error


def configuration_endpoints(cluster: ControlledCluster) -> list[Endpoint]:
    """Return the endpoints of the configuration."""
    endpoints = _Configuration(cluster)
    external = {409: _EXTERNAL}
    return [
        Endpoint(
            method="GET",
            path="/configuration",
            summary="Show the configuration of the scheduler, as written and with all defaults",
            handler=endpoints.show,
            reply=ConfigurationState,
            problems=external,
        ),
        Endpoint(
            method="PUT",
            path="/configuration",
            summary="Replace the configuration of the scheduler; an invalid one changes nothing",
            handler=endpoints.replace,
            body=Document,
            reply=ConfigurationState,
            problems=external,
        ),
        Endpoint(
            method="POST",
            path="/configuration/check",
            summary="Check a configuration, with all its errors",
            handler=endpoints.check,
            body=Document,
            reply=ConfigurationCheck,
            problems=external,
        ),
        Endpoint(
            method="POST",
            path="/configuration/diff",
            summary="Compare where another configuration places the present pods",
            handler=endpoints.compare,
            body=OtherConfiguration,
            reply=Document,
            problems=external,
        ),
    ]
