"""What `make wheel` builds."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from podwright.cli import COMMANDS

ROOT = Path(__file__).parents[1]

RUNS = {
    "schedule quickstart --exit-zero": "",
    "explain batch/index-4 quickstart": "",
    "simulate quickstart --no-tables": "",
    "simulate quickstart --out run": "tables",
    "compare-rules quickstart": "",
    "diff quickstart --to-seed 1": "",
    "config show": "",
    "convert quickstart": "",
    "clock show": "",
    "sweep sweep/plan.yaml --out results --jobs 1": "sweep",
    "tune sweep/tune.yaml --out tuned --jobs 1 --trials 1": "tune",
    "import --server http://127.0.0.1:9": "live",
    "scheduler --server http://127.0.0.1:9": "live",
}
"""Commands, and the extra that each needs; what comes after it was found may be an error."""

INCLUDED = {"sweep": ("sweep", "tables"), "tune": ("tune", "sweep", "tables")}
UV = Path(sys.executable).with_name("uv")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    hatchling = str(Path(sys.executable).with_name("hatchling"))
    subprocess.run(
        [hatchling, "build", "--target", "wheel", "--directory", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    return next(folder.glob("*.whl"))


@pytest.mark.slow
@pytest.mark.skipif(not UV.exists(), reason="uv makes the environments in seconds")
@pytest.mark.parametrize("extra", ["", "live", "plots", "sweep", "tables", "tls", "tune", "ui"])
def test_every_command_runs_where_the_wheel_is_installed(extra, wheel, tmp_path):
    """A missing extra is named with the line that installs it."""
    environment = tmp_path / "environment"
    subprocess.run([UV, "venv", "--quiet", environment], check=True)
    installed = f"{wheel}[{extra}]" if extra else str(wheel)
    python = environment / "bin/python"
    subprocess.run([UV, "pip", "install", "--quiet", "--python", python, installed], check=True)
    examples = shutil.copytree(ROOT / "examples", tmp_path / "examples")

    def run(line):
        variables = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"]}
        command = [environment / "bin/podwright", *line.split()]
        return subprocess.run(
            command, cwd=examples, env=variables, capture_output=True, text=True, check=False
        )

    for command in COMMANDS:
        assert run(f"{command} --help").returncode == 0, command
    for line, needed in RUNS.items():
        done = run(line)
        said = " ".join((done.stdout + done.stderr).split())
        if needed and needed not in INCLUDED.get(extra, (extra,)):
            assert done.returncode, line
            assert f"pip install 'podwright[{needed}]'" in said, (line, said)
        else:
            assert "pip install" not in said, (line, said)
        assert "Traceback" not in said, (line, said)
        assert "a defect of podwright" not in said, (line, said)


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
