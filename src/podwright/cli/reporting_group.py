"""Groups of commands whose errors become a message and an exit status."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import typer
from typer.core import TyperGroup

from podwright.cli.process_exit import keep_from_typer, reduced_collection

_UsageError: Any = typer.BadParameter.__mro__[1]
"""The base class of all wrong uses; Typer exports only classes derived from it."""

_EXTRA_OF: Final = {
    "aiohttp": "podwright[live]",
    "cryptography": "podwright[tls]",
    "dask": "podwright[sweep]",
    "distributed": "podwright[sweep]",
    "httpx": "podwright[ui]",
    "kubernetes_asyncio": "podwright[live]",
    "matplotlib": "podwright[plots]",
    "nicegui": "podwright[ui]",
    "optuna": "podwright[tune]",
    "prometheus_client": "podwright[live]",
    "pyarrow": "podwright[tables]",
}
"""What to install for a module that is not part of the core."""


class ReportingGroup(TyperGroup):
    """A group of commands that reports errors."""

    def make_context(self, *arguments: Any, **settings: Any) -> Any:
        """Read the command line."""
        with keep_from_typer(), _reported_usage():
            return super().make_context(*arguments, **settings)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; convert a `PodwrightError` into a message and an exit status."""
        with keep_from_typer(), _reported_usage():
            try:
                with reduced_collection():
                    return super().invoke(ctx)
            except (typer.Exit, typer.Abort, KeyboardInterrupt):
                raise
            except _refusals() as error:
                from podwright.cli.console import report_error

                raise typer.Exit(report_error(error)) from error
            except ModuleNotFoundError as error:
                extra = _EXTRA_OF.get((error.name or "").partition(".")[0])
                if extra is None:
                    raise
                from podwright.cli.console import report_error

                message = f"{error.name} is not installed; install it with: pip install '{extra}'"
                raise typer.Exit(report_error(_refusals()(message))) from error
            except Exception:
                raise
            except BaseException as error:
                from podwright.cli.console import report_error

                raise typer.Exit(report_error(_ended_by_a_plugin(error))) from error


@contextmanager
def _reported_usage() -> Iterator[None]:
    """Print a wrong use of the command line, with the same prefix as other errors."""
    try:
        yield
    except _UsageError as error:
        context = error.ctx
        if context is not None:
            hint = f"Try '{context.command_path} {context.help_option_names[0]}' for help."
            typer.echo(f"{context.get_usage()}\n{hint}\n", err=True)
        typer.echo(f"error: {error.format_message()}", err=True)
        raise typer.Exit(error.exit_code) from error


def _ended_by_a_plugin(error: BaseException) -> Exception:
    from traceback import extract_tb

    # No command raises SystemExit or the like, so the innermost frame is in a plugin.
    place = extract_tb(error.__traceback__)[-1]
    return _refusals()(f"{place.filename}: line {place.lineno}: {type(error).__name__} was raised")


def _refusals() -> type[Exception]:
    # Evaluated only when an exception was raised, so `--help` does not import it.
    from podwright.apimachinery.objects import PodwrightError

    return PodwrightError
