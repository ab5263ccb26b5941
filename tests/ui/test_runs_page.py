"""The pages of the runs, driven as a person would."""

import pytest
from tests.ui.requests import request
from tests.ui.served import SECONDS_MAX, up
from tests.waiting import until

import podwright as pw
from podwright.apimachinery.objects import decode

pytestmark = pytest.mark.ui


@pytest.fixture
def runs(tmp_path):
    """A folder of runs with one run, in which a pod is too large."""
    objects = [
        pw.testing.make_node("n", cpu="2"),
        pw.testing.make_pod("p"),
        pw.testing.make_pod("large", cpu="8"),
    ]
    pw.simulate(objects, output=str(tmp_path / "runs/first"))
    return tmp_path / "runs"


def test_a_run_is_shown_as_a_cluster_is(context, watched, runs, tmp_path):
    with up(tmp_path / "cluster", "--nodes", "1", "--runs", str(runs)) as cluster:
        page = context.new_page()
        watched.follow(page)
        page.goto(f"{cluster.page}/runs")
        page.get_by_role("link", name="Open").click()
        page.get_by_text("Run first").wait_for()
        page.locator("pw-time").get_by_text("PAST").wait_for()
        page.locator("pw-pod").get_by_text("Insufficient cpu").first.wait_for()
        assert "pod=default/large" in page.url
        assert not page.get_by_role("button", name="Apply").count()
        page.goto(f"{cluster.page}/run?run=first&node=n")
        page.locator("pw-node").get_by_text("default/p").first.wait_for()
        page.close()


def test_a_run_that_does_not_exist_is_an_error(context, runs, tmp_path):
    with up(tmp_path / "cluster", "--nodes", "1", "--runs", str(runs)) as cluster:
        page = context.new_page()
        page.goto(f"{cluster.page}/run?run=other")
        page.get_by_text("The run other cannot be shown: there is no run 'other'").wait_for()
        page.close()


def test_runs_are_shown_downloaded_and_deleted(context, watched, tmp_path):
    runs = tmp_path / "runs"
    pw.simulate([pw.testing.make_node("n"), pw.testing.make_pod("p")], output=str(runs / "first"))
    with up(tmp_path / "cluster", "--nodes", "1", "--runs", str(runs)) as cluster:
        page = context.new_page()
        watched.follow(page)
        page.goto(f"{cluster.page}/runs")
        page.get_by_role("link", name="first").wait_for()
        with page.expect_download() as download:
            page.get_by_role("link", name="Download").click()
        assert download.value.suggested_filename.endswith(".tar")
        page.get_by_role("columnheader", name="Placed").wait_for()
        page.get_by_role("link", name="Findings").click()
        page.locator("pw-results").get_by_text("No pod is pending at the end").wait_for()
        page.get_by_role("img", name="Requested share of pods").wait_for()
        page.get_by_text("Inputs and files").click()
        page.get_by_role("cell", name="manifest.json").wait_for()
        page.get_by_role("link", name="All runs").click()
        page.get_by_role("button", name="Delete…").click()
        page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
        page.get_by_role("button", name="Delete…").click()
        page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        page.get_by_text("The folder has no runs.").wait_for()
        assert not (runs / "first").exists()
        page.close()


def test_without_a_folder_of_runs_the_page_says_what_to_do(page, demo):
    page.goto(f"{demo.page}/runs")
    page.get_by_text("start the server with --runs FOLDER").wait_for()


PACKED = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {
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
            ]
        }
    ],
}


def record(folder, objects, *, is_packed=False):
    """Record a run; the scheduler prefers nodes that are full, or else those that are empty."""
    configuration = pw.read_configuration(PACKED, source="packed") if is_packed else None
    pw.simulate(objects, output=str(folder), until="1m", configuration=configuration)


def broken_words(cells):
    """Return the words of table cells that are drawn on two lines."""
    return cells.evaluate_all(
        """(cells) => cells.flatMap((cell) => {
          const broken = [];
          const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
          while (walker.nextNode()) {
            const text = walker.currentNode;
            for (const { 0: word, index } of text.data.matchAll(/\\S+/g)) {
              const range = new Range();
              range.setStart(text, index);
              range.setEnd(text, index + word.length);
              const lines = new Set([...range.getClientRects()].map(({ top }) => top));
              if (lines.size > 1) broken.push(word);
            }
          }
          return broken;
        })"""
    )


def test_two_runs_are_compared_with_the_plugin_of_each_difference(context, watched, tmp_path):
    objects = [
        *(pw.testing.make_node(f"n{number}", cpu="8") for number in range(3)),
        *(pw.testing.make_pod(f"p{number}", cpu="1") for number in range(4)),
    ]
    runs = tmp_path / "runs"
    record(runs / "spread", objects)
    record(runs / "packed", objects, is_packed=True)
    with up(tmp_path / "cluster", "--nodes", "1", "--runs", str(runs)) as cluster:
        page = context.new_page()
        watched.follow(page)
        page.goto(f"{cluster.page}/run?run=spread&view=compare")
        compare = page.locator("pw-compare")
        compare.get_by_label("Compare with the run").select_option("packed")
        page.wait_for_url("**with=run:packed**")
        compare.get_by_role("status").get_by_text("of 4 pods are placed differently").wait_for()
        compare.locator("pw-servers").get_by_text("NodeResourcesFit").first.wait_for()
        compare.locator("pw-servers").get_by_text("Loading…").first.wait_for(state="hidden")
        assert broken_words(compare.locator("pw-servers td.because")) == []
        compare.get_by_role("img", name="Requested share of cpu").wait_for()
        page.close()


def workload(version):
    """Return a Deployment of three pods, whose names depend on the version."""
    container = {"name": "main", "image": "app", "resources": {"requests": {"cpu": "1"}}}
    labels = {"app": "web"}
    template = {
        "metadata": {"labels": labels | {"version": version}},
        "spec": {"containers": [container]},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"replicas": 3, "selector": {"matchLabels": labels}, "template": template},
    }


def wait_until_placed(cluster, count):
    def is_placed():
        pods = request(cluster, "GET", "/api/v1/namespaces/default/pods")["items"]
        return sum(bool(each["spec"].get("nodeName")) for each in pods) == count

    until(is_placed, SECONDS_MAX)


def test_a_cluster_and_a_run_are_compared_with_pods_matched_by_workload(context, watched, tmp_path):
    runs = tmp_path / "runs"
    nodes = [pw.testing.make_node(f"n{number}", cpu="8") for number in range(3)]
    record(runs / "packed", [*nodes, decode(workload("1"))], is_packed=True)
    options = ("--nodes", "1", "--runs", str(runs))
    with up(tmp_path / "cluster", *options) as cluster:
        request(cluster, "POST", "/apis/apps/v1/namespaces/default/deployments", workload("2"))
        wait_until_placed(cluster, 3)
        page = context.new_page()
        watched.follow(page)
        page.goto(f"{cluster.page}/?view=compare")
        compare = page.locator("pw-compare")
        compare.get_by_role("button", name="A recorded run").click()
        compare.get_by_text("Choose what to compare with").wait_for()
        compare.get_by_label("Compare with the run").select_option("packed")
        page.wait_for_url("**with=run:packed**")
        compare.get_by_role("status").get_by_text("3 of 3 pods are placed differently").wait_for()
        compare.get_by_text("3 pods with another name are matched by workload").wait_for()
        compare.locator("pw-servers").get_by_text("there was no node").first.wait_for()
        page.goto(f"{cluster.page}/run?run=packed&view=compare&with=cluster")
        compare.get_by_role("status").get_by_text("3 of 3 pods are placed differently").wait_for()
        page.close()
