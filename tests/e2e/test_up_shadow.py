"""`podwright up --shadow`: the decisions of another scheduler, compared as it makes them."""

import json

from tests.e2e.command_line import run
from tests.e2e.test_up import PODS, pod, up

SHADOW = "/podwright/v1/shadow"


def bind(served, name, node, **spec):
    body = pod(name)
    served.send("POST", PODS, body | {"spec": body["spec"] | spec})
    target = {"apiVersion": "v1", "kind": "Node", "name": node}
    binding = {"metadata": {"name": name}, "target": target}
    status, found = served.send("POST", f"{PODS}/{name}/binding", binding)
    assert status == 201, found


PLUGIN = """
import podwright as pw

class NoSecondNode(pw.Plugin):
    name = "NoSecondNode"

    def filter(self, cycle, node):
        if cycle.pod.name == "kept" and node.name == "node-1":
            return pw.Status.unschedulable("node(s) are not for this pod")
        return pw.Status()
"""


def test_the_agreement_is_served_while_it_is_made_and_written_at_the_end(tmp_path):
    plugin = tmp_path / "plugin.py"
    plugin.write_text(PLUGIN)
    options = ("--nodes", "2", "--no-scheduler", "--shadow", "shadowed", "--plugin", str(plugin))
    with up(tmp_path, *options) as served:
        bind(served, "a", "node-0")
        bind(served, "b", "node-1")
        found = served.eventually(SHADOW, lambda found: found["bindings"]["total"] == 2)
        assert found["bindings"]["agreed"] == 2
        # node-0 has as much room as node-1, and then less.
        bind(served, "c", "node-0")
        # After this time, the other scheduler has observed it.
        served.eventually(SHADOW, lambda found: found["bindings"]["total"] == 3)
        bind(served, "d", "node-0")
        found = served.eventually(SHADOW, lambda found: found["bindings"]["total"] == 4)
        (one,) = found["differences"]
        assert (one["pod"], one["node"], one["ourNode"]) == ("default/d", "node-0", "node-1")
        assert one["outcome"] == "unexplained"
        given = {each["plugin"]: each["ourNode"] - each["node"] for each in one["scores"]}
        assert given["NodeResourcesFit"] > 0
        # The plugin of the other scheduler leaves it no better node.
        bind(served, "kept", "node-0")
        served.eventually(SHADOW, lambda found: found["bindings"]["total"] == 5)
        # This one is not final when the server stops.
        bind(served, "e", "node-1")
        bind(served, "f", "node-1", schedulerName="other")
        assert served.end() == 0
        assert 'shadowed: 1 bindings of pods with the schedulerName "other"' in served.text()
        assert "bindings=6 agreed=5 explained=0 unexplained=1" in served.text()
    written = json.loads((tmp_path / "shadowed/agreement.json").read_text())
    assert written["differences"] == found["differences"]
    assert written["bindings"]["total"] == 6
    command = f"shadow {tmp_path}/shadowed -o json --allow 100"
    again = json.loads(run(f"{command} --plugin {plugin}").stdout)
    assert again["differences"] == found["differences"]
    without = json.loads(run(command).stdout)["differences"]
    assert [each["pod"] for each in without] == ["default/d", "default/kept"]


def test_a_cluster_without_a_shadow_has_no_agreement(tmp_path):
    with up(tmp_path, "--no-scheduler") as served:
        status, found = served.send("GET", SHADOW)
        assert status == 404
        assert "--shadow" in found["detail"]


def test_a_shadow_needs_another_scheduler_and_an_empty_folder(tmp_path):
    refused = run(f"up --shadow {tmp_path}/s", status=2)
    assert "requires --no-scheduler" in refused.stderr
    refused = run(f"up --no-scheduler --shadow {tmp_path}/s --record r", status=2)
    assert "'--record': has no effect with --shadow" in refused.stderr
    (tmp_path / "record.jsonl").write_text("")
    refused = run(f"up --no-scheduler --shadow {tmp_path}", status=2)
    assert "already has a record; name another folder" in refused.stderr


def test_a_configuration_with_extenders_is_refused(tmp_path):
    config = tmp_path / "config.yaml"
    config.write_text(
        json.dumps(
            {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "extenders": [{"urlPrefix": "http://127.0.0.1:9/", "filterVerb": "filter"}],
            }
        )
    )
    refused = run(f"up --no-scheduler --shadow {tmp_path}/s --config {config}", status=2)
    assert "a record does not contain the answers of extenders" in refused.stderr
    assert not (tmp_path / "s").exists()
