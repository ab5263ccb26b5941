"""Exports and recordings of kwokctl 0.8, in the form in which it writes them."""

import gzip

import pytest

from podwright.apimachinery.objects import InputError, Node, encode, timestamp_ns
from podwright.simulation.files.kwok_recording import is_recording, record_lines, with_times
from podwright.simulation.files.manifests import load_bytes
from podwright.simulation.files.record import change_lines, read_record

NODE = """\
apiVersion: v1
kind: Node
metadata:
  creationTimestamp: $(time-offset-nanosecond -3600123456789)
  name: n1
  uid: u1
status:
  conditions:
  - lastHeartbeatTime: $(time-offset-nanosecond -123456789)
    status: "True"
    type: Ready
"""
CREATED = """\
apiVersion: action.kwok.x-k8s.io/v1alpha1
durationNanosecond: 1500000000
kind: ResourcePatch
method: create
resource: {resource: pods, version: v1}
target: {name: p, namespace: a}
template:
  apiVersion: v1
  kind: Pod
  metadata: {name: p, namespace: a, uid: u2, labels: {app: web}}
  spec:
    containers: [{name: c, image: x}, {name: d, image: y}]
"""


def changed(
    method,
    template="",
    *,
    resource="{resource: pods, version: v1}",
    target="{name: p, namespace: a}",
    after=2,
):
    lines = [
        "apiVersion: action.kwok.x-k8s.io/v1alpha1",
        f"durationNanosecond: {after}000000000",
        "kind: ResourcePatch",
        f"method: {method}",
        f"resource: {resource}",
        f"target: {target}",
        *([f"template: {template}"] if template else []),
    ]
    return "\n".join(lines) + "\n"


def recording(*documents):
    return "---\n".join(documents).encode()


def read(*documents):
    return read_record(recording(*documents), source="r.yaml").lines


def error_of(*documents):
    with pytest.raises(InputError) as caught:
        read(*documents)
    return str(caught.value)


# ------------------------------------------------------------------------------- exports


def test_times_of_an_export_count_from_2000_so_that_creations_are_whole_seconds():
    loaded = load_bytes([("e.yaml", NODE.encode())])
    (node,) = loaded.of(Node)
    assert node.metadata.creation_timestamp == "1999-12-31T22:59:59Z"
    assert node.status.conditions[0].last_heartbeat_time == "1999-12-31T23:59:59Z"
    assert loaded.warnings == ()


@pytest.mark.parametrize(
    ("offset", "time"),
    [
        pytest.param(0, "2000-01-01T00:00:00Z", id="the start"),
        pytest.param(1, "2000-01-01T00:00:00.000000001Z", id="a nanosecond"),
        pytest.param(-1, "1999-12-31T23:59:59.999999999Z", id="before"),
        pytest.param(86_400_000_000_000, "2000-01-02T00:00:00Z", id="a day"),
    ],
)
def test_an_offset_is_a_time(offset, time):
    assert with_times(f"t: $(time-offset-nanosecond {offset})".encode()) == f"t: {time}".encode()


@pytest.mark.parametrize("text", [b"a: $(time-offset)", b"a: $(time-offset-nanosecond x)", b""])
def test_another_text_stays(text):
    assert with_times(text) == text


def test_unknown_fields_of_an_export_are_not_errors_though_it_has_no_versions():
    newer = NODE + "spec: {fieldOf140: 1}\n"
    assert "newer than Kubernetes 1.36" in load_bytes([("e.yaml", newer.encode())]).warnings[0]


# ---------------------------------------------------------------------------- recordings


def test_documents_are_the_changes_of_a_record():
    lines = read(
        NODE,
        CREATED,
        changed("patch", "{metadata: {labels: {stage: '2'}}}"),
        changed("delete", after=9),
    )
    assert [(one.line, one.event, one.object.key, one.time_ns) for one in lines] == [
        (1, "Add", "n1", timestamp_ns("2000-01-01T00:00:00Z")),
        (13, "Add", "a/p", timestamp_ns("2000-01-01T00:00:01.5Z")),
        (26, "Update", "a/p", timestamp_ns("2000-01-01T00:00:02Z")),
        (34, "Delete", "a/p", timestamp_ns("2000-01-01T00:00:09Z")),
    ]
    assert lines[2].object.metadata.labels == {"app": "web", "stage": "2"}


def test_a_patch_merges_lists_by_their_keys():
    patch = "{spec: {$setElementOrder/containers: [{name: c}, {name: d}],"
    patch += " containers: [{name: d, image: z}]}}"
    *_, last = read(CREATED, changed("patch", patch))
    assert [(one.name, one.image) for one in last.object.spec.containers] == [
        ("c", "x"),
        ("d", "z"),
    ]


def test_a_patch_changes_an_object_that_was_there_at_the_start():
    node = "{resource: nodes, version: v1}"
    patch = changed("patch", "{spec: {unschedulable: true}}", resource=node, target="{name: n1}")
    *_, last = read(NODE, patch)
    assert last.object.spec.unschedulable
    assert last.old is not None


@pytest.mark.parametrize(
    ("kind", "plural"),
    [("Widget", "widgets"), ("Policy", "policies"), ("Class", "classes")],
)
def test_lists_of_custom_kinds_are_replaced(kind, plural):
    widget = (
        f"apiVersion: x.example.com/v1\nkind: {kind}\nmetadata: {{name: w}}\nspec: {{of: [1]}}\n"
    )
    resource = f"{{group: x.example.com, resource: {plural}, version: v1}}"
    patch = changed("patch", "{spec: {of: [2, 3]}}", resource=resource, target="{name: w}")
    *_, last = read(widget, patch)
    assert encode(last.object)["spec"] == {"of": [2, 3]}


def test_an_object_may_be_created_again_under_a_name():
    lines = read(CREATED, changed("delete"), CREATED.replace("1500000000", "3000000000"))
    assert [one.event for one in lines] == ["Add", "Delete", "Add"]


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        pytest.param(
            [changed("patch", "{}")],
            "line 1: not a document of a recording of kwokctl:"
            " target: patch of pods p, which does not exist",
            id="a patch of nothing",
        ),
        pytest.param(
            [CREATED, changed("delete"), changed("delete")],
            "target: delete of pods p, which does not exist",
            id="a second deletion",
        ),
        pytest.param(
            [CREATED, changed("delete", target="{name: p, namespace: b}")],
            "target: delete of pods p, which does not exist",
            id="another namespace",
        ),
        pytest.param(
            [CREATED, changed("replace")],
            "line 14: not a document of a recording of kwokctl:"
            " method: replace is not one of create, patch, delete",
            id="an unknown method",
        ),
        pytest.param([CREATED, "kind: [\n"], "r.yaml: line ", id="no YAML"),
        pytest.param([CREATED, "text\n"], "line 14: not a document of", id="a text"),
        pytest.param([CREATED, "a: 1\n"], "`apiVersion`", id="no object"),
        pytest.param(
            [CREATED, changed("patch", "{spec: {containers: 5}}")], "line 14", id="a wrong patch"
        ),
    ],
)
def test_what_is_wrong_has_its_line(documents, message):
    assert message in error_of(*documents)


def test_a_compressed_recording_is_read_as_lines(tmp_path):
    path = tmp_path / "r.yaml.gz"
    path.write_bytes(gzip.compress(recording(NODE, CREATED)))
    assert [(number, is_terminated) for number, _, is_terminated in change_lines(path)] == [
        (1, True),
        (13, True),
    ]


@pytest.mark.parametrize("text", [b'{"a": 1}\n', b"", b"\n"], ids=["JSON", "empty", "blank"])
def test_other_files_of_changes_are_read_line_by_line(tmp_path, text):
    path = tmp_path / "r.jsonl"
    path.write_bytes(text)
    assert [line for _, line, _ in change_lines(path)] == text.splitlines()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (recording(NODE, CREATED), True),
        (NODE.encode(), False),
        (b'{"a": "action.kwok.x-k8s.io/v1"}\n', False),
    ],
    ids=["a recording", "an export", "JSON lines"],
)
def test_a_recording_has_changes(text, expected):
    assert is_recording(text) is expected


def test_a_recording_is_no_cluster_and_the_error_says_what_to_do():
    with pytest.raises(InputError) as caught:
        load_bytes([("r.yaml", recording(NODE, CREATED, changed("delete")))])
    assert [str(one) for one in caught.value.errors] == [
        "r.yaml: document 2 (line 13): a recording of kwokctl, with changes of its objects;"
        " `podwright convert` writes the cluster at its end"
    ]


@pytest.mark.parametrize(
    ("data", "place"),
    [
        pytest.param(b"a: 1\nb: [\n", "r.yaml: line 3", id="not YAML, with its line"),
        pytest.param(b"a: caf\xe9\n", "r.yaml", id="not text, which has no lines"),
    ],
)
def test_a_recording_that_cannot_be_read_is_named(data, place):
    with pytest.raises(InputError) as caught:
        list(record_lines(data, "r.yaml"))
    (error,) = caught.value.errors
    assert error.source == place
