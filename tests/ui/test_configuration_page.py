"""The page of the configuration, driven as a person would."""

import signal
import threading

import pytest
from tests.ui.requests import request

pytestmark = pytest.mark.ui

PACKING = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy:
        type: MostAllocated
"""
CONFIGURATION = "/podwright/v1/configuration"


@pytest.fixture
def configuration(page, own_demo):
    page.goto(f"{own_demo.page}/configuration")
    page.locator(".cm-content").wait_for()
    return page


def write(page, text):
    page.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    page.keyboard.insert_text(text)


def test_errors_of_a_configuration_are_at_their_lines(configuration):
    page = configuration
    write(page, f"{PACKING}scorers: []\n")
    page.get_by_role("button", name="Check").click()
    page.locator(".cm-line.pw-error-line", has_text="scorers: []").wait_for()
    write(page, PACKING.replace("MostAllocated", "Most"))
    page.get_by_role("button", name="Check").click()
    page.get_by_text('Unsupported value: "Most"').wait_for()
    write(page, PACKING)
    page.get_by_role("button", name="Check").click()
    page.get_by_text("The configuration is valid. Nothing has been changed.").wait_for()
    assert page.locator(".pw-error-line").count() == 0


def test_a_configuration_is_compared_and_applied(configuration, own_demo):
    page = configuration
    write(page, PACKING)
    page.get_by_role("button", name="Compare").click()
    comparison = page.locator("pw-comparison")
    comparison.get_by_role("heading", name="placed differently").wait_for()
    assert comparison.get_by_role("cell", name="moved").count() > 0
    before = request(own_demo, "GET", CONFIGURATION)
    assert "MostAllocated" not in str(before), "a comparison changes nothing"
    page.get_by_role("button", name="Apply").click()
    page.get_by_text("The scheduler runs with this configuration.").wait_for()
    assert "MostAllocated" in str(request(own_demo, "GET", CONFIGURATION)["written"])
    page.locator("summary", has_text="NodeResourcesFit").click()
    page.locator(".pw-code", has_text="MostAllocated").wait_for()
    page.get_by_role("button", name="With defaults").click()
    page.locator(".cm-line", has_text="clientConnection").wait_for()


@pytest.mark.parametrize(
    ("path", "shown"), [("configuration", ".cm-content[aria-label]"), ("runs", "pw-runs h1")]
)
def test_a_server_that_is_busy_for_seconds_is_awaited(page, own_demo, path, shown):
    own_demo.process.send_signal(signal.SIGSTOP)
    resume = threading.Timer(4, own_demo.process.send_signal, (signal.SIGCONT,))
    resume.start()
    page.goto(f"{own_demo.page}/{path}")
    page.locator(shown).wait_for()
    resume.join()
