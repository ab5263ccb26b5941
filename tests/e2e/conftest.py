"""Fixtures for the tests of the command line."""

import pytest
from tests.e2e.command_line import ROOT

from podwright.simulation.recording.tests.recorded import record_run


@pytest.fixture(autouse=True)
def _in_the_root(monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    # Commands that go on must print each line by themselves.
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)


@pytest.fixture
def write(tmp_path):
    def write(name: str, text: str) -> str:
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return write


@pytest.fixture(scope="session")
def a_run(tmp_path_factory):
    """The folder of a recorded run."""
    folder = tmp_path_factory.mktemp("recorded") / "run"
    record_run(folder / "log", checkpoint_events=20)
    return folder
