"""What is on the screen does not jump while the cluster changes."""

import time

import pytest
from tests.ui.requests import request

pytestmark = pytest.mark.ui

SECONDS = 60
SHIFT_MAX = 0.01
WATCH = """
window.shift = 0;
window.shifts = [];
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) {
    if (entry.hadRecentInput) continue;
    window.shift += entry.value;
    const places = entry.sources.map(({ node }) => `${node?.nodeName}.${node?.className}`);
    window.shifts.push(`${entry.value} ${places}`);
  }
}).observe({ type: "layout-shift" });
"""
POD = {
    "spec": {
        "containers": [{"name": "main", "image": "app", "resources": {"requests": {"cpu": "100m"}}}]
    }
}


def test_nothing_shifts_while_the_cluster_changes(page, own_demo):
    page.goto(own_demo.page)
    page.locator("pw-pod").get_by_role("button", name="Apply").first.wait_for()
    page.wait_for_timeout(2_000)
    page.evaluate(WATCH)
    pods = "/api/v1/namespaces/default/pods"
    end = time.monotonic() + SECONDS
    number = 0
    while time.monotonic() < end:
        number += 1
        request(own_demo, "POST", pods, POD | {"metadata": {"name": f"new-{number}"}})
        if number > 5:
            request(own_demo, "DELETE", f"{pods}/new-{number - 5}")
        page.wait_for_timeout(1_000)
    assert page.evaluate("window.shift") < SHIFT_MAX, page.evaluate("window.shifts")
