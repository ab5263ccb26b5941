"""Dialogs of the forms: a frame with actions, confirmations, and messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from nicegui import ui


@contextmanager
def form(title: str, *, is_small: bool = False) -> Iterator[tuple[Any, Any]]:
    """Open a dialog; what is added in the block is its content.

    Parameters
    ----------
    title : str
    is_small : bool
        Whether it is only as high as its content.

    Yields
    ------
    dialog, actions : tuple
        The dialog, and the row of its buttons.
    """
    with (
        ui.dialog().props("persistent") as dialog,  # Esc leaves the editor, and loses no text
        ui.card().classes("pw-dialog pw-small" if is_small else "pw-dialog"),
    ):
        dialog.props["aria-label"] = title
        ui.label(title).classes("pw-dialog-title")
        content = ui.column().classes("pw-dialog-content")
        actions = ui.row().classes("pw-dialog-actions")
        with content:
            yield dialog, actions
    shown: Any = dialog  # a dialog can be awaited, and need not be
    shown.on("hide", shown.delete)
    shown.open()


async def confirm(title: str, lines: Sequence[str], verb: str) -> bool:
    """Return whether the user confirms an action.

    Parameters
    ----------
    title : str
        The question.
    lines : sequence of str
        What it is about.
    verb : str
        The text of the button.
    """
    with ui.dialog() as dialog, ui.card().classes("pw-dialog pw-small"):
        dialog.props["aria-label"] = title
        ui.label(title).classes("pw-dialog-title")
        with ui.column().classes("pw-dialog-content pw-lines"):
            for line in lines:
                ui.label(line)
        with ui.row().classes("pw-dialog-actions"):
            ui.space()
            ui.button("Cancel", on_click=lambda: dialog.submit(None)).props(
                "flat no-caps autofocus"
            )
            ui.button(verb, on_click=lambda: dialog.submit(verb)).props("unelevated no-caps")
    answer = await dialog
    dialog.delete()
    return answer is not None


def add_button(text: str, act: Callable[[], Any], *, is_primary: bool = False) -> Any:
    """Add a button to the present row; return it."""
    button: Any = ui.button(text, on_click=act, color=None).props("flat no-caps")
    return button.classes("pw-primary" if is_primary else "pw-secondary")


def notify_done(text: str) -> None:
    """Show for a moment that something was done."""
    ui.notify(text, position="bottom-right", timeout=4_000, color=None, classes="pw-done")


def notify_error(text: str) -> None:
    """Show an error until the user closes it."""
    ui.notify(
        text,
        position="bottom-right",
        timeout=0,
        color=None,
        classes="pw-failed",
        close_button="Close",
        multi_line=True,
    )


def signal_change() -> None:
    """Let the elements of the page read the server's data again."""
    client: Any = ui.context.client
    client.run_javascript("document.dispatchEvent(new Event('pw-changed'))")
