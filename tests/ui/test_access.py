"""What a user may not do is not offered."""

import pytest
import yaml
from tests.ui.requests import request
from tests.ui.served import served, up

pytestmark = pytest.mark.ui

RULES = [
    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]},
    {"nonResourceURLs": ["*"], "verbs": ["get"]},
    {
        "nonResourceURLs": ["/podwright/v1/what-if", "/podwright/v1/configuration/*"],
        "verbs": ["post"],
    },
]
RBAC = "/apis/rbac.authorization.k8s.io/v1"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
CHANGES = ("Create…", "Edit…", "Delete…", "Import…", "Reset…", "Apply", "Move", "Cordon", "Drain")


@pytest.fixture(scope="module")
def reader(demo, tmp_path_factory):
    """The page of a user who may only read."""
    folder = tmp_path_factory.mktemp("reader")
    request(demo, "POST", ACCOUNTS, {"metadata": {"name": "reader"}})
    request(demo, "POST", f"{RBAC}/clusterroles", {"metadata": {"name": "reader"}, "rules": RULES})
    binding = {
        "metadata": {"name": "reader"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "reader",
        },
        "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": "default"}],
    }
    request(demo, "POST", f"{RBAC}/clusterrolebindings", binding)
    token = request(demo, "POST", f"{ACCOUNTS}/reader/token", {"spec": {}})["status"]["token"]
    config = yaml.safe_load((demo.folder / "podwright.kubeconfig").read_text())
    config["users"][0]["user"] = {"token": token}
    (folder / "config").write_text(yaml.safe_dump(config))
    with served(folder, "page", "--kubeconfig", str(folder / "config"), "--port", "0") as page:
        yield page


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/", "training"),
        ("/?pod=default/training", "nodes are available"),
        ("/?node=node-a", "node-a"),
        ("/queue", "default/training"),
        ("/resources", "database-0"),
        ("/configuration", "Configuration"),
    ],
)
def test_a_user_who_may_only_read_sees_no_action(page, reader, path, text):
    page.goto(reader.page + path)
    page.get_by_text(text).first.wait_for()
    page.wait_for_timeout(1_000)  # what is allowed arrives after the data
    shown = [name for name in page.get_by_role("button").all_inner_texts() if name in CHANGES]
    assert not shown


def test_the_administrator_sees_actions(page, demo):
    page.goto(f"{demo.page}/resources")
    page.get_by_role("button", name="Create…").wait_for()


def test_nodes_without_kubelets_cannot_fail(page, tmp_path):
    with up(tmp_path / "cluster", "--nodes", "2", "--no-lifecycle") as cluster:
        page.goto(f"{cluster.page}/?node=node-1")
        inspector = page.locator("pw-node")
        inspector.get_by_role("button", name="Delete").wait_for()
        assert not inspector.get_by_role("button", name="Fail").count()
        nodes = page.locator("pw-nodes")
        nodes.locator(".card input").first.click()
        nodes.get_by_role("button", name="Delete").wait_for()
        assert not nodes.get_by_role("button", name="Fail").count()
        page.close()
