"""Helpers for tests of kube-scheduler-simulator's annotations."""

import json

from podwright.simulation.kss.annotations import kss_annotations, kss_history
from podwright.simulation.kss.results import PREFIX

PLUGIN_KEYS = {
    "selected-node", "prefilter-result-status", "prefilter-result", "filter-result",
    "postfilter-result", "prescore-result", "score-result", "finalscore-result",
    "reserve-result", "permit-result", "permit-result-timeout", "prebind-result", "bind-result",
}  # fmt: skip
EXTENDER_KEYS = {f"extender-{verb}-result" for verb in ("filter", "prioritize", "preempt", "bind")}


def annotations(recorded, pod, attempt=-1):
    found = kss_annotations(recorded.run.log, pod, attempt, plugins=recorded.plugins)
    assert all(key.startswith(PREFIX) for key in found)
    return {key.removeprefix(PREFIX): value for key, value in found.items()}


def results(recorded, pod, attempt=-1):
    """Return the results of one attempt, with JSON values decoded."""
    return results_of(kss_history(recorded.run.log, pod, attempt, plugins=recorded.plugins)[-1])


def results_of(one):
    plain = {key.removeprefix(PREFIX): value for key, value in one.results.items()}
    assert not plain or plain.keys() - EXTENDER_KEYS == PLUGIN_KEYS
    return {k: v if k == "selected-node" else json.loads(v) for k, v in plain.items()}


def history_of(recorded, pod, attempt=-1):
    return json.loads(annotations(recorded, pod, attempt)["result-history"])


def only(**points):
    """Return the plugin sets of a profile that enables only these plugins."""
    points = {"queueSort": ["PrioritySort"], "bind": ["DefaultBinder"]} | points
    sets = {
        point: {"enabled": [{"name": name} if isinstance(name, str) else name for name in names]}
        for point, names in points.items()
    }
    return {"multiPoint": {"disabled": [{"name": "*"}]}} | sets


def profile(plugins, name="default-scheduler"):
    return {"schedulerName": name, "plugins": plugins}
