"""`podwright config show` and `podwright config check`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from podwright.cli.options import (
    Gates,
    Plugins,
    PolicyFile,
    Provider,
    Rules,
    Setup,
    command_app,
    examples,
    given_on,
    refuse_idle,
)

app = command_app()


class ConfigFormat(StrEnum):
    """How a configuration is printed."""

    yaml = "yaml"
    json = "json"
    table = "table"
    wide = "wide"


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
            help="A KubeSchedulerConfiguration; the default one if left out.",
            show_default=False,
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", "-c", metavar="FILE", help="The same as the argument."),
    ] = None,
    plugin: Plugins = None,
    rules: Rules = None,
    algorithm_provider: Provider = "",
    policy: PolicyFile = None,
    feature_gates: Gates = "",
    output: Annotated[
        ConfigFormat,
        typer.Option(
            "--output",
            "-o",
            help="table: the plugins of each extension point, or predicates and priorities; "
            "wide: with their arguments too.",
        ),
    ] = ConfigFormat.yaml,
) -> None:
    """Print the effective configuration, with every default filled in."""
    from podwright.cli.config_run import show_configuration

    if file is not None and config is not None:
        refuse_idle("--config", f"with FILE {file}", "the two are the same")
    setup = Setup(
        config=file or config,
        plugins=tuple(plugin or ()),
        feature_gates=feature_gates,
        rules=rules,
        algorithm_provider=algorithm_provider,
        policy=policy,
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
        list[Path], typer.Argument(metavar="FILE", help="Configurations; - for stdin.")
    ],
    plugin: Plugins = None,
    rules: Rules = None,
    algorithm_provider: Provider = "",
    policy: PolicyFile = None,
    feature_gates: Gates = "",
) -> None:
    """Say everything that is wrong with a configuration, as kube-scheduler would.

    A Policy of the classic rules is checked as well.

    Plugins that are not in-tree are accepted if --plugin gives them. Exit status 1 if
    anything is wrong, 2 if a file cannot be read.
    """
    from podwright.cli.config_run import check_configurations

    setup = Setup(
        plugins=tuple(plugin or ()),
        feature_gates=feature_gates,
        rules=rules,
        algorithm_provider=algorithm_provider,
        policy=policy,
        given=given_on(ctx),
    )
    if not check_configurations(file, setup):
        raise typer.Exit(1)
