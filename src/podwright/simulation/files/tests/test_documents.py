import gzip
import io
import json
import tarfile
import zipfile
from typing import Literal

import pytest

from podwright.apimachinery.objects import FieldError, Node, Pod
from podwright.simulation.files import read_manifest
from podwright.simulation.files.documents import (
    Found,
    Lines,
    ListLines,
    Place,
    _is_of_server,
    _length,
    is_configuration,
    read_documents,
)
from podwright.simulation.files.json_documents import is_from_server

SPEC = {"containers": [{"name": "main", "image": "app"}]}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "default"},
    "spec": SPEC,
}
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
STORED = NODE | {"metadata": {"name": "s", "uid": "u", "resourceVersion": "7"}}
CONFIG = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}

ARCHIVE = "f: an archive: unpack it, and name its folder"


def packed(mode: Literal["w", "w:gz"]) -> bytes:
    """Return a tar archive with one manifest."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode=mode) as archive:
        archive.addfile(tarfile.TarInfo("pod.yaml"), io.BytesIO())
    return content.getvalue()


def zipped() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("pod.yaml", "")
    return content.getvalue()


YAML = b"""\
# a comment
apiVersion: v1
kind: Node
metadata: {name: n, labels: {zone: a}}
---
---
apiVersion: v1
kind: Pod
metadata:
  name: p
  annotations: &notes {octal: "0777", date: 2026-01-01, exponent: 1e}
  labels:
    <<: *notes
    octal: "0"
spec:
  containers: [{name: main, image: app}]
  priority: 010
"""


def keys(manifest):
    return [(entry.object.kind, entry.object.key) for entry in manifest.objects]


def as_json(value):
    return json.dumps(value).encode()


@pytest.mark.parametrize(
    ("data", "found"),
    [
        pytest.param(YAML, [("Node", "n"), ("Pod", "default/p")], id="YAML documents"),
        pytest.param(as_json(POD), [("Pod", "default/p")], id="one JSON object"),
        pytest.param(gzip.compress(as_json(POD)), [("Pod", "default/p")], id="gzip"),
        pytest.param(
            b"\xef\xbb\xbf" + as_json(POD), [("Pod", "default/p")], id="a byte order mark"
        ),
        pytest.param(YAML.decode().encode("utf-16"), [("Node", "n"), ("Pod", "default/p")],
                     id="UTF-16"),
        pytest.param(b"\xfe\xff" + YAML.decode().encode("utf-16-be"),
                     [("Node", "n"), ("Pod", "default/p")], id="UTF-16, the first byte higher"),
        pytest.param(json.dumps(POD).encode("utf-16"), [("Pod", "default/p")], id="JSON in UTF-16"),
        pytest.param(YAML.replace(b"\n", b"\r\n"), [("Node", "n"), ("Pod", "default/p")],
                     id="lines of Windows"),
        pytest.param(
            as_json(POD) + b"\n" + as_json(NODE),
            [("Pod", "default/p"), ("Node", "n")],
            id="JSON objects one after the other",
        ),
        pytest.param(
            as_json({"apiVersion": "v1", "kind": "List", "items": [POD, NODE]}),
            [("Pod", "default/p"), ("Node", "n")],
            id="a List",
        ),
        pytest.param(
            as_json(
                {
                    "apiVersion": "v1",
                    "kind": "PodList",
                    "items": [{"metadata": {"name": "p"}, "spec": SPEC}],
                }
            ),
            [("Pod", "default/p")],
            id="a typed list, whose items have no kind",
        ),
        pytest.param(
            as_json({"kind": "List", "items": [{"kind": "List", "items": [POD]}, NODE]}),
            [("Pod", "default/p"), ("Node", "n")],
            id="a List in a List",
        ),
        pytest.param(
            as_json([POD, NODE]), [("Pod", "default/p"), ("Node", "n")], id="a JSON list of objects"
        ),
        pytest.param(
            b"apiVersion: v1\nkind: Node\nmetadata: {name: n, labels: {!!merge <<: {a: b}}}",
            [("Node", "n")],
            id="a merge key with a tag",
        ),
        pytest.param(
            b"{apiVersion: v1, kind: Node, metadata: {name: n}}", [("Node", "n")], id="flow YAML"
        ),
        pytest.param(b"", [], id="an empty file"),
        pytest.param(b"apiVersion: v1\nkind: List\n", [], id="a list without items"),
    ],
)  # fmt: skip
def test_read_manifest(data, found):
    assert keys(read_manifest(data, source="f")) == found


def test_yaml_scalars_have_kubectls_meaning():
    node, pod = (entry.object for entry in read_manifest(YAML, source="f").objects)
    assert isinstance(node, Node)
    assert isinstance(pod, Pod)
    assert pod.metadata.labels == {"octal": "0", "date": "2026-01-01", "exponent": "1e"}
    assert pod.metadata.annotations["date"] == "2026-01-01"
    assert pod.metadata.annotations["exponent"] == "1e"
    assert pod.spec.priority == 8


def test_a_snapshot_of_the_simulator_is_objects_and_a_configuration():
    snapshot = {
        "pods": [{"metadata": {"name": "p"}}],
        "nodes": [{"metadata": {"name": "n"}}],
        "pvs": [], "pvcs": None, "storageClasses": [{"metadata": {"name": "s"}}],
        "priorityClasses": [], "namespaces": [], "schedulerConfig": CONFIG,
    }  # fmt: skip
    manifest = read_manifest(as_json(snapshot), source="f")
    assert keys(manifest) == [("StorageClass", "s"), ("Node", "n"), ("Pod", "default/p")]
    assert [entry.document for entry in manifest.configurations] == [CONFIG]
    newer = CONFIG | {"healthzBindAddress": "x"}
    manifest = read_manifest(as_json(snapshot | {"schedulerConfig": newer}), source="f")
    assert [entry.document for entry in manifest.configurations] == [CONFIG]
    assert any("healthzBindAddress" in warning for warning in manifest.warnings)
    manifest = read_manifest(as_json(newer), source="f")
    assert [entry.document for entry in manifest.configurations] == [newer]
    assert manifest.warnings == ()


@pytest.mark.parametrize(
    ("data", "errors"),
    [
        pytest.param(
            YAML + b"  preemptionPolicy: Nver\n---\nkind: Pod\n---\n- 1\n",
            [
                'f: document 3 (line 18): spec.preemptionPolicy: Unsupported value: "Nver": '
                'supported values: "PreemptLowerPriority", "Never"; did you mean "Never"?',
                "f: document 4 (line 20): apiVersion: Required value",
                "f: document 5 (line 22): must be an object, with apiVersion and kind, not [1]",
            ],
            id="the errors of all documents",
        ),
        pytest.param(
            b"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n"
            b"  metadata: {name: p}\n  spec: {containers: [{name: main, image: app}]}\n"
            b"- apiVersion: v1\n  kind: Pod\n  metadata: {}\n"
            b"  spec: {containers: [{name: main, image: app}]}\n",
            [
                "f: document 1 (line 10): items[1]: metadata.name: "
                "Required value: name or generateName"
            ],
            id="the line of an item",
        ),
        pytest.param(
            b"apiVersion: apps/v1\nkind: Deploymnt\nmetadata: {name: a}\n---\n"
            b"apiVersion: v1\nkind: DeploymentList\nitems:\n- {metadata: {name: b}}\n",
            [
                'f: document 1 (line 2): kind: no matches for kind "Deploymnt" in version'
                ' "apps/v1"; did you mean "Deployment"?',
                'f: document 2 (line 8): items[0]: kind: no matches for kind "Deployment" in'
                ' version "v1"',
            ],
            id="kinds that a built-in group does not have",
        ),
        pytest.param(b"a: 1\nb: [\n", ["f: line 3: not YAML: "], id="text that is not YAML"),
        pytest.param(
            b"apiVersion: v1\nkind: Pod\nkind: Pod\nmetadata: {name: p, name: p}\n"
            b"spec: {containers: [{name: main, image: app}]}\n",
            ['f: line 3: duplicate key "kind"', 'f: line 4: duplicate key "name"'],
            id="keys twice",
        ),
        pytest.param(
            b'{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "name": "q"},'
            b' "spec": {"containers": [{"name": "main", "image": "app"}]}}',
            ['f: duplicate key "name"'],
            id="a key twice in JSON",
        ),
        pytest.param(
            b'{"apiVersion": "v1",\n "kind": "Pod", "metadata": {"name": "p",\n "name": "q"},'
            b'\n "spec": {"containers": [{"name": "main", "image": "app"}], "containers": []}}',
            [
                'f: line 3: duplicate key "name"',
                'f: line 4: duplicate key "containers"',
                "f: line 4: spec.containers: Required value",
            ],
            id="keys twice in lines of JSON",
        ),
        pytest.param(
            b'{"apiVersion": "v1", "kind": "List", "items": [' + as_json(STORED) + b","
            b'{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "name": "m"}}]}',
            ['f: duplicate key "name"'],
            id="keys twice beside an object of a server",
        ),
        pytest.param(b"a: *b\n", ['f: line 1: unknown alias "b"'], id="an unknown alias"),
        pytest.param(b"\x1f\x8bxx", ["f: cannot be unpacked: "], id="broken gzip"),
        pytest.param(zipped(), [ARCHIVE], id="zip"),
        pytest.param(packed("w"), [ARCHIVE], id="tar"),
        pytest.param(packed("w:gz"), [ARCHIVE], id="compressed tar"),
        pytest.param(
            b"NAME    READY\nweb-0   1/1\n",
            [
                "f: document 1 (line 1): must be an object, with apiVersion and kind, not"
                ' "NAME    READY web-0   1/1"; kubectl prints objects with -o yaml'
            ],
            id="a table of kubectl",
        ),
        pytest.param(b"\xff\xfe\x00", ["f: not UTF-16 text: "], id="not UTF-16 text"),
        pytest.param(b"a: caf\xe9\n", ["f: not UTF-8 text: "], id="not text"),
        pytest.param(
            b'{"kind": "Pod",\n "metadata": {"name": "p',
            ["f: line 2: not JSON: unterminated string (column 23)"],
            id="half of a JSON text",
        ),
        pytest.param(
            b'[{"kind": "Pod"}\n {"kind": "Pod"}]',
            ["f: line 2: not JSON: expecting ',' delimiter (column 2)"],
            id="a JSON list without a comma",
        ),
        pytest.param(b"{kind: Pod", ["f: line 2: not YAML: "], id="half of a flow mapping"),
        pytest.param(
            b'{"a":' * 9_000 + b"1" + b"}" * 9_000, ["f: nested too deeply"], id="very deep JSON"
        ),
        pytest.param(
            b"a: " + b"[" * 9_000, ["f: line 1: nested too deeply"], id="a very deep flow sequence"
        ),
        pytest.param(
            as_json(POD | {"metadata": {"name": "p", "generation": 1}}).replace(
                b": 1}", b": 1" + b"0" * 5000 + b"}"
            ),
            ["f: document 1 (line 1): metadata.generation: Invalid value: "],
            id="an integer of thousands of digits",
        ),
        pytest.param(
            as_json(POD | {"metadata": {"name": "p", "generation": 1}}).replace(
                b": 1}", b": 1e999}"
            ),
            ['f: metadata.generation: Invalid value: "1e999": must be an integer'],
            id="a number that no float has",
        ),
        pytest.param(
            b"\n1e5\n",
            ["f: document 1 (line 2): must be an object, with apiVersion and kind, not 100000"],
            id="a number alone is YAML",
        ),
        pytest.param(
            as_json(POD) + b"\n" + as_json(NODE | {"metadata": {}}) + as_json({"kind": "Pod"}),
            ["f: document 2: metadata.name: Required value", "f: document 3: apiVersion: "],
            id="the second and the third of several JSON objects",
        ),
        pytest.param(
            as_json(POD | {"metadata": {"name": "p\ud83d"}}),
            ['f: metadata.name: Invalid value: "p\ufffd"'],
            id="half a surrogate pair",
        ),
        pytest.param(
            b"sn,cpu_milli,memory_mib,gpu,model\nn1,many,1,0,\n",
            ['f: line 2: cpu_milli: Invalid value: "many": must be a whole number'],
            id="a cell of a table",
        ),
    ],
)
def test_errors_have_their_location(data, errors):
    lines = list(map(str, read_manifest(data, source="f").errors))
    assert len(lines) == len(errors)
    for line, error in zip(lines, errors, strict=True):
        assert line.startswith(error)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(as_json({"kind": "List", "items": [POD] * 250}), id="a list"),
        pytest.param(as_json([POD] * 250), id="a JSON list of objects"),
        pytest.param(b"\n".join([as_json(POD)] * 250), id="objects one after the other"),
    ],
)
def test_the_share_of_json_that_is_read_is_reported(data):
    shares = []

    def watch(source, share):
        shares.append((source, share))

    assert len(read_manifest(data, source="f", watch=watch).objects) == 250
    assert shares == [("f", 0.0), ("f", 0.5), ("f", 0.7), ("f", 0.9)]


def test_lists_in_lists_are_no_more_than_the_whole():
    shares = []
    inner = {"kind": "List", "items": [POD] * 250}
    read_manifest(
        as_json({"kind": "List", "items": [inner]}),
        source="f",
        watch=lambda *each: shares.append(each),
    )
    assert shares == [("f", 0.0), ("f", 0.5), ("f", 1.0), ("f", 1.0)]


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_another_table_is_an_error_with_what_reads_it(name):
    (error,) = read_manifest(b"name,cores\nn1,4\n", source=name).errors
    assert str(error).startswith(f"{name}: line 1: not a table of openb, which starts with ")
    assert str(error).endswith("; `podwright trace` reads other tables with --columns")


def test_openb_nodes_and_pods_are_kubernetes_objects():
    nodes = b"sn,cpu_milli,memory_mib,gpu,model\nn1,32000,262144,2,T4\nn2,1000,1,0,\n"
    gpu, plain = (entry.object for entry in read_manifest(nodes, source="f").objects)
    assert isinstance(gpu, Node)
    assert isinstance(plain, Node)
    assert gpu.status.allocatable == {
        "cpu": "32000m",
        "memory": "262144Mi",
        "pods": "1001",
        "alibabacloud.com/gpu-count": "2",
        "alibabacloud.com/gpu-milli": "2000",
    }
    assert gpu.metadata.labels["alibabacloud.com/gpu-card-model"] == "T4"
    assert set(plain.status.allocatable) == {"cpu", "memory", "pods"}

    pods = (
        b"name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
        b"deletion_time,scheduled_time\np,6000,12288,1,460,T4|P100,LS,Running,5,9,6\n"
    )
    (pod,) = (entry.object for entry in read_manifest(pods, source="f").objects)
    assert isinstance(pod, Pod)
    assert pod.metadata.annotations == {
        "alibabacloud.com/gpu-milli": "460",
        "alibabacloud.com/gpu-count": "1",
        "alibabacloud.com/gpu-card-model": "T4|P100",
        "alibabacloud.com/qos": "LS",
        "alibabacloud.com/pod-phase": "Running",
        "alibabacloud.com/creation-time": "5",
        "alibabacloud.com/deletion-time": "9",
        "alibabacloud.com/scheduled-time": "6",
    }
    resources = pod.spec.containers[0].resources
    assert resources.requests == resources.limits == {"cpu": "6000m", "memory": "12288Mi"}


def test_the_short_openb_tables_have_pods_too():
    data = b"name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1,2,0,0\n"
    (pod,) = (entry.object for entry in read_manifest(data, source="f").objects)
    assert pod.metadata.annotations == {}


LONG_TEXT = "\n".join(f"k{number}: 1" for number in range(5_002))
TEXT = "kind: List\nitems:\n- kind: Pod\n  spec:\n    priority: 1\n"


@pytest.mark.parametrize(
    ("place", "name", "of_field"),
    [
        pytest.param(Place("f"), "f", "f", id="a file"),
        pytest.param(Place("f", LINES := Lines(lambda: TEXT), 1), "f", "f: line 5", id="its lines"),
        pytest.param(Place("f", LINES, 1, index=2), "f: document 2 (line 1)",
                     "f: document 2 (line 5)", id="one of several documents"),
        pytest.param(Place("f", Lines(lambda: "a: ["), 1, index=2), "f: document 2 (line 1)",
                     "f: document 2 (line 1)", id="lines that cannot be read"),
        pytest.param(Place("f", None, 7, index=2), "f: document 2 (line 7)",
                     "f: document 2 (line 7)", id="without lines"),
        pytest.param(Place("f", LINES, 0, index=2), "f: document 2", "f: document 2",
                     id="without its line"),
    ],
)  # fmt: skip
def test_a_place_has_the_line_of_the_document_or_of_a_field(place, name, of_field):
    assert str(place) == name
    assert place.of("") == name
    assert place.of("items[0].spec.priority") == of_field


@pytest.mark.parametrize(
    ("text", "path", "first", "line"),
    [
        pytest.param(TEXT, "items[0].spec.priority", 1, 5, id="a field"),
        pytest.param(TEXT, "items[1]", 1, 2, id="an absent item: that of the list"),
        pytest.param(TEXT, "none", 1, 1, id="an absent field: that of the document"),
        pytest.param("a: 1\n---\nb: 1\nc: 1", "c", 3, 4, id="a later document"),
        pytest.param("a: 1\n---\n}", "b", 3, 0, id="lines that cannot be read"),
        pytest.param(LONG_TEXT, "k4999", 1, 5000, id="the last line that is read"),
        pytest.param(LONG_TEXT, "k5000", 1, 1, id="a line after it: that of the document"),
        pytest.param("---\n" + LONG_TEXT, "k4999", 2, 5001, id="the last one of a later document"),
        pytest.param("---\n" + LONG_TEXT, "k5000", 2, 2, id="and one after that"),
    ],
)
def test_the_line_of_a_field_is_that_in_the_file(text, path, first, line):
    assert Lines(lambda: text).line_of(path, first) == line


@pytest.mark.parametrize(
    ("path", "line"),
    [
        pytest.param("items[1].metadata.name", 4, id="a field of an item"),
        pytest.param("items[0].kind", 2, id="of the first item"),
        pytest.param("metadata", 0, id="a field beside the items"),
    ],
)
def test_the_line_of_a_field_of_a_json_list_is_that_of_its_item(path, line):
    items = ['{"kind": "Node"}', '{"kind": "Node",\n  "metadata": {"name": "n"}}']
    data = ('{"items": [\n' + ",\n".join(items) + "]}").encode()
    starts = [data.index(item.encode()) for item in items]
    spans = [(start, start + len(item)) for start, item in zip(starts, items, strict=True)]
    assert ListLines(data, spans).line_of(path, 1) == line


@pytest.mark.parametrize(
    ("line", "name", "of_field"),
    [
        pytest.param(3, "f: document 1 (line 3): items[0]", "f: document 1 (line 5): items[0]",
                     id="on its own line"),
        pytest.param(0, "f: document 1: items[0]", "f: document 1 (line 5): items[0]",
                     id="below the line of the document"),
    ],
)  # fmt: skip
def test_an_item_has_its_position_and_the_lines_of_its_fields(line, name, of_field):
    lines = Lines(lambda: TEXT)
    item = Place("f", lines, 1, index=1).at_item("items", 0, line)
    assert str(item) == name
    # The lines of an item that begins a line begin there.
    assert item.of("spec.priority") == of_field
    inner = item.at_item("items", 4, 0)
    assert inner.item == "items[0]: items[4]"
    assert str(inner) == "f: document 1: items[0]: items[4]"


def documents_of(value, **options):
    """Return documents with their places, and the errors."""
    errors: list[FieldError] = []
    duplicates: list[FieldError] = []
    found = [
        (str(place), document, is_stored)
        for place, document, is_stored in read_documents(
            as_json(value), "f", errors, duplicates, **options
        )
    ]
    assert duplicates == []
    return found, [f"{each.source}: {each.path}: {each.message}" for each in errors]


@pytest.mark.parametrize(
    ("value", "found", "errors"),
    [
        pytest.param(
            {"pods": [{"metadata": {"name": "p"}}], "schedulerConfig": {"profiles": []}},
            [
                ("f: pods[0]",
                 {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}, True),
                ("f: schedulerConfig",
                 {"apiVersion": "kubescheduler.config.k8s.io", "profiles": []}, True),
            ],
            [],
            id="a snapshot of an earlier version",
        ),
        pytest.param({"pods": None, "schedulerConfig": None}, [], [], id="an empty snapshot"),
        pytest.param(
            {"pods": 3, "nodes": [4], "schedulerConfig": []},
            [],
            [
                "f: nodes[0]: : Invalid value: 4: must be an object",
                "f: pods: Invalid value: 3: must be a list",
                "f: schedulerConfig: Invalid value: []: must be a KubeSchedulerConfiguration"
                " or null",
            ],
            id="a snapshot of other values",
        ),
        pytest.param({"pods": [], "other": 1}, [("f", {"pods": [], "other": 1}, False)], [],
                     id="another key is not a snapshot"),
        pytest.param({}, [("f", {}, False)], [], id="an empty object"),
        pytest.param({"kind": "PodList"}, [("f", {"kind": "PodList"}, False)], [],
                     id="a kind that ends so, without items"),
        pytest.param({"kind": "List"}, [], [], id="a list without items"),
        pytest.param({"kind": 3, "items": []}, [("f", {"kind": 3, "items": []}, False)], [],
                     id="a kind that is a number"),
        pytest.param(
            {"kind": "List", "apiVersion": "v1", "items": [{"a": 1}, 2, {"b": 1}]},
            [("f: items[0]", {"a": 1}, False), ("f: items[2]", {"b": 1}, False)],
            ["f: items[1]: : Invalid value: 2: must be an object"],
            id="items without a kind get none from a List",
        ),
        pytest.param(
            {"kind": "PodList", "apiVersion": "v1", "items": [{"kind": "X"}, {"apiVersion": "y"}]},
            [("f: items[0]", {"apiVersion": "v1", "kind": "X"}, False),
             ("f: items[1]", {"apiVersion": "y", "kind": "Pod"}, False)],
            [],
            id="items of a typed list get what they lack",
        ),
        pytest.param(
            {"kind": "List", "items": [{"kind": "PodList", "apiVersion": "v1", "items": []}]},
            [("f: items[0]", {"kind": "PodList", "apiVersion": "v1", "items": []}, False)],
            [],
            id="a typed list is no item of a List",
        ),
        pytest.param([{"a": 1}, {"kind": "List", "items": [{"b": 1}]}],
                     [("f: [0]", {"a": 1}, False), ("f: [1]: items[0]", {"b": 1}, False)], [],
                     id="a JSON list"),
        pytest.param([], [], ["f: : must be an object, with apiVersion and kind, not []"],
                     id="an empty JSON list"),
        pytest.param([{"a": 1}, 2], [],
                     ['f: : must be an object, with apiVersion and kind, not [{"a": 1}, 2]'],
                     id="a JSON list of other values"),
        pytest.param(None, [], [], id="null"),
    ],
)  # fmt: skip
def test_lists_and_snapshots_are_taken_apart(value, found, errors):
    assert documents_of(value) == (found, errors)


def test_a_document_of_a_file_is_not_stored():
    assert Found(Place("f"), {}).is_stored is False


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"apiVersion": "kubescheduler.config.k8s.io/v1"}, True),
        ({"apiVersion": "kubescheduler.config.k8s.io"}, True),
        ({"apiVersion": "kubescheduler.config.k8s.io.example/v1"}, False),
        ({"apiVersion": 1}, False),
        ({}, False),
    ],
)
def test_a_configuration_is_known_by_its_group(document, expected):
    assert is_configuration(document) is expected


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"uid": "u", "resourceVersion": "1"}, True),
        ({"uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"}, True),
        ({"creationTimestamp": "2026-01-01T00:00:00Z"}, False),
        ({"uid": "u"}, False),
        ({"resourceVersion": "1"}, False),
        ({"uid": "", "resourceVersion": "1"}, False),
        (None, False),
        ([], False),
    ],
)
def test_an_object_of_a_server_has_a_uid_and_a_version(metadata, expected):
    assert is_from_server({"metadata": metadata}) is expected


@pytest.mark.parametrize(
    ("value", "length"),
    [
        (5, 1),
        ([], 0),
        ([1, [2, 3]], 2),
        ({}, 1),
        ({"items": []}, 1),
        ({"pods": [1, 2], "nodes": [3], "kind": "x"}, 3),
    ],
)
def test_the_number_of_documents_in_a_value(value, length):
    assert _length(value) == length


@pytest.mark.parametrize(
    ("value", "is_of_server"),
    [
        (STORED, True),
        (NODE, False),
        ({"metadata": {"uid": "u"}}, False),
        ({"metadata": {"resourceVersion": "7"}}, False),
        ({"metadata": "x"}, False),
        ("text", False),
        ({"items": [STORED, STORED]}, True),
        ({"items": [STORED, NODE]}, False),
        ({"items": []}, False),
        ({"items": "x", "metadata": STORED["metadata"]}, True),
    ],
)
def test_what_a_server_wrote_has_a_uid_and_a_version(value, is_of_server):
    assert _is_of_server(value) is is_of_server
    if not isinstance(value, str) and "items" not in value:
        assert is_from_server(value) is is_of_server


def test_a_namespace_is_that_of_namespaced_objects_without_one():
    objects = [POD, NODE, {**POD, "metadata": {"name": "q"}}]
    found = read_manifest(as_json({"kind": "List", "apiVersion": "v1", "items": objects}),
                          source="f", namespace="own")  # fmt: skip
    assert keys(found) == [("Pod", "default/p"), ("Node", "n"), ("Pod", "own/q")]
    assert not found.errors
    wrong = read_manifest(b"apiVersion: 1\nkind: Pod\nmetadata: {name: a}\n", source="f",
                          namespace="own")  # fmt: skip
    assert wrong.errors


def test_a_manifest_has_defaults_unless_none_are_wanted():
    (whole,) = read_manifest(as_json(POD), source="f").objects
    (given,) = read_manifest(as_json(POD), source="f", has_defaults=False).objects
    assert whole.object.raw["spec"]["restartPolicy"] == "Always"
    assert "restartPolicy" not in given.object.raw["spec"]
    (unnamed,) = read_manifest(as_json({**NODE, "metadata": {"name": "n"}}), source="f").objects
    assert "namespace" not in unnamed.object.raw["metadata"]
