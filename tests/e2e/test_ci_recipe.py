"""The recipes for CI: their commands run in a shell, and write what the services read."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/howto/check-in-ci.md"


def recipes() -> list[list[str]]:
    """Return the commands of each recipe of the page."""
    blocks = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    documents = [yaml.safe_load(block) for block in blocks]
    return [found for document in documents if (found := commands(document))]


def commands(document: Any) -> list[str]:
    if "jobs" in document:
        steps = document["jobs"]["check"]["steps"]
        return [step["run"] for step in steps if "run" in step]
    return [line for job in document.values() if "script" in job for line in job["script"]]


@pytest.mark.parametrize("lines", recipes(), ids=["github", "gitlab"])
def test_the_commands_of_a_recipe_run(lines: list[str], tmp_path: Path) -> None:
    install, check = lines
    assert install == "pip install podwright"
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
    }
    subprocess.run(["sh", "-ec", check], cwd=tmp_path, env=environment, check=True)
    suites = ET.parse(tmp_path / "junit.xml").getroot()
    assert suites.attrib == {"tests": "4", "failures": "0"}
    if "SUMMARY" in check:
        assert "4 passed" in (tmp_path / "summary.md").read_text(encoding="utf-8")
