"""`podwright up`: the options of the address and of TLS."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from podwright.cli.option_groups import OptionGroup
from podwright.cli.options import reject_idle

DEFAULT_PORT = 8180


def _ip_address(text: str) -> str:
    """Read an IP address; `localhost` is the one of IPv4."""
    try:
        return str(ipaddress.ip_address("127.0.0.1" if text == "localhost" else text))
    except ValueError:
        raise typer.BadParameter(f'"{text}" is not an IP address, such as 127.0.0.1.') from None


@dataclass(frozen=True, kw_only=True)
class ServingOptions(OptionGroup):
    """Where the cluster is served, with or without TLS."""

    heading: ClassVar[str] = "Serving"

    port: Annotated[
        int,
        typer.Option("--port", metavar="PORT", min=0, max=65535, help="0: any free port."),
    ] = DEFAULT_PORT
    address: Annotated[
        str,
        typer.Option(
            "--address",
            metavar="IP",
            parser=_ip_address,
            help="The IP address to serve. One that other machines reach needs --tls.",
        ),
    ] = "127.0.0.1"
    tls: Annotated[
        bool,
        typer.Option(
            "--tls",
            help="Serve over TLS, with certificates that are made once and kept. Needs "
            "podwright[tls].",
        ),
    ] = False
    tls_san: Annotated[
        list[str] | None,
        typer.Option(
            "--tls-san",
            metavar="NAME",
            help="A further name or address in the certificate. Repeatable.",
        ),
    ] = None
    tls_cert: Annotated[
        Path | None,
        typer.Option(
            "--tls-cert",
            metavar="FILE",
            help="The server's own certificate and its chain, in PEM; with --tls-key.",
        ),
    ] = None
    tls_key: Annotated[
        Path | None,
        typer.Option("--tls-key", metavar="FILE", help="The key of --tls-cert, in PEM."),
    ] = None

    @property
    def has_tls(self) -> bool:
        """Whether the cluster is served over TLS."""
        return self.tls or self.tls_cert is not None or self.tls_key is not None

    def check(self, given: frozenset[str], *, is_bare: bool) -> None:
        """Reject an address that others reach without protection, and options without effect.

        Raises
        ------
        BadParameter
        """
        if ("tls_cert" in given) != ("tls_key" in given):
            raise typer.BadParameter(
                "must be given together.", param_hint="'--tls-cert', '--tls-key'"
            )
        if "tls_san" in given and "tls_cert" in given:
            reject_idle("--tls-san", "with --tls-cert", "that certificate has its names")
        if "tls_san" in given and not self.has_tls:
            reject_idle("--tls-san", "without --tls", "there is no certificate")
        if ipaddress.ip_address(self.address).is_loopback:
            return
        if not self.has_tls:
            raise typer.BadParameter(
                f"other machines reach {self.address}, so it is served over TLS only: add --tls.",
                param_hint="'--address'",
            )
        if is_bare:
            raise typer.BadParameter(
                "the tokens of --bare are known, so it is served on loopback only, not on"
                f" {self.address}.",
                param_hint="'--address'",
            )
