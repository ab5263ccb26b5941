"""What a rendered chart or kustomization changes in the cluster of a scenario."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from podwright.cli.recorded.options import CheckOptions
from podwright.cli.recorded.rendered_manifests import (
    Rendered,
    RenderingError,
    _differences,
    _merged,
    _shown,
    rendered_manifests,
    with_rendered,
)
from podwright.cli.tests.served import command
from podwright.simulation.files import load_bytes
from podwright.simulation.scenarios import ScenarioFile, check, read_scenario

WEB: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 4,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {
                "containers": [
                    {"name": "web", "image": "web:1", "resources": {"requests": {"cpu": "1"}}},
                    {"name": "log", "image": "log:1"},
                ]
            },
        },
    },
}


def scenario(*objects: Any) -> ScenarioFile:
    document = {
        "apiVersion": "podwright.dev/v1alpha1",
        "kind": "Scenario",
        "metadata": {"name": "shop"},
        "spec": {
            "cluster": {"nodes": [{"count": 2}], "objects": [*objects]},
            "expectations": [{"name": "pods", "pendingAtMost": 0}],
        },
    }
    text = json.dumps(document)
    return read_scenario(text, source="shop.yaml", read=no_files)


def no_files(names: Sequence[str]) -> tuple[tuple[str, bytes], ...]:
    assert not names
    return ()


def rendered(*objects: Any, release: tuple[str, str] | None = None) -> Rendered:
    manifests = msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": objects})
    loaded = load_bytes([("chart", manifests)], has_defaults=False)
    return Rendered("chart", loaded.objects, release)


def edited(document: Any, change: Any) -> Any:
    copy = json.loads(json.dumps(document))
    change(copy)
    return copy


def marked(name: str, **annotations: str) -> Any:
    metadata = {"name": name, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def test_a_field_that_the_manifest_has_not_stays():
    without = edited(WEB, lambda doc: doc["spec"].pop("replicas"))
    same, lines = with_rendered(scenario(WEB), rendered(without))
    assert lines == ["chart, shop: changes nothing"]
    assert same.events == ()


def test_what_comes_after_an_object_that_is_the_same_is_compared_too():
    objects = [WEB, marked("new"), marked("there", a="2")]
    changed, lines = with_rendered(scenario(WEB, marked("there", a="1")), rendered(*objects))
    assert lines == [
        "chart, shop: creates ConfigMap default/new; changes ConfigMap default/there",
        '  ConfigMap default/there: metadata.annotations.a: "1" -> "2"',
    ]
    ((_, events),) = changed.events
    assert events.count(b"\n") == 2


def test_each_field_that_differs_is_a_line_and_the_cluster_has_it():
    def change(document: Any) -> None:
        document["spec"] |= {"replicas": 30}
        container = document["spec"]["template"]["spec"]["containers"][0]
        container["resources"]["requests"] = {"cpu": 2}

    changed, lines = with_rendered(scenario(WEB), rendered(edited(WEB, change)))
    assert lines == [
        "chart, shop: changes Deployment default/web",
        "  Deployment default/web: spec.replicas: 4 -> 30",
        '  Deployment default/web: spec.template.spec.containers[web].resources.requests.cpu: "1"'
        ' -> "2"',
    ]
    [result] = check(changed).results
    assert result.message.startswith("22 of 30 pods are pending")


def test_a_release_deletes_what_it_no_longer_has():
    marks = {"meta.helm.sh/release-name": "shop", "meta.helm.sh/release-namespace": "default"}
    kept = {"helm.sh/resource-policy": "keep"}
    other = marks | {"meta.helm.sh/release-namespace": "test"}
    present = [marked("old", **marks), marked("kept", **marks, **kept), marked("other", **other)]
    _, lines = with_rendered(scenario(*present), rendered(release=("default", "shop")))
    assert lines == ["chart, shop: deletes ConfigMap default/old"]
    _, lines = with_rendered(scenario(*present), rendered())
    assert lines == ["chart, shop: changes nothing"]


def test_the_values_of_secrets_are_not_printed():
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"}}
    before, after = ({**secret, "stringData": {"password": text}} for text in ("one", "two"))
    _, lines = with_rendered(scenario(before), rendered(after))
    assert lines[1:] == ["  Secret default/key: stringData.password differs"]


@pytest.mark.parametrize(
    ("before", "after", "differences"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2, "b": {"c": 3}}, [("a", 1, 2), ("b", None, {"c": 3})]),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, [("a.b", 1, 2)]),
        ({"a": [1, 2]}, {"a": [1, 3]}, [("a", [1, 2], [1, 3])]),
        ({"a": [{"name": "x"}, 2]}, {"a": [{"name": "x"}, 3]},
         [("a", [{"name": "x"}, 2], [{"name": "x"}, 3])]),
        ({"a": [{"name": "x", "v": 1}, {"name": "y"}]}, {"a": [{"name": "x", "v": 2}]},
         [("a[x].v", 1, 2), ("a[y]", {"name": "y"}, None)]),
        ({"a": [{"key": "x"}]}, {"a": [{"key": "y"}]}, [("a", [{"key": "x"}], [{"key": "y"}])]),
        ({"a": []}, {"a": [{"name": "x"}]}, [("a", [], [{"name": "x"}])]),
    ],
)  # fmt: skip
def test_values_that_differ_have_a_path_with_the_names_of_entries(before, after, differences):
    assert [*_differences("", before, after)] == differences


def test_many_objects_are_listed_by_kind():
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}
    service["spec"] = {"clusterIP": "None"}
    objects = [marked(f"new-{number}") for number in range(5)]
    _, lines = with_rendered(scenario(marked("there", a="1")), rendered(*objects, service))
    assert len(lines) == 1
    objects.append(marked("there", a="2"))
    _, lines = with_rendered(scenario(marked("there", a="1")), rendered(*objects, service))
    assert lines == [
        "chart, shop: creates 6 objects; changes 1 object",
        "  creates ConfigMap default/new-0, default/new-1, default/new-2 and 2 more",
        "  creates Service default/s",
        "  changes ConfigMap default/there",
        '  ConfigMap default/there: metadata.annotations.a: "1" -> "2"',
    ]


@pytest.mark.parametrize(
    ("is_secret", "text"), [(True, "data.a differs"), (False, 'data.a: "x" -> null')]
)
def test_the_values_of_secrets_are_not_shown(is_secret, text):
    assert _shown("data.a", "x", None, is_secret) == text


# ---------------------------------------------------------------- helm and kubectl

MANIFESTS = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
---
apiVersion: batch/v1
kind: Job
metadata: {name: install, annotations: {helm.sh/hook: "post-install, pre-upgrade"}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}
---
apiVersion: v1
kind: Pod
metadata: {name: probe, annotations: {helm.sh/hook: test}}
spec: {containers: [{name: c, image: i}]}
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Put programs on the PATH that write their arguments, and print manifests or fail."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (tmp_path / "manifests").write_text(MANIFESTS)
    monkeypatch.setenv("PATH", str(folder))

    def put(name: str, end: str = "") -> Path:
        file = folder / name
        calls: Path = tmp_path / "calls"
        last = end or f"/bin/cat {tmp_path / 'manifests'}"
        file.write_text(f'#!/bin/sh\necho "$@" >>{calls}\n{last}\n')
        file.chmod(0o700)
        return calls

    return put


def names_of(found: Rendered) -> list[str]:
    return [f"{obj.kind} {obj.key}" for obj in found.objects]


@pytest.mark.parametrize(("options", "arguments", "release", "namespace"), [
    ({"charts": ("dir/shop-1.2.3.tgz",)}, "shop dir/shop-1.2.3.tgz", "shop", "default"),
    ({"charts": ("dir/shop-front/",), "namespace": "lab"},
     "shop-front dir/shop-front/ --namespace lab", "shop-front", "lab"),
    ({"charts": ("dir/shop",), "release": "r", "values": ("a.yaml", "b.yaml"),
      "settings": ("x=1", "y=2"), "namespace": "lab"},
     "r dir/shop --values a.yaml --values b.yaml --set x=1 --set y=2 --namespace lab", "r", "lab"),
])  # fmt: skip
def test_a_chart_is_rendered_by_helm(options, arguments, release, namespace, program):
    calls = program("helm")
    (found,) = rendered_manifests(CheckOptions(**options))
    command = f"template --include-crds --kube-version v1.36.0 {arguments}"
    assert calls.read_text() == f"{command}\n"
    assert (found.source, found.release) == (f"helm {command}", (namespace, release))
    # Hooks of other events than those of an upgrade are not applied.
    assert names_of(found) == [f"ConfigMap {namespace}/settings", f"Job {namespace}/install"]


def test_a_kustomization_is_rendered_by_kubectl_after_charts(program):
    program("helm")
    calls = program("kubectl")
    options = CheckOptions(charts=("a", "b"), kustomize=("over/lay",))
    found = list(rendered_manifests(options))
    assert [each.release for each in found] == [("default", "a"), ("default", "b"), None]
    assert calls.read_text().splitlines()[2] == "kustomize over/lay"
    assert names_of(found[2]) == [
        "ConfigMap default/settings", "Job default/install", "Pod default/probe"
    ]  # fmt: skip


@pytest.mark.parametrize(("error", "reason"), [
    ("Error: no chart", "no chart"), ("error: no file", "no file"), ("broken", "broken")
])  # fmt: skip
def test_a_failure_of_helm_is_an_error_with_what_it_printed(error, reason, program):
    program("helm", f"echo '{error}' >&2; exit 2")
    with pytest.raises(RenderingError) as caught:
        list(rendered_manifests(CheckOptions(charts=("shop",))))
    assert (
        str(caught.value)
        == f"helm template --include-crds --kube-version v1.36.0 shop shop failed: {reason}"
    )


def test_a_program_that_is_missing_is_named(program):
    program("helm")
    with pytest.raises(RenderingError) as caught:
        list(rendered_manifests(CheckOptions(kustomize=("shop",))))
    text = "kubectl is not on the PATH; kubectl kustomize shop needs it"
    assert str(caught.value) == text


WIDGET = {
    "apiVersion": "example.com/v1",
    "kind": "Widget",
    "metadata": {"name": "w", "namespace": "default"},
    "spec": {"size": 1, "parts": [{"name": "a"}], "old": True},
}


def test_a_custom_object_is_merged_without_a_schema():
    present = load_bytes([("w", msgspec.json.encode(WIDGET))], has_defaults=False).objects[0]
    patch = {"spec": {"size": 2, "parts": [{"name": "b"}], "old": None}}
    before, after = _merged(present, patch)
    assert before["spec"] == WIDGET["spec"]
    assert after["spec"] == {"size": 2, "parts": [{"name": "b"}]}


SHOP = """\
apiVersion: podwright.dev/v1alpha1
kind: Scenario
metadata: {name: shop}
spec:
  cluster: {nodes: [{count: 2}]}
  expectations: [{name: pods, pendingAtMost: 0}]
"""


def test_a_check_prints_what_a_chart_changes_and_has_it_in_its_summary(
    program, tmp_path, monkeypatch
):
    program("helm")
    monkeypatch.chdir(tmp_path)
    Path("shop.yaml").write_text(SHOP)
    out, errors, status = command("check shop.yaml --chart charts/web --summary summary.md")
    changes = (
        "helm template --include-crds --kube-version v1.36.0 web charts/web, shop: creates"
        " ConfigMap default/settings, Job default/install"
    )
    assert (errors.splitlines()[0], status) == (changes, 0)
    assert out.endswith("1 of 1 expectations are met.\n")
    summary = Path("summary.md").read_text()
    assert summary.endswith(f"\n```text\n{changes}\n```\n")
    command("check shop.yaml --summary plain.md")
    assert "```" not in Path("plain.md").read_text()
