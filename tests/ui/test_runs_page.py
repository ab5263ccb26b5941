"""The pages of the runs, driven as a person would."""

import pytest
from tests.ui.served import up

import podwright as pw

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
        page.get_by_text("first", exact=True).wait_for()
        with page.expect_download() as download:
            page.get_by_role("link", name="Download").click()
        assert download.value.suggested_filename.endswith(".tar")
        page.get_by_role("button", name="Details").click()
        page.locator(".pw-code", has_text="manifest").wait_for()
        page.get_by_role("button", name="Close").click()
        page.get_by_role("button", name="Delete…").click()
        page.locator(".pw-dialog-actions").get_by_role("button", name="Delete").click()
        page.get_by_text("The folder has no runs.").wait_for()
        assert not (runs / "first").exists()
        page.close()


def test_without_a_folder_of_runs_the_page_says_what_to_do(page, demo):
    page.goto(f"{demo.page}/runs")
    page.get_by_text("start the server with --runs FOLDER").wait_for()


def test_two_runs_are_compared_with_the_plugin_of_each_difference(context, watched, tmp_path):
    packed = {
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
    objects = [
        *(pw.testing.make_node(f"n{number}", cpu="8") for number in range(3)),
        *(pw.testing.make_pod(f"p{number}", cpu="1") for number in range(4)),
    ]
    runs = tmp_path / "runs"
    pw.simulate(objects, output=str(runs / "spread"))
    configuration = pw.read_configuration(packed, source="packed")
    pw.simulate(objects, output=str(runs / "packed"), configuration=configuration)
    with up(tmp_path / "cluster", "--nodes", "1", "--runs", str(runs)) as cluster:
        page = context.new_page()
        watched.follow(page)
        page.goto(f"{cluster.page}/run?run=spread&view=compare")
        compare = page.locator("pw-compare")
        compare.get_by_label("Compare with the run").select_option("packed")
        page.wait_for_url("**with=run:packed**")
        compare.get_by_role("status").get_by_text("of 4 have another place").wait_for()
        compare.locator("pw-servers").get_by_text("NodeResourcesFit").first.wait_for()
        compare.get_by_role("img", name="Requested share of cpu").wait_for()
        page.close()
