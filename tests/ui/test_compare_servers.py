"""Two clusters side by side, driven in a browser on real servers."""

import json
import urllib.error
import urllib.request

import pytest
from tests.ui.requests import request
from tests.ui.served import served, up

pytestmark = pytest.mark.ui

PACKED = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {
            "schedulerName": "default-scheduler",
            "pluginConfig": [
                {
                    "name": "NodeResourcesFit",
                    "args": {
                        "scoringStrategy": {
                            "type": "MostAllocated",
                            "resources": [{"name": "cpu", "weight": 1}],
                        }
                    },
                }
            ],
        }
    ],
}


def place_pods(running):
    """Create pods of the same names in each cluster."""
    for name in ("first", "second"):
        container = {"name": "main", "image": "app", "resources": {"requests": {"cpu": "2"}}}
        body = {"metadata": {"name": name}, "spec": {"containers": [container]}}
        request(running, "POST", "/api/v1/namespaces/default/pods", body)


@pytest.fixture
def two(tmp_path):
    """The page of a cluster that spreads pods, and compares with one that packs them."""
    config = tmp_path / "packed.yaml"
    config.write_text(json.dumps(PACKED))
    nodes = ("--nodes", "3", "--seed", "1")
    with (
        up(tmp_path / "spread", *nodes) as spread,
        up(tmp_path / "packed", *nodes, "--config", str(config)) as packed,
    ):
        place_pods(spread)
        place_pods(packed)
        files = [side.folder / "podwright.kubeconfig" for side in (spread, packed)]
        arguments = ("--kubeconfig", str(files[0]), "--compare", str(files[1]), "--port", "0")
        with served(tmp_path / "page", "page", *arguments) as page:
            yield page, packed


def test_differences_of_two_servers_have_their_plugin(two, page):
    running, packed = two
    page.goto(f"{running.page}/?view=compare")
    compare = page.locator("pw-compare")
    compare.get_by_role("button", name=packed.server).click()
    page.wait_for_url("**with=server**")
    compare.get_by_role("status").get_by_text("of 2 ").wait_for()
    row = compare.locator("pw-servers tr", has_text="default/second")
    row.get_by_text("NodeResourcesFit").first.wait_for()
    compare.get_by_role("img", name="Requested share of cpu").wait_for()
    compare.get_by_role("button", name="Weights or a configuration").click()
    compare.get_by_text("Change a weight").wait_for(state="hidden")
    compare.get_by_label("ImageLocality", exact=True).wait_for()
    page.close()


def test_the_compared_server_is_only_read(two):
    running, _ = two
    headers, body = running.get("/compared/version")
    assert json.loads(body)["major"]
    assert "authorization" not in {name.lower() for name in headers}
    path = "/compared/api/v1/namespaces/default/pods/first"
    sent = urllib.request.Request(
        running.page + path,
        method="DELETE",
        headers={"x-podwright-page": "1", "origin": running.page},
    )
    with pytest.raises(urllib.error.HTTPError) as failure:
        urllib.request.urlopen(sent, timeout=60)
    assert failure.value.code in {404, 405}
    failure.value.close()
    assert json.loads(running.get(path)[1])["metadata"]["name"] == "first"
