"""Names of pods and workloads that a user misspells, or gives in another order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podwright.apimachinery.objects import InputError
from podwright.apimachinery.schema import decode
from podwright.cli.workloads import (
    _workload_hint,
    expand_workloads,
    find_pods,
    find_workload,
    kind_named,
    namespace_in,
    owners_of,
    reject_swapped,
    report_expansion,
)
from podwright.cluster.controllers import ExpandedWorkload
from podwright.cluster.controllers.expansion import Expansion
from podwright.scheduler.assembly import UnknownPod
from podwright.simulation.files import load_bytes
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


def reported(*workloads: ExpandedWorkload, notes: tuple[str, ...] = (), side: str = "") -> None:
    report_expansion(Expansion([], list(workloads), {}, list(notes), {}), side=side)


def expanded(kind: str, key: str, count: int, note: str = "", **more: bool) -> ExpandedWorkload:
    return ExpandedWorkload(kind=kind, key=key, pods=(), new_count=count, note=note, **more)


def test_an_expansion_is_reported_by_kind_with_what_creates_nothing(capsys):
    reported()
    assert capsys.readouterr().err == ""
    reported(expanded("Job", "a/one", 1))
    assert capsys.readouterr().err == "Expanded 1 Job into 1 pod.\n"
    reported(
        expanded("Job", "a/one", 1), expanded("Deployment", "a/d", 3), expanded("Job", "a/two", 2),
        expanded("Job", "a/s", 0, "it is suspended"), expanded("CronJob", "a/c", 0, "not due"),
        expanded("Job", "a/t", 0, "it has ended"), expanded("Job", "a/gone", 0),
        expanded("Job", "a/u", 0, "of the server", is_of_server=True),
        notes=("a quota",),
        side="before",
    )  # fmt: skip
    assert capsys.readouterr().err == (
        "warning: before: a quota\n"
        "warning: before: 2 Jobs create no pods now, such as a/s: it is suspended\n"
        "warning: before: CronJob a/c creates no pods now: not due\n"
        "before: expanded 2 Jobs, 1 Deployment into 6 pods.\n"
    )


AUTOSCALER = b"""{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: a},
 spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}"""


@pytest.mark.parametrize(("hpa", "text", "is_idle"), [
    ("min", b"{apiVersion: v1, kind: Namespace, metadata: {name: a}}", False),
    ("max", b"{apiVersion: v1, kind: Namespace, metadata: {name: a}}", True),
    ("max", AUTOSCALER, False),
])  # fmt: skip
def test_the_largest_sizes_need_an_autoscaler(hpa, text, is_idle, capsys):
    expand_workloads(load_bytes([("a.yaml", text)]), hpa)
    warning = "warning: --hpa max has no effect: the files have no HorizontalPodAutoscaler\n"
    assert (warning in capsys.readouterr().err) is is_idle


@pytest.mark.parametrize(("pod", "namespace"), [
    ("web", "team"), ("pod/web", "team"), ("deploy/web", "team"), ("a/web", ""), ("a/deploy/x", ""),
])  # fmt: skip
def test_the_namespace_is_that_of_the_context_unless_the_name_has_one(
    pod, namespace, tmp_path, monkeypatch
):
    context = "{name: c, context: {cluster: k, namespace: team}}"
    file = tmp_path / "config"
    cluster = "{name: k, cluster: {server: 'http://a:1'}}"
    file.write_text(f"current-context: c\ncontexts: [{context}]\nclusters: [{cluster}]\n")
    monkeypatch.setenv("KUBECONFIG", str(file))
    assert namespace_in(pod, "cluster:") == namespace_in(pod, "cluster:c") == namespace


def test_a_workload_is_found_by_its_kind_and_name():
    for text, namespace, found in (
        ("deploy/web", "", WORKLOADS[0]), ("job/web", "lab", WORKLOADS[2]),
        ("jobs/lab/web", "", WORKLOADS[2]), ("web", "", None), ("job", "", None),
        ("pod/web", "", None),
    ):  # fmt: skip
        assert find_workload(text, WORKLOADS, namespace=namespace) == found
    with pytest.raises(UnknownPod) as raised:
        find_workload("job/oter", WORKLOADS, where="there")
    assert str(raised.value) == 'no Job "oter" there; did you mean lab/other?'


def owned(name: str, owner: str, phase: str = "") -> Any:
    reference = {"apiVersion": "x/v1", "kind": "Job", "name": owner, "uid": "u", "controller": True}
    return decode({
        "apiVersion": "v1", "kind": "Pod", "status": {"phase": phase} if phase else {},
        "metadata": {"name": name, "namespace": "a", "ownerReferences": [reference]},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    })  # fmt: skip


def test_pods_are_those_of_a_name_or_of_a_workload():
    pods = [
        make_pod("web", namespace="job"), owned("p-1", "p"), owned("p-2", "p"),
        owned("d", "done", phase="Succeeded"), make_pod("free", namespace="a"),
    ]  # fmt: skip
    none = expanded("CronJob", "a/c", 0, "not due")
    empty = expanded("DaemonSet", "a/e", 0)
    for text, found in (
        ("free", ["a/free"]), ("job/web", ["job/web"]), ("job/p", ["a/p-1", "a/p-2"]),
    ):  # fmt: skip
        assert find_pods(text, pods, [none])[0] == found
    assert find_pods("free", pods, [])[1] is None
    owner = find_pods("job/p", pods, [])[1]
    assert owner == ExpandedWorkload(kind="Job", key="a/p", pods=("a/p-1", "a/p-2"), new_count=0)
    assert list(owners_of(pods)) == [owner]
    assert list(owners_of(pods, [owner])) == []
    for text, error in (
        ("cj/c", "CronJob a/c has no pods: not due"),
        ("ds/e", "DaemonSet a/e has no pods"),
        ("jbo/free", 'no pod "jbo/free" in a file; did you mean a/free?'),
        ("statefulse/x", 'no pod "statefulse/x" in a file; did you mean statefulset/x?'),
        ("a/zzzzz", 'no pod "a/zzzzz" in a file'),
        ("pod/zzzzz", 'no pod "pod/zzzzz" in a file'),
    ):
        with pytest.raises(UnknownPod) as raised:
            find_pods(text, pods, [none, empty], where="in a file")
        assert str(raised.value) == error
