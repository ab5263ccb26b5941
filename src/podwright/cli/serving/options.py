"""The options of commands about a cluster that is served.

Each class has the options of one command of `commands`.
"""

from __future__ import annotations

from pathlib import Path

from podwright.cli.clusters.options import (
    ServedOptions,
)
from podwright.cli.options import (
    Format,
    Options,
    argument,
    option,
)


class ClockOptions(Options):
    """The options of `podwright clock show`, and of what asks a running cluster."""

    cluster: ServedOptions = ServedOptions.group("kubeconfig", "server")
    output: Format = option("Output format.", None, "-o", default="table")


class ClockStepOptions(ClockOptions):
    """The options of `podwright clock step`."""

    duration: str = argument("Such as 30s or 1h30m.", "DURATION")


class ClockSpeedOptions(ClockOptions):
    """The options of `podwright clock speed`."""

    factor: float = argument("Seconds of cluster time per real second.", "FACTOR")


class RunToOptions(ClockOptions):
    """The options of `podwright clock run-to`."""

    time: str = argument("Such as 2030-01-01T00:00:00Z; not in the past.", "TIME")


class FailuresOptions(ClockOptions):
    """The options of `podwright debug failures`."""

    plugin: str = option("Only those of this plugin.", "NAME", default="")
    pod: str = option("Only those for this pod: [NAMESPACE/]NAME.", "POD", default="")
    limit: int = option("The most to show.", "NUMBER", default=20, min=1, max=1_000)
    traceback: bool = option("Show the traceback of each.", default=False)


class BreakOptions(ClockOptions):
    """The options of `podwright debug break`."""

    condition: str = argument(
        "Such as pod=default/web, label=app=web, plugin=NAME, point=Filter, on=reject, on=error or "
        "score-above=90; several parts with commas between them.",
        "CONDITION",
    )


class UnbreakOptions(ClockOptions):
    """The options of `podwright debug unbreak`."""

    number: int = argument("Of the breakpoint.", "NUMBER", min=1)


class SaveCaseOptions(Options):
    """The options of `podwright debug save-case`."""

    pod: str = argument("[NAMESPACE/]NAME.", "POD")
    file: Path = argument("A new file.", "FILE")
    attempt: int | None = option("The last one if left out.", "NUMBER", default=None, min=1)
    cluster: ServedOptions = ServedOptions.group("kubeconfig", "server")


class PageCommandOptions(Options):
    """The options of `podwright page`."""

    cluster: ServedOptions = ServedOptions.group()
    compare: Path | None = option(
        "The kubeconfig of another cluster, with which the page compares this one. The page only "
        "reads it.",
        "FILE",
        default=None,
    )
    port: int | None = option(
        "The port of the page on 127.0.0.1. Defaults to 8181, or any free one if that is in use. "
        "0: any free port.",
        "PORT",
        default=None,
        min=0,
        max=65535,
    )
    open: bool = option("Open the page in a browser.", default=False)
