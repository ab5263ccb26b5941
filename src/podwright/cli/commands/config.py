"""`podwright config show` and `podwright config check`: the options."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from podwright.cli.options import (
    Gates,
    Plugins,
    RuleOptions,
    Setup,
    command_app,
    examples,
    given_on,
    reject_idle,
)

app = command_app()


class ConfigFormat(StrEnum):
    """The output formats of a configuration."""

    yaml = "yaml"
    json = "json"
    table = "table"
    wide = "wide"
    name = "name"


@app.callback()
def _config() -> None:
    """Show or check a scheduler configuration."""


@app.command(
    epilog=examples(
        "podwright config show",
        "podwright config show examples/plugins/keep_zone.yaml "
        "--plugin examples/plugins/keep_zone.py -o table",
    )
)
def show(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="A KubeSchedulerConfiguration. Defaults to the default configuration.",
            show_default=False,
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", "-c", metavar="FILE", help="The same as the argument."),
    ] = None,
    *,
    plugin: Plugins = None,
    rules: RuleOptions,
    feature_gates: Gates = "",
    output: Annotated[
        ConfigFormat,
        typer.Option(
            "--output",
            "-o",
            help="Output format. table: the plugins of each extension point, or predicates and "
            "priorities; wide: with arguments; name: their names.",
        ),
    ] = ConfigFormat.yaml,
) -> None:
    """Print the effective configuration, with every default filled in."""
    from podwright.cli.decisions.config_run import show_configuration

    if file is not None and config is not None:
        reject_idle("--config", f"with FILE {file}", "the two are the same")
    setup = Setup(
        config=file or config,
        plugins=tuple(plugin or ()),
        feature_gates=feature_gates,
        **rules.values(),
    )
    show_configuration(setup, output=output.value)


@app.command(
    epilog=examples(
        "podwright config check examples/plugins/keep_zone.yaml "
        "--plugin examples/plugins/keep_zone.py"
    )
)
def check(
    ctx: typer.Context,
    file: Annotated[
        list[Path], typer.Argument(metavar="FILE", help="Configuration files; - for stdin.")
    ],
    *,
    plugin: Plugins = None,
    rules: RuleOptions,
    feature_gates: Gates = "",
) -> None:
    """Validate configurations as kube-scheduler does, and print all errors.

    The command also validates Policy files of the v1.16 rules.

    Plugins that are not in-tree are accepted if --plugin provides them. Exit status 1 if a
    configuration is invalid, 2 if a file cannot be read.
    """
    from podwright.cli.decisions.config_run import check_configurations

    setup = Setup(
        plugins=tuple(plugin or ()),
        feature_gates=feature_gates,
        **rules.values(),
        given=given_on(ctx),
    )
    if not check_configurations(file, setup):
        raise typer.Exit(1)
