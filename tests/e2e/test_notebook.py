"""The notebook of examples/: all of its cells run, as in a notebook."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import matplotlib as mpl
import pytest
from IPython.core.interactiveshell import InteractiveShell


def test_the_notebook_goes_from_a_trace_to_a_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "trace"
    shutil.copytree(Path("examples/trace").resolve(), folder)
    monkeypatch.chdir(folder)
    mpl.use("agg")
    # IPython runs the cells in this process: no kernel, and no other library.
    shell = InteractiveShell()
    for cell in json.loads(Path("trace.ipynb").read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            shell.run_cell("".join(cell["source"])).raise_error()
    names = shell.user_ns
    runs = names["runs"]
    assert runs["default"].summary.counts.placed == 300
    assert runs["default"].node_of != runs["most allocated"].node_of
    (axes,) = names["figure"].axes
    assert [line.get_label() for line in axes.lines] == ["default", "most allocated"]
