"""Files beside manifests that are skipped in a folder, and rejected by name."""

import gzip
from pathlib import Path
from typing import Any

import pytest

from podwright.apimachinery.objects import InputError
from podwright.simulation.files import load, read_paths, unrendered

NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: n}\n"
TEMPLATE = "apiVersion: v1\nkind: Pod\nmetadata: {name: {{ .Release.Name }}}\n"
KUSTOMIZATION = """resources: [node.yaml]
patches: [{path: patch.yaml}]
configMapGenerator: [{name: settings, files: [settings=app.json]}]
"""


def write(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def read(folder):
    """Return the names of the manifests in a folder, and the reports."""
    reports: list[str] = []
    files = read_paths([folder], report=reports.append)
    return (
        [name.removeprefix(f"{folder}/") for name, _ in files],
        [text.replace(str(folder), "F") for text in reports],
    )


@pytest.mark.parametrize(
    ("files", "manifests", "reports"),
    [
        pytest.param(
            {
                "web/Chart.yaml": "apiVersion: v2\nname: web\n",
                "web/values.yaml": "replicas: 2\n",
                "web/values.schema.json": "{}",
                "web/templates/pod.yaml": TEMPLATE,
                "web/templates/plain.yaml": NODE,
                "web/crds/crd.yaml": NODE,
            },
            ["web/crds/crd.yaml"],
            [
                "F/web: skipped a Helm chart (Chart.yaml, templates/plain.yaml, templates/pod.yaml"
                " and 2 more); render it first: helm template F/web"
            ],
            id="a chart, except its custom resource definitions",
        ),
        pytest.param(
            {
                "kustomization.yaml": KUSTOMIZATION,
                "node.yaml": NODE,
                "other.yaml": NODE,
                "patch.yaml": "apiVersion: v1\nkind: Node\nmetadata: {name: n}\nspec: {}\n",
                "app.json": '{"kind": "settings"}',
            },
            ["other.yaml"],
            [
                "F: skipped a kustomization (app.json, kustomization.yaml, node.yaml and 1 more);"
                " render it first: kubectl kustomize F"
            ],
            id="a kustomization with its resources, patches and generator inputs",
        ),
        pytest.param(
            {
                "all.yaml": NODE,
                "base/node.yaml": NODE,
                "overlay/kustomization.yaml": "resources: [../base/node.yaml, patches,"
                " https://example.com/a.yaml]\npatches: [{path: patches/patch.yaml}]\n",
                "overlay/patches/patch.yaml": NODE,
            },
            ["all.yaml"],
            [
                "F/overlay: skipped a kustomization (../base/node.yaml, kustomization.yaml,"
                " patches/patch.yaml); render it first: kubectl kustomize F/overlay"
            ],
            id="a kustomization with files of other folders",
        ),
        pytest.param(
            {"all.yaml": NODE, "kustomization.yaml": "resources: all.yaml\npatches: 5\n"},
            ["all.yaml"],
            [
                "F: skipped a kustomization (kustomization.yaml);"
                " render it first: kubectl kustomize F"
            ],
            id="a kustomization with fields of wrong types",
        ),
        pytest.param(
            {
                "a.yaml": NODE,
                "runs/1/manifest.json": "{}",
                "runs/1/objects.json": "[]",
                "runs/1/summary.json": "{}",
                "runs/1/log/00000000.pwlog": "",
            },
            ["a.yaml"],
            [
                "F/runs/1: skipped a run of podwright (manifest.json, objects.json, summary.json);"
                " name it with --run, or convert it: podwright convert F/runs/1"
            ],
            id="the folder of a run",
        ),
        pytest.param(
            {"a.yaml": NODE, "b.yaml": TEMPLATE},
            ["a.yaml"],
            [
                "F: skipped unrendered templates ({{ }}) (b.yaml);"
                " render it first: helm template CHART"
            ],
            id="a template outside of a chart",
        ),
        pytest.param(
            {"a.yaml": NODE, "package.json": '{"name": "web"}', "ci.yml": "on: push\n"},
            ["a.yaml"],
            ["F: skipped files without apiVersion and kind (ci.yml, package.json)"],
            id="files of other tools",
        ),
        pytest.param(
            {"a.yaml": f"{NODE}data: {{x: '{{{{ .y }}}}'}}\n", "b.yaml": "- 1\n", "c.yaml": ""},
            ["a.yaml", "b.yaml", "c.yaml"],
            [],
            id="a quoted template, and errors of manifests",
        ),
        pytest.param(
            {"a.json": '{"pods": [], "nodes": []}', "b.json": '[{"kind": "Pod"}]'},
            ["a.json", "b.json"],
            [],
            id="a snapshot, and a list",
        ),
    ],
)
def test_files_that_are_not_manifests_are_skipped_and_reported(tmp_path, files, manifests, reports):
    assert read(write(tmp_path, files)) == (manifests, reports)


def test_a_resource_of_a_kustomization_is_read_by_name(tmp_path):
    write(tmp_path, {"kustomization.yaml": KUSTOMIZATION, "node.yaml": NODE})
    assert [name for name, _ in read_paths([tmp_path / "node.yaml"])] == [f"{tmp_path}/node.yaml"]


def test_a_file_that_is_named_and_in_a_named_folder_is_read_once_and_not_skipped(tmp_path):
    files = {"kustomization.yaml": KUSTOMIZATION, "node.yaml": NODE, "a.yaml": NODE}
    write(tmp_path, {**files, "app.json": "{}", "patch.yaml": NODE})
    reports: list[str] = []
    named = [tmp_path / "node.yaml", tmp_path, tmp_path / "a.yaml"]
    found = [Path(name).name for name, _ in read_paths(named, report=reports.append)]
    assert found == ["node.yaml", "a.yaml"]
    assert "node.yaml" not in "".join(reports)


def test_a_folder_with_nothing_else_is_an_error(tmp_path):
    write(tmp_path, {"Chart.yaml": "name: web\n", "templates/pod.yaml": TEMPLATE})
    with pytest.raises(InputError) as error:
        load(tmp_path)
    assert str(error.value) == (
        f"{tmp_path}: no manifests in this folder, only a Helm chart; render it first:"
        f" helm template {tmp_path}"
    )


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        (
            "kustomization.yaml",
            "resources: []\n",
            "a kustomization, not a manifest; render it",
        ),
        ("Chart.yaml", "name: web\n", "a Helm chart, not a manifest; render it first"),
        ("pod.yaml", TEMPLATE, "unrendered templates ({{ }}), not a manifest; render it"),
    ],
)
def test_a_file_by_name_has_to_be_rendered(tmp_path, name, text, expected):
    write(tmp_path, {name: text})
    with pytest.raises(InputError) as error:
        load(tmp_path / name)
    assert f"{tmp_path}/{name}: part of {expected}" in str(error.value)


def test_python_gets_a_warning(tmp_path):
    write(tmp_path, {"a.yaml": NODE, "package.json": '{"name": "web"}'})
    with pytest.warns(UserWarning, match="package.json") as caught:
        assert len(load(tmp_path).objects) == 1
    assert len(caught) == 1
    with pytest.warns(UserWarning, match="package.json") as caught:
        read_paths([tmp_path])
    assert [each.filename for each in caught] == [__file__]


def test_a_compressed_dump_is_read_whatever_its_bytes_are(tmp_path):
    number = 0
    while b"{{" not in (data := compressed_node(number)):
        number += 1
    (tmp_path / "dump.yaml.gz").write_bytes(data)
    assert [obj.name for obj in load(tmp_path / "dump.yaml.gz").objects] == ["n1"]


def compressed_node(number: int) -> bytes:
    text = f"{{apiVersion: v1, kind: Node, metadata: {{name: n1, labels: {{id: i{number}}}}}}}"
    return gzip.compress(text.encode(), mtime=number)


@pytest.mark.parametrize(
    ("text", "has_objects"),
    [
        pytest.param("- a: 1\n- b: 1\n  kind: Pod\n", True, id="an object after another value"),
        pytest.param("- [{a: 1}, {b: 1, kind: Pod}]\n", True, id="the same in one line"),
        pytest.param("- a: 1\n- b: 2\n", False, id="no object"),
        pytest.param("a: 1\na: 2\n", False, id="a key that is there twice"),
        pytest.param("[]\n", True, id="an empty list"),
        pytest.param("apiVersion: v1\n", True, id="a version alone"),
        pytest.param("pods: []\n", True, id="a snapshot"),
        pytest.param("a: 1\n---\n{b: 2, kind: Pod}\n", True, id="an object in a later document"),
        pytest.param("a: 1\n---\nb: 2\n", False, id="documents without an object"),
        pytest.param("# nothing\n", True, id="no document"),
    ],
)
def test_files_that_may_have_objects(text, has_objects):
    assert unrendered._has_objects(text.encode()) is has_objects


@pytest.mark.parametrize(
    ("kustomization", "inputs", "resources"),
    [
        ({"resources": ["a.yaml", "https://example.com/a", 5, "b"]}, [], ["a.yaml", "b"]),
        ({"bases": ["../base"], "components": ["c"]}, [], ["../base", "c"]),
        ({"crds": ["crd.yaml"]}, [], ["crd.yaml"]),
        ({"patches": [{"path": "p.yaml"}, {"patch": "- op: add"}, {"path": 3}]}, ["p.yaml"], []),
        ({"patchesJson6902": [{"path": "j.yaml", "target": {}}]}, ["j.yaml"], []),
        (
            {"patchesStrategicMerge": ["s.yaml", "kind: Pod\nmetadata: {}\n", 3]},
            ["s.yaml"],
            [],
        ),
        ({"replacements": [{"path": "r.yaml"}, {"source": {}}]}, ["r.yaml"], []),
        (
            {
                "configMapGenerator": [{"files": ["a=b.json", "c.txt"], "envs": ["d.env"]}, 3],
                "secretGenerator": [{"files": ["x=y=z.key"]}, {"literals": ["a=b"]}],
            },
            ["b.json", "c.txt", "d.env", "z.key"],
            [],
        ),
        (
            {"configurations": ["k.yaml"], "transformers": ["t.yaml", "kind: X\nname: y\n"],
             "generators": ["g.yaml", {"kind": "G"}]},
            ["k.yaml", "t.yaml", "g.yaml"],
            [],
        ),
        ({"images": [{"name": "x"}], "namespace": "a", "labels": ["l.yaml"]}, [], []),
    ],
)  # fmt: skip
def test_the_files_of_a_kustomization(
    kustomization: dict[str, Any], inputs: list[str], resources: list[str]
) -> None:
    assert list(unrendered._input_paths(kustomization)) == inputs
    assert list(unrendered._resource_paths(kustomization)) == resources


def test_a_kustomization_is_made_of_the_objects_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "kustomization.yaml").write_text("- a\n---\nresources: [b]\n---\n3\n")
    assert unrendered._kustomizations_in(tmp_path) == [{"resources": ["b"]}]
    (tmp_path / "kustomization.yaml").write_text("namespace: a\nnamespace: b\nresources: [c]\n")
    (found,) = unrendered._kustomizations_in(tmp_path)
    assert found["resources"] == ["c"], "kustomize reports a key that is there twice"


@pytest.mark.parametrize(
    ("name", "is_source"),
    [
        ("Chart.yaml", True),
        ("Chart.lock", True),
        ("values.yaml", True),
        ("values.yml", True),
        ("values-prod.yaml", True),
        ("values_prod.yaml", True),
        ("values.schema.json", True),
        ("helpers.tpl", True),
        ("templates/x.yaml", True),
        ("sub/templates/x.yaml", True),
        ("sub/values.yaml", False),
        ("valuesofall.yaml", False),
        ("Charts.yaml", False),
        ("crds/x.yaml", False),
        ("x.yaml", False),
    ],
)
def test_the_files_of_a_chart(tmp_path: Path, name: str, is_source: bool) -> None:
    write(tmp_path, {"Chart.yaml": "name: web\n"})
    file = tmp_path / name
    for is_named in (False, True):
        found = unrendered.UnrenderedFiles().reason(file, NODE.encode(), is_named=is_named)
        expected = unrendered.Unrendered("a Helm chart", tmp_path, f"helm template {tmp_path}")
        assert found == (expected if is_source else None)


def test_the_innermost_chart_is_named(tmp_path: Path) -> None:
    write(tmp_path, {"Chart.yaml": "name: web\n", "charts/sub/Chart.yaml": "name: sub\n"})
    files = unrendered.UnrenderedFiles()
    inner = files.reason(tmp_path / "charts/sub/values.yaml", b"a: 1")
    outer = files.reason(tmp_path / "values.yaml", b"a: 1")
    assert inner is not None
    assert outer is not None
    assert (inner.folder, outer.folder) == (tmp_path / "charts/sub", tmp_path)


@pytest.mark.parametrize("name", ["kustomization.yaml", "kustomization.yml", "Kustomization"])
def test_a_kustomization_has_one_of_three_names(tmp_path: Path, name: str) -> None:
    write(tmp_path, {name: "resources: [r.yaml]\npatches: [{path: p.yaml}]\n"})
    expected = unrendered.Unrendered(
        "a kustomization", tmp_path, f"kubectl kustomize {tmp_path}", "render it first"
    )
    found = {
        (file, is_named): unrendered.UnrenderedFiles().reason(
            tmp_path / file, NODE.encode(), is_named=is_named
        )
        for file in (name, "r.yaml", "p.yaml", "other.yaml")
        for is_named in (False, True)
    }
    assert {key for key, reason in found.items() if reason == expected} == {
        (name, False), (name, True), ("r.yaml", False), ("p.yaml", False), ("p.yaml", True),
    }  # fmt: skip
    assert {reason for reason in found.values() if reason != expected} == {None}


@pytest.mark.parametrize("missing", ["", "manifest.json", "objects.json", "log/a"])
def test_a_run_has_a_manifest_objects_and_a_log(tmp_path: Path, missing: str) -> None:
    files = {"manifest.json": "{}", "objects.json": "[]", "log/a": "", "deep/x.json": "{}"}
    write(tmp_path, {name: text for name, text in files.items() if name != missing})
    found = unrendered.UnrenderedFiles().reason(tmp_path / "deep/x.json", b'{"kind": "Pod"}')
    expected = unrendered.Unrendered(
        "a run of podwright",
        tmp_path,
        f"podwright convert {tmp_path}",
        "name it with --run, or convert it",
    )
    assert found == (None if missing else expected)
    named = unrendered.UnrenderedFiles()
    assert named.reason(tmp_path / "objects.json", b'{"kind": "Pod"}', is_named=True) is None


@pytest.mark.parametrize(
    ("name", "data", "what"),
    [
        pytest.param("a.csv", b"a,b\n", None, id="a table"),
        pytest.param("a.yaml", b"a: 1\n", "files without apiVersion and kind", id="no object"),
        pytest.param("a.yaml", b"a: {{ x }}\n", "unrendered templates ({{ }})", id="a template"),
        pytest.param("a.yaml", b"kind: {{ x }} {{\n" + b"#" * 1_000_000, None, id="a large file"),
        pytest.param("a.yaml", b"a: '{{ x }}'\nkind: Pod\n", None, id="braces in a text"),
        pytest.param("a.json", b'{"a": 1', None, id="half of a text, whose error is reported"),
        pytest.param("a.json", b'[{"a": 1}]', "files without apiVersion and kind", id="a list"),
        pytest.param("a.json", b'["denied"]', "files without apiVersion and kind", id="errors"),
        pytest.param("a.json", b"[5]", None, id="numbers, which are reported"),
        pytest.param("a.json", b'{"pods": [], "nodes": []}', None, id="a snapshot"),
        pytest.param(
            "a.json", b'{"pods": [], "x": 1}', "files without apiVersion and kind", id="usage"
        ),
        pytest.param("a.json", b'{"pods": [], "nodes": [], "x": 1}', None, id="a misspelled key"),
        pytest.param("a.yaml", b"a: \xff", None, id="bytes that are not text"),
        pytest.param("a.yaml", b"\x1f\x8b{{", None, id="a compressed file"),
    ],
)
def test_files_are_recognized_by_their_content(
    tmp_path: Path, name: str, data: bytes, what: str | None
) -> None:
    found = unrendered.UnrenderedFiles().reason(tmp_path / name, data)
    assert (found and found.what) == what
    assert found is None or found.folder == tmp_path


def test_a_file_without_objects_is_read_if_it_is_named(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": "a: 1\n"})
    assert read_paths([tmp_path / "a.yaml"]) == [(f"{tmp_path}/a.yaml", b"a: 1\n")]
