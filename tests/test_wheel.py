"""What `make wheel` builds."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
@pytest.mark.share
def test_a_commit_gives_the_same_wheel_wherever_and_whenever_it_is_built(tmp_path):
    built = []
    for second, name in enumerate(("first", "second")):
        tree = tmp_path / name
        tree.mkdir()
        for each in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / each, tree)
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "src" / "podwright", tree / "src" / "podwright", ignore=ignored)
        for file in tree.rglob("*"):
            os.utime(file, (second, 1_000_000_000 + second))
            file.chmod(0o755 if file.is_dir() else (0o644, 0o600)[second])
        subprocess.run(
            [str(Path(sys.executable).with_name("hatchling")), "build", "--target", "wheel"],
            cwd=tree,
            env=os.environ | {"SOURCE_DATE_EPOCH": "1700000000"},
            check=True,
            capture_output=True,
        )
        [wheel] = (tree / "dist").glob("*.whl")
        built.append(wheel.read_bytes())
    assert built[0] == built[1]
