"""`podwright config show` and `podwright config check`: the options."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

from podwright.cli.options import (
    RULES,
    Options,
    Setup,
    argument,
    command_app,
    option,
    reject_idle,
)

app = command_app()


class ShowOptions(Options):
    """The options of `podwright config show`."""

    file: Path | None = argument(
        "A KubeSchedulerConfiguration. Defaults to the default configuration.", "FILE", default=None
    )
    config: Path | None = option("The same as the argument.", "FILE", "-c", default=None)
    setup: Setup = Setup.group("plugins", *RULES, "feature_gates")
    output: Literal["yaml", "json", "table", "wide", "name"] = option(
        "Output format. table: the plugins of each extension point, or predicates and priorities; "
        "wide: with arguments; name: their names.",
        None,
        "-o",
        default="yaml",
    )


class CheckOptions(Options):
    """The options of `podwright config check`."""

    file: tuple[Path, ...] = argument("Configuration files; - for stdin.", "FILE")
    setup: Setup = Setup.group("plugins", *RULES, "feature_gates")


@app.callback()
def _config() -> None:
    """Show or check a scheduler configuration."""


@app.command(
    examples=[
        "podwright config show",
        "podwright config show examples/plugins/keep_zone.yaml "
        "--plugin examples/plugins/keep_zone.py -o table",
    ]
)
def show(options: ShowOptions) -> None:
    """Print the effective configuration, with every default filled in."""
    from podwright.cli.decisions.config_run import show_configuration

    if options.file is not None and options.config is not None:
        reject_idle("--config", f"with FILE {options.file}", "the two are the same")
    setup = replace(options.setup, config=options.file or options.config, given=frozenset())
    show_configuration(setup, output=options.output)


@app.command(
    examples=[
        "podwright config check examples/plugins/keep_zone.yaml "
        "--plugin examples/plugins/keep_zone.py"
    ]
)
def check(options: CheckOptions) -> bool:
    """Validate configurations as kube-scheduler does, and print all errors.

    The command also validates Policy files of the v1.16 rules.

    Plugins that are not in-tree are accepted if --plugin provides them. Exit status 1 if a
    configuration is invalid, 2 if a file cannot be read.
    """
    from podwright.cli.decisions.config_run import check_configurations

    return check_configurations(options.file, options.setup)
