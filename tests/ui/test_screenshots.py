"""Every view, wide and narrow, light and dark, of a small and of a large cluster, as pictures.

PODWRIGHT_SCREENSHOTS names a folder that gets all of them, to be looked at one by one;
PODWRIGHT_UPDATE_DOCS=1 takes those of docs/reference/page.md again.
"""

import io
import os
import re
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from tests.ui.requests import request
from tests.ui.served import up
from tests.ui.test_sync_page import STATUS, SYNC
from tests.waiting import until

import podwright as pw

pytestmark = [pytest.mark.ui, pytest.mark.slow]

DOCS = Path(__file__).parents[2] / "docs/reference"
FOLDER = os.environ.get("PODWRIGHT_SCREENSHOTS", "")
SIZES = {1440: 900, 390: 844}
POD = "/?pod=default/training"
TYPES = "types: [{name: large, price: 2, allocatable: {cpu: 128, memory: 512Gi}}]"
GROUPS = "groups: [{name: large, maxSize: 5, template: {allocatable: {cpu: 128, memory: 512Gi}}}]"


def plan(question, **fields):
    """Return the address of a question that is answered."""
    text = urlencode({"question": question, "asked": "1"} | fields)
    return f"/?view=plan&plan={quote(text)}"


VIEWS = {
    "pending": (POD, "pw-pod .remedies"),
    "map": ("/?node=node-1&color=memory", "pw-node h2, pw-node table"),
    "reasons": (f"{POD}&color=reason&only=NodeResourcesFit: Insufficient cpu", "pw-pod .remedies"),
    "scores": ("/?pod=default/PLACED", "pw-matrix .line"),
    "compare": ("/?view=compare&change=NodeResourcesFit:50", "pw-comparison h2"),
    "capacity": (plan("capacity", cpu="2", memory="2Gi"), "pw-plan .answer li"),
    "drains": (plan("drain", nodes="node-1 node-2"), "pw-plan .answer li"),
    "purchase": (plan("buy", manifest=TYPES), "pw-plan .answer li"),
    "autoscaling": (plan("autoscale", manifest=GROUPS), "pw-plan .answer li"),
    "usage": ("/?view=usage", "pw-curves canvas"),
    "queue": ("/queue", "pw-queue table"),
    "resources": ("/resources?kind=pods", "pw-resources .line"),
    "configuration": ("/configuration", ".cm-content[aria-label]"),
    "runs": ("/runs", "pw-runs td"),
    "run": ("/run?run=first", "pw-nodes .card, pw-heat-map canvas"),
    "findings": ("/run?run=first&view=results", "pw-curves canvas"),
    "sync": ("/sync", "pw-sync table"),
}
WORKLOAD = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, namespace: default}
spec:
  replicas: REPLICAS
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec: {containers: [{name: c, image: i, resources: {requests: {cpu: CPU, memory: MEMORY}}}]}
---
"""
TRAINING = """
apiVersion: v1
kind: Pod
metadata: {name: training, namespace: default}
spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "64", memory: 16Gi}}}]}
"""
WORKLOADS = (("web", 2.0, "500m", "1Gi"), ("api", 1.0, "1", "2Gi"), ("batch", 0.3, "64", "1Gi"))


def manifest(node_count):
    """Return workloads for so many nodes, of which some fit nowhere."""
    text = TRAINING + "---"
    for name, share, cpu, memory in WORKLOADS:
        replicas = str(int(share * node_count))
        text += WORKLOAD.replace("NAME", name).replace("REPLICAS", replicas)
        text = text.replace("CPU", cpu).replace("MEMORY", memory)
    return text


@pytest.fixture(scope="module", params=[12, 5_000])
def filled(request, tmp_path_factory):
    """A cluster with so many nodes, workloads, a run and a sync; and a pod that has a node."""
    folder = tmp_path_factory.mktemp("filled")
    pods = folder / "pods.yaml"
    pods.write_text(manifest(request.param))
    nodes = [pw.testing.make_node(f"node-{number}", cpu="4") for number in range(1, 13)]
    created = [pw.testing.make_pod(f"pod-{number}", cpu="1500m") for number in range(30)]
    pw.simulate([*nodes, *created], output=str(folder / "runs/first"))
    options = ("--nodes", str(request.param), "--runs", str(folder / "runs"), str(pods))
    with up(folder / "cluster", *options) as served:
        yield served, request.param, until(lambda: _placed(served, request.param), 300)


def _placed(served, node_count):
    """Return a pod with a node, once as many have one as there are to be placed."""
    due = sum(int(share * node_count) for name, share, _, _ in WORKLOADS if name != "batch")
    counts = request(served, "GET", "/podwright/v1/queue?limit=1")["counts"]
    if sum(counts.values()) != 1 + int(0.3 * node_count):
        return None
    items = request(served, "GET", f"/api/v1/namespaces/default/pods?limit={due + 10}")["items"]
    return next((each["metadata"]["name"] for each in items if each["spec"].get("nodeName")), None)


BROKEN = re.compile(r"undefined|NaN|\[object|Infinity")

TEXT = """() => {
  // The text of a host is not that of its shadow root.
  const shown = (root) => [...root.children].map((e) => (e.checkVisibility() ? e.innerText : ""));
  const hosts = (root) => [...root.querySelectorAll("*")].filter((e) => e.shadowRoot);
  const text = (root) => [shown(root), ...hosts(root).map((e) => text(e.shadowRoot))].join();
  return text(document.body);
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", SIZES)
@pytest.mark.parametrize("view", VIEWS)
def test_a_view_fits_its_window(page, filled, tmp_path, view, width, scheme):
    served, node_count, placed = filled
    path, shown = VIEWS[view]
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    request(served, "PUT", SYNC, STATUS | {"reportedAt": now})
    page.set_default_timeout(30_000 if node_count == 12 else 120_000)
    page.set_viewport_size({"width": width, "height": SIZES[width]})
    page.emulate_media(color_scheme=scheme)
    page.goto(served.page + path.replace("PLACED", placed))
    page.locator(shown).first.wait_for(state="attached")
    for _ in range(2):  # what is loaded may load more
        page.wait_for_function(f"() => !/Loading…|results for the pod yet/.test(({TEXT})())")
        page.wait_for_timeout(600)
    assert not BROKEN.search(page.evaluate(TEXT))
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    taken = page.screenshot()
    (Path(FOLDER or tmp_path) / f"{view}-{node_count}-{width}-{scheme}.png").write_bytes(taken)
    if node_count == 12 and width == 1440 and scheme == "light":
        picture = DOCS / f"page/{view}.webp"
        if os.environ.get("PODWRIGHT_UPDATE_DOCS") == "1":
            from PIL import Image

            Image.open(io.BytesIO(taken)).save(picture, quality=60, method=6)
        assert picture.stat().st_size < 100_000, f"PODWRIGHT_UPDATE_DOCS=1 takes {picture}"
        assert f"(page/{picture.name})" in (DOCS / "page.md").read_text(encoding="utf-8")
