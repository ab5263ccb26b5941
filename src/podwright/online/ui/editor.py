"""An editor for YAML that marks the lines of errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from nicegui import ui

from podwright.online.ui.manifests import LineError

_BEGIN: Final = """
const {{ editor }} = getElement({element});
editor.scrollDOM.scrollTop = 0;
editor.contentDOM.setAttribute("aria-label", "YAML");
editor.focus();
const [modules, {{ addCompletion }}] = await Promise.all([
  import("nicegui-codemirror"), import("/pictures/yaml_completion.js"),
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
        """The present text."""
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
