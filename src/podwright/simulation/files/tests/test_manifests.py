import gzip
import io
import itertools
import json
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

import podwright as pw
from podwright.apimachinery.objects import FieldError, InputError, Node, Pod, encode
from podwright.simulation.files import manifests
from podwright.simulation.files.documents import Place
from podwright.simulation.files.manifests import (
    LoadedObjects,
    PartialObjects,
    load,
    load_bytes,
    read_bytes,
    read_path,
    read_paths,
    with_documents,
    with_generated_names,
)
from podwright.simulation.scenarios.reading import load_scenario
from podwright.simulation.world.timing.model import load_timing

CONFIG = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def node(name, **labels):
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


def as_json(value):
    return json.dumps(value).encode()


def test_the_manifests_of_a_folder_are_read_in_sorted_order(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / ".git").mkdir()
    for name in ("b.yaml", "a.json.gz", "sub/c.csv", "README.md", ".git/d.yaml", ".e.yaml"):
        (tmp_path / name).write_bytes(b"x")
    read = [name.removeprefix(f"{tmp_path}/") for name, _ in read_paths([tmp_path])]
    assert read == ["a.json.gz", "b.yaml", "sub/c.csv"]


def test_the_files_after_one_that_was_read_before_are_read(tmp_path):
    for name in "abc":
        (tmp_path / f"{name}.json").write_bytes(as_json(node(name)))
    found = read_paths([str(tmp_path / "a.json"), str(tmp_path)])
    assert [name.removeprefix(f"{tmp_path}/") for name, _ in found] == [
        "a.json",
        "b.json",
        "c.json",
    ]


def test_a_file_given_twice_is_read_once(tmp_path):
    file = tmp_path / "notes.txt"
    file.write_bytes(b"x")
    assert read_paths([file, str(file)]) == [(str(file), b"x")]


def test_a_configuration_may_come_before_objects():
    found = load_bytes([("f", as_json(CONFIG) + b"\n" + as_json(node("n")))])
    assert found.configuration is not None
    assert [obj.kind for obj in found.objects] == ["Node"]


def test_standard_input_is_a_path():
    stdin = io.BytesIO(as_json(node("n")))
    assert [o.key for o in load(["-"], stdin=stdin).objects] == ["n"]


def test_every_path_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError) as refused:
        read_paths([tmp_path / "missing.yaml", tmp_path / "empty", "-", "", "a\0b"])
    lines = str(refused.value).splitlines()
    assert lines[0] == f"{tmp_path}/missing.yaml: cannot be read: No such file or directory"
    assert lines[1].startswith(f"{tmp_path}/empty: no manifests in this folder")
    assert lines[2:] == [
        "-: no standard input",
        '"": an empty name is not a file',
        r'"a\u0000b": no file: embedded null byte',
    ]


def test_equal_duplicates_are_one_object():
    loaded = load_bytes([("a", as_json(node("n"))), ("b", gzip.compress(as_json(node("n"))))])
    assert [(entry.source, entry.object.key) for entry in loaded.sourced] == [("a", "n")]


def test_different_duplicates_name_both_sources():
    with pytest.raises(InputError, match="b: Node n is different in a"):
        load_bytes([("a", as_json(node("n"))), ("b", as_json(node("n", zone="z")))])


def test_the_configuration_is_found_and_a_second_one_is_rejected():
    loaded = load_bytes([("a", as_json(CONFIG)), ("b", as_json(CONFIG))])
    assert loaded.configuration is not None
    assert loaded.configuration.document == CONFIG
    with pytest.raises(InputError, match="b: a second scheduler configuration; the first is a"):
        load_bytes([("a", as_json(CONFIG)), ("b", as_json(CONFIG | {"parallelism": 1}))])


def test_objects_are_grouped_by_kind_in_order():
    loaded = load_bytes([("a", as_json(node("z")) + as_json(node("b")))])
    assert [n.name for n in loaded.of(Node)] == ["z", "b"]
    assert loaded.of(Pod) == ()


def test_the_errors_of_all_files_are_shown_together():
    with pytest.raises(InputError) as refused:
        load_bytes([("a", b'{"kind": "Pod"}'), ("b", b'{"apiVersion": "v1"}')])
    assert str(refused.value) == "a: apiVersion: Required value\nb: kind: Required value"


def test_versions_of_one_object_are_one_object():
    budget = {"kind": "Widget", "metadata": {"name": "b", "namespace": "a"}}
    for first, second in (
        ("example.com/v1beta1", "example.com/v1"),
        ("example.com/v1", "example.com/v1beta1"),
    ):
        loaded = load_bytes(
            [
                ("a", as_json(budget | {"apiVersion": first})),
                ("b", as_json(budget | {"apiVersion": second})),
            ]
        )
        assert [obj.raw["apiVersion"] for obj in loaded.objects] == ["example.com/v1"]


def test_versions_of_an_object_that_is_a_struct_are_those_that_were_written():
    claim = {"kind": "ResourceClaim", "spec": {"devices": {}}}
    documents = []
    for version in ("v1beta2", "v1"):
        metadata = {"name": "c", "labels": {"version": version}}
        whole = claim | {"apiVersion": f"resource.k8s.io/{version}", "metadata": metadata}
        documents.append((version, as_json(whole)))
    for several in (documents, documents[::-1]):
        (obj,) = load_bytes(several).objects
        assert obj.metadata.labels == {"version": "v1"}


def test_a_value_of_validate_is_one_of_three(tmp_path):
    (tmp_path / "a.yaml").write_text("")
    with pytest.raises(InputError, match=r'^validate: Unsupported value: "bogus"'):
        load(tmp_path / "a.yaml", validate="bogus")  # type: ignore[arg-type]


def test_the_objects_of_files_are_passed_on_as_they_are(tmp_path):
    (tmp_path / "node.yaml").write_text("{apiVersion: v1, kind: Node, metadata: {name: n1}}")
    loaded = load(tmp_path)
    assert [*loaded] == [*loaded.objects]
    assert pw.drain_plan(loaded, ["n1"]).is_complete


def test_the_newest_version_of_an_object_counts_whatever_their_order():
    def budget(version, **spec):
        metadata = {"name": "b", "namespace": "a"}
        kind = {"apiVersion": f"example.com/{version}", "kind": "Thing"}
        return {**kind, "metadata": metadata, "spec": spec}

    order = ["other", "v1alpha1", "v1alpha2", "v1beta1", "v1beta2", "v1beta10", "v1", "v2", "v10"]
    for low, high in itertools.combinations(order, 2):
        for several in ((low, high), (high, low)):
            (obj,) = load_bytes([(each, as_json(budget(each, x=each))) for each in several])
            assert obj.raw["spec"] == {"x": high}


def state(version: str, uid: str = "u", **labels: str) -> bytes:
    metadata = {"name": "n", "uid": uid, "resourceVersion": version, "labels": labels}
    document = {"apiVersion": "v1", "kind": "Node", "metadata": metadata}
    return json.dumps(document).encode()


def test_the_newest_state_of_an_object_of_a_server_counts_with_a_warning():
    several = [("a", state("9", x="9")), ("b", state("10", x="10")), ("c", state("8", x="8"))]
    for files in itertools.permutations(several):
        loaded = load_bytes(files)
        assert [obj.metadata.labels for obj in loaded] == [{"x": "10"}]
        assert loaded.warnings == (
            "the newest state is read of what the files have in several: Node n",
        )
    assert not load_bytes([("a", state("9")), ("b", state("9"))]).warnings


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(state("9"), state("10", uid="v"), id="another object of its name"),
        pytest.param(state("9"), state("9", x="y"), id="one version"),
        pytest.param(state("9", uid=""), state("10", uid=""), id="no object of a server"),
        pytest.param(state("9"), state("x"), id="a version that is not a number"),
        pytest.param(state(""), state("9"), id="no version"),
    ],
)
def test_other_objects_of_one_name_are_an_error(first, second):
    with pytest.raises(InputError, match="b: Node n is different in a"):
        load_bytes([("a", first), ("b", second)])


def test_objects_whose_names_are_generated_are_all_there():
    one = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"generateName": "p-"}}
    loaded = load_bytes([("a", as_json(one)), ("b", as_json(one)), ("c", as_json(node("n")))])
    assert [obj.name for obj in loaded.objects] == ["", "", "n"]
    *names, given = (obj.name for obj in with_generated_names(loaded).objects)
    assert (given, len(set(names))) == ("n", 2)
    assert {(len(name), name[:2]) for name in names} == {(7, "p-")}


def test_loaded_objects_are_shown_by_kind():
    thing = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}}
    other = thing | {"metadata": {"name": "u"}}
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    documents = (node("a"), thing, node("b"), other, config)
    loaded = load_bytes([("a", b"".join(map(as_json, documents)))])
    assert repr(loaded) == "<LoadedObjects: 2 Node, 2 Thing, 1 ConfigMap>"
    assert [obj.name for obj in loaded] == ["a", "t", "b", "u", "c"]
    assert [entry.object.name for entry in loaded.of_custom_kinds()] == ["t"]
    text = loaded._repr_html_()
    assert "Loaded objects" in text
    assert ">Thing<" in text
    assert repr(load_bytes([])) == "<LoadedObjects: none>"


@pytest.mark.parametrize(
    ("documents", "is_complete"),
    [
        ([{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
           "spec": {"containers": [{"name": "c", "image": "i"}], "x": 1}}], True),
        ([{"apiVersion": "v1", "kind": "Pod", "metadata": 7}], False),
        ([{"apiVersion": "v1", "kind": "Pod", "metadata": 7}, node("n")], False),
    ],
)  # fmt: skip
def test_errors_say_whether_every_object_is_there(documents, is_complete):
    with pytest.raises(PartialObjects) as error:
        load_bytes([("a", as_json(documents[0])), *(("b", as_json(d)) for d in documents[1:])])
    assert error.value.is_complete is is_complete
    names = [obj.name for obj in error.value.loaded.objects]
    assert names == (["p"] if is_complete else ["n"] * (len(documents) - 1))


@pytest.mark.parametrize(
    "parts",
    [
        ("{a: [", "{apiVersion: v1, kind: Node, metadata: {name: n}}"),
        ("{apiVersion: v1, kind: Node, metadata: {name: n}}", "{a: ["),
        ("{apiVersion: v1, kind: Node, metadata: {name: n}}", "7", *["{apiVersion: v1, kind: Node,"
         " metadata: {name: m}}"] * 2),
    ],
)  # fmt: skip
def test_a_document_that_cannot_be_read_may_have_had_objects(parts):
    with pytest.raises(PartialObjects) as error:
        load_bytes([("a", "\n---\n".join(parts).encode())])
    assert not error.value.is_complete
    assert len(error.value.errors) == 1


@pytest.mark.parametrize(
    "metadata", [{"name": "d"}, {"name": "d", "uid": "1", "resourceVersion": "1"}]
)
def test_an_object_with_errors_is_kept_without_its_values_of_wrong_types(metadata):
    document = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": 7}
    with pytest.raises(PartialObjects) as error:
        load_bytes([("a", as_json(document))])
    assert [str(one) for one in error.value.errors] == [
        "a: spec: Invalid value: 7: must be an object"
    ]
    (obj,) = error.value.loaded.objects
    assert (obj.name, "spec" in encode(obj)) == ("d", False)


@pytest.mark.parametrize("metadata", [{}, {"generateName": "n-"}])
def test_an_object_of_a_server_has_a_name(metadata):
    metadata = {"uid": "1", "resourceVersion": "1", **metadata}
    with pytest.raises(PartialObjects, match=r"metadata\.name: Required value$"):
        load_bytes([("a", as_json({"apiVersion": "v1", "kind": "Node", "metadata": metadata}))])


def test_standard_input_is_read_once():
    stdin = io.BytesIO(as_json(node("n")))
    assert list(read_paths(["-", "-"], stdin=stdin)) == [("stdin", as_json(node("n")))]


def test_what_a_node_can_hold_is_its_capacity_if_nothing_else_is_given():
    large = str(1 << 70)
    status = {"capacity": {"memory": large}}
    data = as_json(node("n") | {"status": status})
    with_both = node("m") | {"status": status | {"allocatable": {"memory": "1Gi"}}}
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    loaded = load_bytes([("a", as_json(config) + as_json(with_both) + data)], validate="ignore",
                        has_defaults=False)  # fmt: skip
    (warning,) = loaded.warnings
    assert f"status.allocatable[memory]: {large} does not fit 64 bits" in warning


@pytest.mark.parametrize(
    ("documents", "names", "errors", "is_complete"),
    [
        pytest.param([(node("b"), "")], [("a", "n"), ("s", "b")], [], True, id="another one"),
        pytest.param([(node("b"), "spec[1]")], [("a", "n"), ("s: spec[1]", "b")], [], True,
                     id="below a path"),
        pytest.param([(node("n"), "")], [("a", "n")], [], True, id="the same"),
        pytest.param([(node("n", x="y"), "")], [("a", "n")], ["s: Node n is different in a"], True,
                     id="another content"),
        pytest.param([({"kind": "Node"}, "spec[0]"), (node("b"), "")], [("a", "n"), ("s", "b")],
                     ["s: spec[0].apiVersion: Required value"], False, id="one without a version"),
        pytest.param([(node("b") | {"spec": {"x": 1}}, "p")], [("a", "n"), ("s: p", "b")],
                     ["s: p.spec.x: unknown field"], True, id="one with an unknown field"),
    ],
)  # fmt: skip
def test_documents_are_added_to_objects(documents, names, errors, is_complete):
    loaded = load_bytes([("a", as_json(node("n")))])
    found: list[FieldError] = []
    given = [(Place("s"), path, document) for document, path in documents]
    made, complete = with_documents(loaded, given, found)
    assert [(entry.source, entry.object.name) for entry in made.sourced] == names
    assert [str(each) for each in found] == errors
    assert complete is is_complete


def test_warnings_of_documents_follow_those_of_the_objects():
    loaded = LoadedObjects(warnings=("first",))
    wrong = node("b") | {"spec": {"x": 1}}
    errors: list[FieldError] = []
    made, _ = with_documents(loaded, [(Place("s"), "", wrong)], errors, "warn")
    assert (made.warnings, errors) == (("first", "s: spec.x: unknown field"), [])


def test_a_file_is_read_or_named(tmp_path):
    (tmp_path / "f").write_bytes(b"x")
    assert read_bytes(tmp_path / "f") == read_bytes(str(tmp_path / "f")) == b"x"
    with pytest.raises(InputError) as error:
        read_bytes(tmp_path / "g")
    assert str(error.value) == f"{tmp_path}/g: cannot be read: No such file or directory"


def test_the_progress_is_that_of_all_files_together(tmp_path, monkeypatch):
    shown: list[Any] = []

    def metered(what, total, *, is_shown):
        shown.append((what, total, is_shown))
        return nullcontext(SimpleNamespace(advance=lambda done, note: shown.append((done, note()))))

    monkeypatch.setattr(manifests, "metered", metered)
    for name in "ab":
        (tmp_path / f"{name}.json").write_bytes(as_json(node(name)))
    size = len(as_json(node("a")))
    loaded = load([tmp_path / "a.json", str(tmp_path / "b.json")], progress=True)
    assert [obj.name for obj in loaded] == ["a", "b"]
    first, second = (f"{tmp_path}/{name}.json" for name in "ab")
    assert shown == [
        ("reading", 2 * size, True),
        (0.0, first), (0.5 * size, first), (size, second), (1.5 * size, second),
    ]  # fmt: skip


def test_a_file_of_a_folder_is_read_once_and_what_is_wrong_is_named_together(tmp_path):
    (tmp_path / "a.yaml").write_text("kind: Pod")
    name = f"{tmp_path}/a.yaml"
    assert read_paths([name, tmp_path]) == read_paths([tmp_path, name]) == [(name, b"kind: Pod")]
    (tmp_path / "folder.yaml").mkdir()
    assert read_paths([tmp_path]) == [(name, b"kind: Pod")]
    (tmp_path / "none").mkdir()
    with pytest.raises(InputError) as error:
        read_paths([tmp_path / "x", tmp_path / "none", tmp_path / "y"])
    assert [each.source for each in error.value.errors] == [
        f"{tmp_path}/{each}" for each in ("x", "none", "y")
    ]


def test_a_path_of_one_file_is_that_of_a_file_or_of_a_folder_with_one(tmp_path):
    (tmp_path / "a.yaml").write_text("kind: Pod")
    only = (f"{tmp_path}/a.yaml", b"kind: Pod")
    assert read_path(tmp_path / "a.yaml") == read_path(tmp_path) == only
    (tmp_path / "b.yaml").write_text("kind: Node")
    for read in (read_path, pw.read_node_groups, load_scenario, load_timing):
        with pytest.raises(InputError) as error:
            read(tmp_path)
        assert str(error.value) == (
            f"{tmp_path}: a folder with 2 files, where one file is read; name the file"
        )


def test_the_configuration_of_a_snapshot_is_read_with_notes_and_one_of_a_file_as_it_is():
    old = {"apiVersion": "kubescheduler.config.k8s.io/v1beta2", "kind": CONFIG["kind"]}
    loaded = load_bytes([("a", as_json({"pods": [], "schedulerConfig": old}))])
    assert loaded.configuration is not None
    assert (loaded.configuration.source, loaded.configuration.document) == (
        "a: schedulerConfig", CONFIG,
    )  # fmt: skip
    assert loaded.warnings == (
        "a: schedulerConfig: its version is kubescheduler.config.k8s.io/v1beta2; it is read as"
        " kubescheduler.config.k8s.io/v1",
    )
    loaded = load_bytes([("a", as_json(old))])
    assert loaded.configuration is not None
    assert (loaded.configuration.document, loaded.warnings) == (old, ())


def test_a_kind_that_podwright_knows_is_not_a_custom_one():
    group = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup"}
    other = {"apiVersion": "example.com/v1", "kind": "PodGroup"}
    rest = {"metadata": {"name": "g"}, "spec": {"minMember": 2}}
    documents = [each | rest for each in (group, other)]
    loaded = load_bytes([("f", b"\n".join(map(as_json, documents)))])
    assert len(loaded.objects) == 2
    found = [entry.object.api_version for entry in loaded.of_custom_kinds()]
    assert found == ["example.com/v1"]
