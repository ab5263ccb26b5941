"""Names of pods and workloads that a user misspells, or gives in another order."""

from __future__ import annotations

from pathlib import Path

import pytest

from podwright.apimachinery.objects import InputError
from podwright.cli.workloads import _workload_hint, find_pods, kind_named, reject_swapped
from podwright.cluster.controllers import ExpandedWorkload
from podwright.scheduler.assembly import UnknownPod
from podwright.testing import make_pod


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        pytest.param("deploymnt/web", "did you mean deployment/web?", id="a misspelt kind"),
        pytest.param("shap/web-0", "did you mean shop/web-0?", id="a misspelt namespace"),
        pytest.param("pods/web", "did you mean shop/web-0?", id="the kind of pods"),
    ],
)
def test_a_misspelt_name_is_answered_with_the_nearest(text, hint):
    with pytest.raises(UnknownPod) as raised:
        find_pods(text, [make_pod("web-0", namespace="shop")], [])
    assert str(raised.value).endswith(hint)


def test_a_file_in_place_of_the_pod_is_not_looked_for_in_a_cluster(tmp_path: Path):
    file = tmp_path / "web.yaml"
    file.touch()
    with pytest.raises(InputError, match="name the pod before it: podwright explain POD"):
        reject_swapped(str(file), [])
    reject_swapped("deployment/web", [])  # of the current context


@pytest.mark.parametrize(("word", "kind"), [
    ("deploy", "Deployment"), ("Deployments", "Deployment"), ("rs", "ReplicaSet"),
    ("sts", "StatefulSet"), ("statefulset.apps", "StatefulSet"), ("ds", "DaemonSet"),
    ("jobs", "Job"), ("cj", "CronJob"), ("rc", "ReplicationController"), ("web", ""),
    ("svc", ""), ("no", ""), ("pod", ""), ("pvc", ""),
])  # fmt: skip
def test_the_words_of_workloads_are_those_of_kubectl(word, kind):
    assert kind_named(word) == kind


@pytest.fixture
def _in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("cluster.yaml", "deploy"):
        (tmp_path / name).touch()


@pytest.mark.usefixtures("_in_a_folder")
@pytest.mark.parametrize(("pod", "files", "error"), [
    ("cluster.yaml", [], "it is a file or folder; name the pod before it: podwright explain POD"
     " cluster.yaml"),
    ("deploy", ["web", "cluster"], "a pod or workload is named as deploy/web"),
    ("pod", ["web", "x"], "a pod or workload is named as pod/web"),
    ("cluster.yaml", ["web", "x"],
     "it comes before the files; did you mean: podwright explain web x cluster.yaml"),
])  # fmt: skip
def test_swapped_arguments_are_an_error(pod, files, error):
    with pytest.raises(InputError) as caught:
        reject_swapped(pod, files)
    (found,) = caught.value.errors
    assert (found.source, found.path, found.value) == ("options", "POD", pod)
    assert found.message == error


@pytest.mark.usefixtures("_in_a_folder")
@pytest.mark.parametrize(("pod", "files"), [
    ("deploy", []),  # a kind, although a file has the name
    ("deploy/web", []),
    ("web", []),
    ("web", ["none.yaml"]),
    ("deploy", ["-", "x"]),
    ("deploy", ["cluster:", "x"]),
    ("deploy", ["none", "cluster.yaml"]),
])  # fmt: skip
def test_other_arguments_are_not(pod, files):
    reject_swapped(pod, files)


def workload(kind: str, key: str) -> ExpandedWorkload:
    return ExpandedWorkload(kind=kind, key=key, pods=(), new_count=0)


WORKLOADS = [
    workload("Deployment", "shop/web"),
    workload("Job", "shop/web"),
    workload("Job", "lab/web"),
    workload("Job", "lab/other"),
]


@pytest.mark.parametrize(("text", "hint"), [
    ("web", "did you mean deployment/web or job/web or job/web (namespace shop, lab)?"),
    ("jobb/web", "did you mean job/web or job/web (namespace shop, lab)?"),
    ("cronjbs/web", "did you mean deployment/web or job/web or job/web (namespace shop, lab)?"),
    ("shop/other", "did you mean job/other (namespace lab)?"),
    ("none", ""),
])  # fmt: skip
def test_workloads_are_suggested_for_the_name_of_none(text, hint):
    assert _workload_hint(text, WORKLOADS) == hint
