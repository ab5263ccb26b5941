"""`podwright up`: the options of the API of kube-scheduler-simulator."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from podwright.cli.option_groups import OptionGroup

if TYPE_CHECKING:
    from podwright.cli.serving.up_simulator import SimulatorOptions


@dataclass(frozen=True, kw_only=True)
class KssOptions(OptionGroup):
    """The API of kube-scheduler-simulator, and who may use it."""

    heading: ClassVar[str] = "kube-scheduler-simulator"

    kss_port: Annotated[
        int | None,
        typer.Option(
            "--kss-port",
            metavar="PORT",
            min=0,
            max=65535,
            help="Serve the HTTP API of kube-scheduler-simulator on this port of --address, "
            "with the same credentials as the Kubernetes API. 0: any free port.",
            show_default=False,
        ),
    ] = None
    kss_config: Annotated[
        Path | None,
        typer.Option(
            "--kss-config",
            metavar="FILE",
            help="Read a SimulatorConfiguration of kube-scheduler-simulator, and its environment "
            "variables. Options of the command line override it.",
            show_default=False,
        ),
    ] = None
    cors_origin: Annotated[
        list[str] | None,
        typer.Option(
            "--cors-origin",
            metavar="ORIGIN",
            help="Let pages of this origin use the APIs, for example http://localhost:3000. "
            "May be repeated.",
            show_default=False,
        ),
    ] = None
    allow_extender: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-extender",
            metavar="HOST",
            help="Let a configuration that is sent over HTTP name extenders on this host, with a "
            "port or without. May be repeated.",
            show_default=False,
        ),
    ] = None

    def simulator_options(self) -> SimulatorOptions:
        """Return the options of the API.

        Raises
        ------
        BadParameter
            If an origin or a host is not one.
        """
        from podwright.cli.serving.up_simulator import SimulatorOptions, is_origin

        for text in self.cors_origin or ():
            if not is_origin(text):
                message = f'"{text}" is not an origin, such as http://localhost:3000.'
                raise typer.BadParameter(message, param_hint="'--cors-origin'")
        if "" in (self.allow_extender or ()):
            raise typer.BadParameter("must not be empty.", param_hint="'--allow-extender'")
        return SimulatorOptions(
            port=self.kss_port,
            origins=tuple(self.cors_origin or ()),
            allowed_hosts=tuple(self.allow_extender or ()),
        )
