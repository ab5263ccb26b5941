"""The tutorial of the page, step by step and by keyboard alone, and its pictures.

PODWRIGHT_UPDATE_DOCS=1 takes the pictures again.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.e2e.command_line import ROOT
from tests.test_docs import FENCE
from tests.ui.installed import installed_command, installed_environment
from tests.ui.served import SECONDS_MAX, up
from tests.waiting import until

pytestmark = pytest.mark.ui

TUTORIAL = ROOT / "docs/tutorial/page.md"
PICTURES = ROOT / "docs/tutorial/page"
TABS_MAX = 120
FOCUSED = """() => {
  let element = document.activeElement;
  while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
  const label = element?.labels?.[0]?.textContent;
  return (label || element?.getAttribute("aria-label") || element?.textContent || "").trim();
}"""


def picture(page, name):
    path = PICTURES / f"{name}.png"
    if os.environ.get("PODWRIGHT_UPDATE_DOCS") == "1":
        PICTURES.mkdir(exist_ok=True)
        page.screenshot(path=path)
    assert path.exists(), f"{path}: PODWRIGHT_UPDATE_DOCS=1 takes it"


def tab_to(page, text):
    """Press Tab until an element with a text or label has the focus."""
    for _ in range(TABS_MAX):
        page.keyboard.press("Tab")
        if page.evaluate(FOCUSED) == text:
            return
    raise AssertionError(f"Tab does not reach {text!r}")


def test_every_step_of_the_tutorial_works_by_keyboard(page, own_demo):
    page.goto(own_demo.page)
    inspector, nodes = page.locator("pw-pod"), page.locator("pw-nodes")

    # Why is it pending?
    page.locator("pw-pending").get_by_role("link", name="default/training").wait_for()
    inspector.get_by_text("0/4 nodes are available").wait_for()
    inspector.get_by_role("button", name="Apply").first.wait_for()
    picture(page, "pending")

    # Fix it.
    page.keyboard.press("3")
    tab_to(page, "Apply")
    page.keyboard.press("Enter")
    nodes.get_by_role("link", name="training").wait_for()
    inspector.get_by_role("status").get_by_text("node-large").wait_for()
    page.locator("pw-pending").get_by_text("No pod waits for a node.").wait_for()
    picture(page, "placed")

    # An odd placement.
    page.keyboard.press("Escape")
    page.keyboard.press("2")
    tab_to(page, "database-0")
    page.keyboard.press("Enter")
    inspector.get_by_role("heading", name="default/database-0").wait_for()
    matrix = inspector.locator("pw-matrix").first
    matrix.get_by_role("link", name="node-a").wait_for()
    matrix.evaluate("element => element.scrollIntoView({ block: 'end' })")
    picture(page, "scores")

    # Change a weight, and compare.
    page.keyboard.press("c")
    compare = page.locator("pw-compare")
    compare.get_by_label("NodeResourcesFit", exact=True).wait_for()
    tab_to(page, "NodeResourcesFit")
    page.keyboard.press("Control+a")
    page.keyboard.type("50")
    tab_to(page, "Compare")
    page.keyboard.press("Enter")
    compare.get_by_text("Requested share").wait_for()
    picture(page, "compare")
    page.keyboard.press("Escape")
    page.keyboard.press("c")

    # Rewind.
    page.keyboard.press("p")
    page.locator("pw-time").get_by_text("PAUSED").wait_for()
    page.keyboard.press(",")
    page.locator("pw-time").get_by_text("PAST").first.wait_for()
    picture(page, "past")
    page.keyboard.press("l")
    page.locator("pw-time").get_by_text("PAST").first.wait_for(state="hidden")


@pytest.fixture
def runs(tmp_path):
    """The folder of the runs that the tutorial records, by its commands."""
    for name in ("examples", "src"):
        (tmp_path / name).symlink_to(ROOT / name)
    [block] = [
        fence["text"]
        for fence in FENCE.finditer(TUTORIAL.read_text(encoding="utf-8"))
        if "podwright simulate" in fence["text"]
    ]
    *commands, start = map(shlex.split, block.splitlines())
    assert start == ["podwright", "up", "--demo", "--runs", "runs", "--open"]
    for command in commands:
        assert command[:2] == ["podwright", "simulate"]
        done = subprocess.run(
            [installed_command(), *command[1:]],
            cwd=tmp_path,
            env=installed_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1, "pods of the example remain pending" + done.stderr
    return tmp_path / "runs"


def test_two_runs_are_compared_by_keyboard(context, watched, runs, tmp_path):
    with up(tmp_path / "cluster", "--demo", "--runs", str(runs)) as cluster:
        page = context.new_page()
        watched.follow(page)
        page.goto(cluster.page)
        page.locator("pw-pending").get_by_role("link", name="default/training").wait_for()
        tab_to(page, "Runs")
        page.keyboard.press("Enter")
        page.get_by_role("link", name="Open").first.wait_for()
        tab_to(page, "Open")
        page.keyboard.press("Enter")
        page.get_by_text("Run 1-spread").wait_for()
        page.locator("pw-time").get_by_text("PAST").wait_for()
        page.locator("pw-pending li").first.wait_for()
        page.keyboard.press("c")
        compare = page.locator("pw-compare")
        compare.get_by_role("option", name="2-packed").wait_for(state="attached")
        tab_to(page, "Compare with the run")
        page.keyboard.press("End")
        page.wait_for_url("**with=run:2-packed**")
        compare.get_by_role("status").get_by_text("placed differently").wait_for()
        compare.locator(".because", has_text="NodeResourcesFit").nth(5).wait_for()
        picture(page, "runs")
        page.close()


@pytest.fixture
def demo_sync(tmp_path):
    """The page of B of `make demo-sync`."""
    log = tmp_path / "log"
    command = [sys.executable, str(ROOT / "examples/sync/demo.py")]
    with log.open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, cwd=tmp_path)
    try:

        def served_page():
            assert process.poll() is None, log.read_text()
            return re.search(r"^B: .*, page: (\S+)$", log.read_text(), re.MULTILINE)

        yield until(served_page, SECONDS_MAX, describe=log.read_text)[1]
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(SECONDS_MAX)


def test_a_sync_is_shown_by_keyboard(context, watched, demo_sync):
    page = context.new_page()
    watched.follow(page)
    page.goto(demo_sync)
    page.locator("pw-nodes").get_by_text("2 nodes").wait_for()
    tab_to(page, "Sync")
    page.keyboard.press("Enter")
    sync = page.locator("pw-sync")
    worker = sync.locator("a", has_text="default/worker").first
    worker.wait_for()
    sync.get_by_text("B (this cluster)").wait_for()
    sync.get_by_text("following").first.wait_for()
    picture(page, "sync")
    name = worker.inner_text()
    tab_to(page, name)
    page.keyboard.press("Enter")
    inspector = page.locator("pw-pod")
    inspector.get_by_role("heading", name=name).wait_for()
    inspector.get_by_text("Why it is pending").wait_for()
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 1920])
def test_the_page_looks_right(new_context, demo, scheme, width):
    height = {1280: 800, 1920: 1080}[width]
    viewport = {"width": width, "height": height}
    page = new_context(viewport=viewport, color_scheme=scheme).new_page()
    page.goto(demo.page)
    page.locator("pw-pod").get_by_role("button", name="Apply").first.wait_for()
    page.locator("pw-nodes").get_by_text("4 nodes").wait_for()
    picture(page, f"cluster-{width}-{scheme}")
    overflow = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert overflow <= 0, "nothing is wider than the window"


def test_the_tutorial_shows_pictures_that_exist():
    shown = re.findall(r"\(page/([\w-]+\.png)\)", TUTORIAL.read_text(encoding="utf-8"))
    assert shown
    missing = [name for name in shown if not (PICTURES / Path(name)).exists()]
    assert not missing
