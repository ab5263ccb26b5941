"""The cluster of a plan, and the pods that a plan is about."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

import msgspec
import typer

from podwright.apimachinery.objects import FieldError, InputError, Node, Object
from podwright.cli.clusters.cluster_inputs import read_named
from podwright.cli.clusters.options import CLUSTER_PREFIX
from podwright.cli.console import (
    announce_compilation,
    print_data,
    print_heading,
    print_message,
    print_paragraph,
    print_table,
    print_warnings,
    waiting,
    write_file,
)
from podwright.cli.inputs import extender_caller, load_plugins, read_inputs, scheduler_options
from podwright.cli.options import Setup
from podwright.cli.planning.options import CapacityOptions, DrainPlanOptions, PlannedCluster
from podwright.cli.recorded.recorded_run import RecordedRun, open_for_command
from podwright.cli.workloads import expand_workloads
from podwright.cluster.store import kind_of
from podwright.scheduler.framework import CallExtender
from podwright.scheduler.machine import SchedulerOptions
from podwright.simulation.autoscaling import pool_of
from podwright.simulation.capacity import PlanReport
from podwright.simulation.files import load_bytes
from podwright.simulation.recording import options_of, placed_objects, replay

_NODE_POOL: Final = ("karpenter.sh", "NodePool")


class Planned(NamedTuple):
    """The cluster of a plan.

    Attributes
    ----------
    objects : list of Object
    options : SchedulerOptions
    call_extender : callable, optional
    source : str
        What it was read from, for errors.
    now_ns : int
        The time in a recorded run; 0 for other clusters.
    """

    objects: list[Object]
    options: SchedulerOptions
    call_extender: CallExtender | None
    source: str
    now_ns: int = 0

    @contextmanager
    def asking(self, doing: str, option_of: Mapping[str, str], pods: str = "") -> Iterator[None]:
        """Name the option, or the source of the cluster, in errors of a question about it.

        Parameters
        ----------
        doing : str
            What is waited for.
        option_of : mapping of str to str
            The options by the fields of the question.
        pods : str
            The name of the file of its pods.
        """
        announce_compilation()
        try:
            with waiting(doing):
                yield
        except InputError as error:
            raise InputError(
                _with_options(error.errors, option_of, {"": self.source, "pods": pods})
            ) from error


def planned_cluster(
    files: Sequence[str],
    cluster: PlannedCluster,
    setup: Setup,
    *,
    expands_workloads: bool = True,
) -> Planned:
    """Return a cluster with the pods of its workloads, and its scheduler's options.

    Parameters
    ----------
    expands_workloads : bool
        Whether workloads get their pods here; not if controllers create them.

    Raises
    ------
    InputError
    BadParameter
        If files are combined with a run, or a time is given without a run.
    """
    if cluster.server:
        files = (*files, f"{CLUSTER_PREFIX}{cluster.server}")
    source = ", ".join(files) or CLUSTER_PREFIX
    if cluster.run is None:
        if cluster.at:
            raise typer.BadParameter("requires --run.", param_hint="'--at'")
        if not files:
            print_message("no cluster is given: reading the one of the current context")
        inputs = read_inputs(files or (CLUSTER_PREFIX,), setup)
        objects: Sequence[Object] = inputs.loaded.objects
        if expands_workloads:
            objects = expand_workloads(inputs.loaded, setup.hpa).with_objects(objects)
        caller = extender_caller(inputs.configuration, inputs.source)
        return Planned(list(objects), scheduler_options(inputs, setup), caller, source)
    if files:
        raise typer.BadParameter("FILE cannot be combined with --run.", param_hint="FILE")
    run = RecordedRun(cluster.run, load_plugins(setup.plugins))
    with open_for_command(run):
        options = options_of(run.log.setup, plugins=run.plugins, source=str(cluster.run))
        now_ns = run.moment(cluster.at) if cluster.at else run.end_ns
        until = run.log.index_at_ns(now_ns) if cluster.at else None
        machine = replay(run.log, until=until, plugins=run.plugins)
    if "config" in setup.given:
        options = scheduler_options(read_inputs((), setup), setup)
    caller = extender_caller(options.configuration, options.source)
    return Planned(placed_objects(machine), options, caller, source, now_ns)


def _with_options(
    errors: Iterable[FieldError], option_of: Mapping[str, str], source_of: Mapping[str, str]
) -> Iterator[FieldError]:
    """Yield errors of a question with the option that each is about, or the source of the rest."""
    for error in errors:
        option = option_of.get(error.path.partition("[")[0])
        if option is not None:
            yield msgspec.structs.replace(error, source="options", path=option)
        else:
            source = source_of.get(error.source, error.source)
            yield msgspec.structs.replace(error, source=source)


def check_pools(objects: Sequence[Object], label: str, option: str) -> None:
    """Print which objects that describe pools are not read.

    Raises
    ------
    InputError
        If no node has a label that names its pool.
    """
    described = [obj.name for obj in objects if kind_of(obj) == _NODE_POOL]
    if described:
        print_message(
            f"not read: the limits and requirements of NodePool{'s' * (len(described) != 1)}"
            f" {', '.join(described)}, which apply to instance types that the input does not have;"
            " pools are those that nodes have labels of"
        )
    if not any(pool_of(obj, label) for obj in objects if isinstance(obj, Node)):
        message = "no node has a label that names its pool; --pool-label names the label"
        raise InputError.of(option, message)


def planned_pods(name: str, setup: Setup) -> tuple[Object, ...]:
    """Return the objects of a file of pods and workloads.

    Raises
    ------
    InputError
    """
    stdin = sys.stdin.buffer if name == "-" else None
    loaded = load_bytes(
        read_named((name,), stdin=stdin, report=print_message), validate=setup.validate
    )
    print_warnings(loaded.warnings)
    return loaded.objects


def show_plan(
    report: PlanReport,
    options: CapacityOptions | DrainPlanOptions,
    document: Callable[[], object],
    names: Iterable[str],
) -> None:
    """Write the report of a plan to the file of `--report`, and print the plan.

    Parameters
    ----------
    report : PlanReport
    options : CapacityOptions or DrainPlanOptions
    document, names
        As for `print_data`.
    """
    if options.report is not None:
        write_file(options.report, report.html().encode())
        print_message(f"wrote {options.report}; open it in a browser")
    if print_data(options.output, document, names):
        return
    for finding in report.findings:
        if not finding.details:
            print_paragraph(finding.text, hanging=2)
    for table in report.tables:
        rows = table.rows if options.output == "wide" else table.rows[: table.shown]
        if rows:
            print_heading(f"{table.title}:")
            print_table(table.heads, rows)
        if rows and len(rows) < len(table.rows):
            more = len(table.rows) - len(rows)
            print_message(f"{more} more are shown with -o wide or -o json.")
    for finding in report.findings:
        if finding.details:
            print_heading(finding.text)
        for detail in finding.details:
            print_paragraph(detail, indent=2)
