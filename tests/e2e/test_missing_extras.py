"""Commands whose libraries are not installed say what to install."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("main", "line"),
    [
        ("podwright.cli", ["import"]),
        ("podwright.cli.clusters.kubectl_plugin", ["explain", "web-0"]),
    ],
)
def test_what_to_install_is_named(main, line, tmp_path):
    absent = tmp_path / "aiohttp.py"
    absent.write_text('raise ModuleNotFoundError("No module", name="aiohttp")\n', encoding="utf-8")
    code = f"import sys; sys.argv = ['x', *{line}]; from {main} import main; main()"
    ended = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,  # the first place in which modules are searched
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2, ended.stderr
    assert "install it with: pip install 'podwright[live]'" in ended.stderr
    assert "defect" not in ended.stderr
