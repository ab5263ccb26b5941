"""The tests of the page use the wheel, which has all that the page serves."""

import subprocess

import pytest
from tests.ui.installed import ROOT, installed_command

pytestmark = pytest.mark.ui


@pytest.mark.share
def test_the_page_is_that_of_the_wheel(demo):
    python = installed_command().with_name("python")
    found = subprocess.run(
        [python, "-c", "import podwright; print(podwright.__file__)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.startswith(str(python.parents[1]))
    pictures = ROOT / "src" / "podwright" / "online" / "ui" / "pictures"
    for file in (each for each in pictures.rglob("*") if each.is_file()):
        path = file.relative_to(pictures).as_posix()
        assert demo.get(f"/pictures/{path}")[1] == file.read_bytes(), path
