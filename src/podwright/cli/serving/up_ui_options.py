"""`podwright up`: the options of the web page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from podwright.cli.option_groups import OptionGroup
from podwright.cli.options import reject_idle

if TYPE_CHECKING:
    from podwright.cli.serving.up_page import PageOptions


@dataclass(frozen=True, kw_only=True)
class UiOptions(OptionGroup):
    """The web page."""

    heading: ClassVar[str] = "Page"

    has_page: Annotated[
        bool,
        typer.Option("--ui/--no-ui", help="Whether to serve the web page on 127.0.0.1 as well."),
    ] = True
    ui_port: Annotated[
        int | None,
        typer.Option(
            "--ui-port",
            metavar="PORT",
            min=0,
            max=65535,
            help="The port of the page. Defaults to 8181, or any free one if that is in use.",
            show_default=False,
        ),
    ] = None
    is_opened: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False

    def page_options(self, given: frozenset[str], *, is_bare: bool) -> PageOptions:
        """Return the options of the page.

        Raises
        ------
        BadParameter
            If an option has no effect.
        """
        from podwright.cli.serving.up_page import PageOptions

        if is_bare or not self.has_page:
            for name, option in _OPTIONS.items():
                if name in given and (self.has_page or name != "has_page"):
                    reason = f"with --{'bare' if is_bare else 'no-ui'}"
                    reject_idle(option, reason, "the page is not served")
        return PageOptions(
            is_served=self.has_page and not is_bare,
            port=self.ui_port,
            is_opened=self.is_opened,
            is_demanded=not given.isdisjoint(_OPTIONS),
        )


_OPTIONS = {"has_page": "--ui", "ui_port": "--ui-port", "is_opened": "--open"}
