"""The configurations of the schedulers: show, check, compare, replace.

A configuration that is sent is not trusted as one on the command line is; see
`podwright.online.apiserver.scheduling.received_configuration`.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
from starlette.responses import Response

from podwright.apimachinery.objects import Document, InputError
from podwright.online.apiserver.cluster import Cluster
from podwright.online.apiserver.control.endpoints import (
    JSON,
    ControlledCluster,
    Endpoint,
    declared,
    endpoint,
)
from podwright.online.apiserver.control.problems import (
    FieldProblem,
    Problem,
    field_problems,
    input_problem,
)
from podwright.online.apiserver.readers import Readers
from podwright.online.apiserver.scheduling.present_scheduler import present_objects
from podwright.online.apiserver.scheduling.received_configuration import check_options, warnings_of
from podwright.online.apiserver.scheduling.running_scheduler import ExternalScheduler
from podwright.online.apiserver.scheduling.served_scheduler import ServedScheduler
from podwright.scheduler.config import effective_document, parse_document
from podwright.scheduler.machine import SchedulerOptions
from podwright.simulation.recording import (
    MOST_REASONS,
    DiffDocument,
    Scenario,
    diff_scenarios,
    typed_diff,
)

# The parameter that chooses one of the schedulers of a cluster.

UNKNOWN = "no scheduler of the cluster has the schedulerName"
"""What the status 404 means for endpoints with this parameter."""


EXTERNAL = "podwright does not schedule the pods"
"""What the status 409 means for what only podwright's own schedulers have."""


NO_LOG = f"{EXTERNAL}, or the log of its scheduler cannot be replayed"
"""The same for what is read from the decision log."""


class SchedulerParameter(msgspec.Struct, frozen=True, rename="camel"):
    """The parameter of what each scheduler has for itself.

    Attributes
    ----------
    scheduler_name : str, optional
        A schedulerName of the scheduler; the first scheduler if left out.
    """

    scheduler_name: str | None = None


def chosen_scheduler(cluster: Cluster, parameter: SchedulerParameter) -> ServedScheduler:
    """Return the scheduler that a request chooses.

    Raises
    ------
    Problem
        No scheduler has the name.
    """
    name = parameter.scheduler_name
    found = cluster.schedulers[0] if name is None else cluster.scheduler_of(name)
    if found is None:
        names = ", ".join(cluster.scheduler_names)
        raise Problem(404, f"{UNKNOWN} {name!r}; there are {names}", field="schedulerName")
    return found


def own_scheduler(cluster: Cluster, parameter: SchedulerParameter) -> ServedScheduler:
    """Return the scheduler that a request chooses.

    Raises
    ------
    Problem
        No scheduler has the name, or another scheduler schedules the pods of the cluster.
    """
    if not cluster.has_scheduler:
        raise Problem(409, f"{EXTERNAL}, so there are no decisions of it; omit --no-scheduler")
    return chosen_scheduler(cluster, parameter)


_PROBLEMS: Final = {
    404: UNKNOWN,
    409: "podwright does not schedule the pods, so there is no configuration",
}


class SchedulerEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A scheduler of the cluster.

    Attributes
    ----------
    scheduler_names : list of str
        The schedulerNames of the pods that it schedules; each is a name of the scheduler in
        the parameter `schedulerName`.
    source : str
        Where its configuration comes from; "" for the defaults.
    """

    scheduler_names: list[str]
    source: str


class SchedulerList(msgspec.Struct, frozen=True):
    """The schedulers of the cluster.

    Attributes
    ----------
    schedulers : list of SchedulerEntry
        The first one is meant where no other is named; none if podwright does not schedule the
        pods.
    """

    schedulers: list[SchedulerEntry]


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


class OtherConfiguration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
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

    @endpoint("GET", "/schedulers")
    async def list(self) -> SchedulerList:
        """List the schedulers of the cluster with their schedulerNames."""
        cluster = self._turns.cluster
        found = [
            SchedulerEntry(scheduler_names=list(each.names), source=_source(each))
            for each in cluster.schedulers
            if cluster.has_scheduler
        ]
        return SchedulerList(found)

    @endpoint("GET", "/configuration", problems=_PROBLEMS)
    async def show(self, query: SchedulerParameter) -> ConfigurationState:
        """Show the configuration of the scheduler, as written and with all defaults."""
        return self._state(self._served(query))

    def _state(self, served: ServedScheduler) -> ConfigurationState:
        options = served.options
        return ConfigurationState(
            written=self._scheduler.configuration(served),
            effective=effective_document(check_options(options)),
            warnings=list(warnings_of(options)),
        )

    @endpoint("PUT", "/configuration", body=Document, problems=_PROBLEMS)
    async def replace(self, body: bytes, query: SchedulerParameter) -> ConfigurationState:
        """Replace the configuration of the scheduler; an invalid one changes nothing."""
        served = self._served(query)
        document = parse_document(body)  # with duplicate keys, which are errors
        assert isinstance(document, dict), "read_json_object"
        try:
            await self._scheduler.replace(document, served)
        except InputError as error:
            raise input_problem(error) from error
        # The schedulerName of the request may be one that only the configuration before has.
        return self._state(served)

    @endpoint(
        "POST", "/configuration/check", body=Document, changes_nothing=True, problems=_PROBLEMS
    )
    async def check(self, body: bytes, query: SchedulerParameter) -> ConfigurationCheck:
        """Check a configuration, with all its errors."""
        served = self._served(query)
        try:
            options, effective = self._scheduler.read(body, served)
        except InputError as error:
            errors = field_problems(error)
            return ConfigurationCheck(is_valid=False, errors=errors, warnings=[], effective=None)
        return ConfigurationCheck(
            is_valid=True,
            errors=[],
            warnings=list(warnings_of(options)),
            effective=effective_document(effective),
        )

    @endpoint(
        "POST", "/configuration/diff", changes_nothing=True, reply=DiffDocument, problems=_PROBLEMS
    )
    async def compare(self, body: OtherConfiguration, query: SchedulerParameter) -> Response:
        """Compare where another configuration places the current pods."""
        served = self._served(query)
        try:
            options, _ = self._scheduler.read(body.configuration, served)
        except InputError as error:
            raise input_problem(error, prefix="configuration.") from error
        content = await self._readers.call(
            lambda _: self._differences(served, options, is_rescheduled=body.reschedule)
        )
        return Response(content, media_type=JSON)

    def _differences(
        self, served: ServedScheduler, options: SchedulerOptions, *, is_rescheduled: bool
    ) -> bytes:
        """Schedule the current pods by both configurations."""
        scheduler = self._scheduler
        objects = present_objects(served)
        before, after = (
            Scenario(
                objects,
                each,
                reschedule=is_rescheduled,
                expands_workloads=False,
                call_extender=scheduler.new_caller(each),
            )
            for each in (served.options, options)
        )
        return (
            msgspec.json.encode(
                typed_diff(diff_scenarios(before, after, most_reasons=MOST_REASONS))
            )
            + b"\n"
        )

    def _served(self, query: SchedulerParameter) -> ServedScheduler:
        """Return the scheduler of a request."""
        try:
            self._scheduler.require_own()
        except ExternalScheduler as error:
            raise Problem(409, str(error)) from error
        return chosen_scheduler(self._turns.cluster, query)


def _source(served: ServedScheduler) -> str:
    return "" if served.options.configuration is None else served.options.source


def configuration_endpoints(cluster: ControlledCluster) -> list[Endpoint]:
    """Return the endpoints of the configuration."""
    return declared(_Configuration(cluster))
