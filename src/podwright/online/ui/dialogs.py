"""Dialogs of the forms: a frame with actions, confirmations, messages, and an editor for YAML."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from nicegui import ui

from podwright.online.ui.manifests import LineError


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
    """Add a button to the current row; return it."""
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


# An editor for YAML that marks the lines of errors.

_BEGIN: Final = """
const {{ editor }} = getElement({element});
editor.scrollDOM.scrollTop = 0;
editor.contentDOM.setAttribute("aria-label", "YAML");
editor.focus();
const [modules, {{ addCompletion }}] = await Promise.all([
  import("nicegui-codemirror"), import("/pictures/parts/yaml_completion.js"),
]);
if ({completes}) addCompletion(editor, modules);
return document.body.classList.contains("body--dark");
"""


class YamlEditor:
    """CodeMirror, and the list of errors below it.

    Parameters
    ----------
    text : str
        The text at first.
    completes : bool
        Whether fields of objects are completed from the server's OpenAPI documents.
    """

    def __init__(self, text: str = "", *, completes: bool = True) -> None:
        self._completes = completes
        self.code: Any = ui.codemirror(text, language="YAML", indent="  ").classes("pw-editor")
        self._problems: Any = ui.column().classes("pw-problems")
        self._problems.props('role="alert"')
        ui.timer(0.05, self._begin, once=True)

    @property
    def text(self) -> str:
        """The current text."""
        return str(self.code.value)

    async def _begin(self) -> None:
        completes = "true" if self._completes else "false"
        begin = _BEGIN.format(element=self.code.id, completes=completes)
        is_dark = await ui.run_javascript(begin)
        self.code.theme = "vscodeDark" if is_dark else "vscodeLight"

    def show(self, errors: Sequence[LineError]) -> None:
        """Mark the lines of errors, and list the errors; none clears the marks."""
        lines = {error.line: error.message for error in errors if error.line}
        count = self.text.count("\n") + 1
        self.code.decorations = [
            {"kind": "line", "line": line, "class": "pw-error-line"}
            for line in sorted(lines)
            if line <= count
        ]
        self.code.line_tooltips = {line: text for line, text in lines.items() if line <= count}
        self._problems.clear()
        with self._problems:
            for error in errors:
                self._add(error)
        if lines:
            self.code.reveal_line(min(*lines, count))

    def _add(self, error: LineError) -> None:
        with ui.row().classes("pw-problem"):
            if error.line:
                ui.button(
                    f"line {error.line}", on_click=lambda: self.code.reveal_line(error.line)
                ).props("flat dense no-caps")
            ui.label(error.message)
