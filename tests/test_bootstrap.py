"""What `make` installs."""

import importlib.util
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_uv_gets_the_indexes_of_pip(monkeypatch):
    spec = importlib.util.spec_from_file_location("bootstrap", ROOT / "tools" / "bootstrap.py")
    assert spec is not None
    assert spec.loader is not None
    bootstrap = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bootstrap)
    monkeypatch.setenv("PIP_INDEX_URL", "https://index.example/simple")
    monkeypatch.setenv("PIP_FIND_LINKS", "wheels more")
    monkeypatch.setenv("UV_INDEX", "https://own.example/simple")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "https://other.example/simple")
    monkeypatch.delenv("UV_DEFAULT_INDEX", raising=False)
    monkeypatch.delenv("UV_FIND_LINKS", raising=False)
    found = bootstrap.environment_of_uv(sys.executable)
    assert found["UV_DEFAULT_INDEX"] == "https://index.example/simple"
    assert found["UV_FIND_LINKS"] == "wheels,more"
    assert found["UV_INDEX"] == "https://own.example/simple"


def test_the_first_command_needs_the_core_alone():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    needed = dict(re.findall(r"^(\S+): (\$\(VENV\)/\S+)", makefile, re.MULTILINE))
    assert needed["run"] == "$(VENV)/.core"
    assert needed["up"] == needed["demo-sync"] == "$(VENV)/.page"
    assert needed["test"] == needed["lint"] == "$(VENV)/.installed"
