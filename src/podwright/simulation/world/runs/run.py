"""The results of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Self

from podwright._html import facts, paragraphs, section, table
from podwright.apimachinery.objects import (
    ArgumentError,
    Condition,
    FieldError,
    InputError,
    NamespacedName,
    Pod,
    Time,
    require_type,
    timestamp_ns,
)
from podwright.scheduler.assembly import idle_choices
from podwright.scheduler.config import Gates, read_configuration
from podwright.scheduler.framework import Explanation, Plugin
from podwright.scheduler.machine import Machine
from podwright.simulation.recording import (
    TABLES,
    DecisionLog,
    Rows,
    RunFolder,
    RunTables,
    arrow_table,
    cluster_of,
    explain_cycle,
    explain_cycles,
    gated_pods,
    open_log,
    permit_waits,
    replay,
    select_cycles,
    tables_of_log,
    to_lists,
)
from podwright.simulation.world.runs.report import Report
from podwright.simulation.world.runs.run_options import PathLike, moment_ns
from podwright.simulation.world.runs.run_plot import plot_run
from podwright.simulation.world.runs.summary import Summary, summary_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ENDS: Final = (0, 1)

SAMPLE_NS: Final = 60_000_000_000
"""The default time between two samples: one minute."""


class Tables(Mapping[str, Any]):
    """The tables of a run by name; each is a `pyarrow.Table`, made on access.

    Parameters
    ----------
    read : callable
        Returns the table of a name in `TABLES`.
    """

    def __init__(self, read: Callable[[str], Any]) -> None:
        self._read = read

    def __getitem__(self, name: str) -> Any:
        if name not in TABLES:
            raise KeyError(name)
        return self._read(name)

    def __iter__(self) -> Iterator[str]:
        return iter(TABLES)

    def __len__(self) -> int:
        return len(TABLES)

    def __repr__(self) -> str:
        return f"<Tables: {', '.join(TABLES)}>"

    def _repr_html_(self) -> str:
        rows = [(name, ", ".join(columns)) for name, columns in TABLES.items()]
        return section("Tables", table(("Name", "Columns"), rows))


class Run:
    """The results of a run that is over, or that reached its end time.

    `simulate` and `World.run` return it; `Run.open` reads it from a run folder.

    Parameters
    ----------
    machine : Machine
        The scheduler at the end of the run.
    pods : sequence of Pod
        All pods at the end of the run.
    start_ns, end_ns : int
    plugins : iterable of type
        The user's own plugin classes of the run.
    recorded : callable, optional
        Returns the tables that were recorded during the run, and their rows; without it and without
        a folder, `tables` and `summary` replay the log.
    report : Report, optional
        The report for the summary.
    folder : RunFolder, optional
        The folder that has the summary and the tables.

    Attributes
    ----------
    log : DecisionLog
        The events that the scheduler handled, and its actions.
    node_of : dict of str to str
        The node name of each pod (`namespace/name`) that has one.
    pending : dict of str to str
        For each pod without a node the reason, in kube-scheduler's words.
    warnings : tuple of str
        Remarks on the run, such as a feature gate that has no effect, or a plugin with state that
        checkpoints do not hold.
    unmet : tuple of str
        What operations waited for until the end, a sentence each.
    """

    def __init__(  # noqa: PLR0913 - one keyword for each part of a run
        self,
        log: DecisionLog,
        *,
        machine: Machine,
        pods: Sequence[Pod],
        start_ns: int,
        end_ns: int,
        plugins: Iterable[type[Plugin]] = (),
        recorded: Callable[[], tuple[RunTables, Rows]] | None = None,
        report: Report | None = None,
        folder: RunFolder | None = None,
    ) -> None:
        # `open` changes these for runs in folders.
        self._folder = folder
        self._sample_ns = SAMPLE_NS
        self._is_interrupted = False
        self._start_ns, self._end_ns = start_ns, end_ns
        self._plugins = tuple(plugins)
        self._recorded = recorded
        self._report = report
        self.log: DecisionLog = log
        self.warnings: tuple[str, ...] = warnings_of(log)
        self.unmet: tuple[str, ...] = ()
        self.node_of: dict[NamespacedName, str] = {
            pod.key: pod.spec.node_name for pod in pods if pod.spec.node_name
        }
        held, waits = gated_pods(machine), permit_waits(machine)
        self.pending: dict[NamespacedName, str] = {
            pod.key: 'PreEnqueue plugin "{}": {}'.format(*held[pod.key])
            if pod.key in held
            else _scheduled_message(pod.status.conditions) or waits.get(pod.key, "")
            for pod in pods
            if not pod.spec.node_name and pod.status.phase not in ("Succeeded", "Failed")
        }

    @classmethod
    def open(cls, folder: str | PathLike, *, plugins: Iterable[type[Plugin]] = ()) -> Self:
        """Open the folder of a run.

        A finished or interrupted run has the results that its folder contains. If the process of
        the run still writes to the folder, or died, the results are those of the events in the
        log; completed pods are not among them, because the scheduler does not know them.

        Parameters
        ----------
        folder : path
            The folder that `simulate(output=...)` or `podwright simulate --output` wrote.
        plugins : iterable of type
            The out-of-tree plugin classes that the run was recorded with.

        Raises
        ------
        RunError
            If it is not a run folder, or a file in it cannot be read.
        LogError
            If the log cannot be read or replayed, such as without its plugins.
        """
        require_type(folder, (str, PathLike), "folder", "the path of a run folder")
        found, own = RunFolder.open(str(folder)), tuple(plugins)
        found.check_begun()
        manifest = found.manifest
        with ExitStack() as opened:
            log = opened.enter_context(open_log(found.path))
            machine = replay(log, plugins=own)
            end_ns = log.time_of(len(log) - 1) if len(log) else manifest.start_ns
            if found.has_results:
                # A run may last longer than its last event.
                end_ns = max(end_ns, timestamp_ns(found.read_summary(Summary).end) or 0)
                pods = found.read_pods()
            else:
                known = cluster_of(machine, end_ns).objects
                pods = [obj for obj in known if isinstance(obj, Pod)]
            opened.pop_all()
        run = cls(
            log,
            machine=machine,
            pods=pods,
            start_ns=manifest.start_ns,
            end_ns=end_ns,
            plugins=own,
            folder=found if found.has_results else None,
        )
        run._sample_ns = int(manifest.options.get("sampleNs", SAMPLE_NS))
        run._is_interrupted = manifest.status != "finished"
        return run

    def __repr__(self) -> str:
        return f"<Run: {len(self.node_of)} pods on nodes, {len(self.pending)} pending>"

    def _repr_html_(self) -> str:
        # Without the summary, which may have to be computed.
        return section(
            "Interrupted run" if self._is_interrupted else "Run",
            facts({"Pods on nodes": len(self.node_of), "Pending pods": len(self.pending)}),
            table(("Pending pod", "Reason"), list(self.pending.items())),
            paragraphs(self.warnings),
        )

    def __getstate__(self) -> dict[str, object]:
        """Pickle a run with its figures: the tables of its world cannot be pickled.

        A run of a folder is opened again, where the folder must be.
        """
        rows = {} if self._folder is not None else {"_rows": self._rows, "summary": self.summary}
        left_out = ("_recorded", "_tables_and_rows", "tables", "summary")
        kept = {key: value for key, value in self.__dict__.items() if key not in left_out}
        return {**kept, **rows, "_recorded": None}

    @property
    def end_ns(self) -> int:
        """The virtual time at which the run ended, in nanoseconds since 1970."""
        return self._end_ns

    @cached_property
    def _rows(self) -> Rows:
        return self._tables_and_rows[1]

    @cached_property
    def _tables_and_rows(self) -> tuple[RunTables, Rows]:
        if self._recorded is not None and self._folder is None:
            return self._recorded()
        tables = tables_of_log(self.log, self._sample_ns, self._end_ns, plugins=self._plugins)
        return tables, tables.rows()

    @cached_property
    def summary(self) -> Summary:
        """Counts of pods, reasons for pending pods, waiting times and utilization."""
        if self._folder is not None:
            return self._folder.read_summary(Summary)
        tables, rows = self._tables_and_rows
        return summary_of(
            tables,
            (rows,),
            start_ns=self._start_ns,
            end_ns=self._end_ns,
            is_interrupted=self._is_interrupted,
            report=self._report,
        )

    @cached_property
    def tables(self) -> Tables:
        """The tables by name, each a `pyarrow.Table`; see docs/reference/run-folder.md."""
        if self._folder is not None and self._folder.has_tables(TABLES):
            return Tables(self._folder.read_table)
        return Tables(lambda name: arrow_table(TABLES[name], self._rows[name]))

    def rows(self, name: str) -> dict[str, list[Any]]:
        """Return the columns of a table as lists, without pyarrow if the run is not in a folder.

        Times are in nanoseconds since 1970.

        Parameters
        ----------
        name : str
            The name of the table, one of those of `tables`.
        """
        if self._folder is not None and self._folder.has_tables(TABLES):
            return to_lists(self._folder.read_table(name))
        return self._rows[name]

    def plot(self) -> Figure:
        """Return a figure: utilization and pending pods over time, and the waits of placed pods.

        Raises
        ------
        ImportError
            If Matplotlib is not installed.
        """
        return plot_run(self.rows, self._start_ns)

    def explain(self, pod: NamespacedName, attempt: int = -1) -> Explanation:
        """Explain an attempt to schedule a pod; print the result to read it.

        Parameters
        ----------
        pod : str
            `namespace/name`.
        attempt : int
            1 is the first one, -1 the last.

        Raises
        ------
        UnknownCycle
            If the pod has no such attempt.
        """
        return explain_cycle(self.log, pod, attempt, plugins=self._plugins)

    def explain_all(
        self,
        pods: Iterable[NamespacedName] | None = None,
        *,
        between: tuple[Time | None, Time | None] = (None, None),
        progress: bool | None = None,
    ) -> Iterator[Explanation]:
        """Explain many attempts, in the order of their cycles, with one forward replay.

        `to_pandas` and `to_arrow` make a table of the scores of the result.

        Parameters
        ----------
        pods : iterable of str, optional
            `namespace/name`; without it, all pods.
        between : pair of Time or None
            The first and the last time of cycles; None is the start or the end of the run.
        progress : bool, optional
            Whether to show the progress; by default in terminals and notebooks, if it takes long.

        Raises
        ------
        UnknownCycle
            If one of the pods has no attempt.
        InputError
            If a time is not valid.
        """
        chosen = None if pods is None else [pods] if isinstance(pods, str) else list(pods)
        require_type(between, (tuple, list), "between", "a pair of times")
        if len(between) != len(_ENDS):
            raise ArgumentError(f"between: must be a pair of times, not {len(between)} values")
        errors: list[FieldError] = []
        times = [
            None if at is None else moment_ns(f"between[{place}]", at, self._start_ns, errors)
            for place, at in zip(_ENDS, between, strict=True)
        ]
        if errors:
            raise InputError(errors)
        first_ns, last_ns = times
        if first_ns is not None and last_ns is not None and last_ns < first_ns:
            raise ArgumentError(f"between: {between[1]} is before {between[0]}")
        cycles = select_cycles(self.log, chosen, first_ns=first_ns, last_ns=last_ns)
        found = explain_cycles(self.log, cycles, plugins=self._plugins, is_shown=progress)
        return (explanation for _, explanation in found)


def _scheduled_message(conditions: Iterable[Condition]) -> str:
    for condition in conditions:
        if condition.type == "PodScheduled":
            return condition.message
    return ""


def warnings_of(log: DecisionLog) -> tuple[str, ...]:
    """Return remarks on options without effect, and on plugins whose state is not recorded."""
    setup = log.setup
    configuration = (
        read_configuration(setup.configuration, source="configuration")
        if setup.configuration
        else None
    )
    idle = idle_choices(
        configuration,
        Gates(setup.gates),
        "configuration",
        "decisions",
        "machine",
        own={plugin.name for plugin in setup.plugins},
    )
    stateful = (
        f"plugin {name} keeps state that checkpoints cannot hold; checkpoints were written without"
        " it, and resuming the run or explaining a decision replays it from the start, or from the"
        " last checkpoint before the plugin had state"
        for name in log.unrestorable
    )
    return (*idle, *stateful)
