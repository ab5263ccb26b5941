"""Rows of pods: they depend on the values of a pod only, and a version has what changed."""

from __future__ import annotations

import copy
from itertools import product
from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import ObjectMeta, Pod, PodStatus, decode_pod
from podwright.simulation.recording.log import log_pods
from podwright.simulation.recording.log.log_format import (
    BOTH,
    BOTH_VERSIONS,
    DOCUMENT,
    ENCODER,
    NONE,
    SPEC_ONLY,
    UNCHANGED,
    VERSION_ONLY,
    WRITTEN,
    Pods,
    decoder_of,
)
from podwright.simulation.recording.log.log_objects import ObjectWriter
from podwright.simulation.recording.log.log_pods import PodColumns, PodReader, PodRow, PodRows


def document(**sections: dict[str, Any] | None) -> dict[str, Any]:
    """Return the document of a pod, with some of its sections changed."""
    known: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "namespace": "d", "uid": "u", "resourceVersion": "1"},
        "spec": {"containers": [{"name": "c"}]},
        "status": {"phase": "Running"},
    }
    for name, changes in sections.items():
        if changes is None:
            del known[name]
        else:
            known[name] = known[name] | changes
    return known


def pod_of(**sections: dict[str, Any] | None) -> Pod:
    return decode_pod(document(**sections))


def with_typed(pod: Pod, section: str, **fields: Any) -> Pod:
    """Change typed fields, which the document does not follow."""
    changed = msgspec.structs.replace(getattr(pod, section), **fields)
    return msgspec.structs.replace(pod, **{section: changed})


def with_raw(pod: Pod, **sections: Any) -> Pod:
    return msgspec.structs.replace(pod, raw=pod.raw | sections)


PLAIN = pod_of()
TEMPLATE = with_typed(PLAIN, "metadata", name="b", uid="v", resource_version="")


def bound(pod: Pod, node: str = "n1", **spec: Any) -> Pod:
    """Bind a pod, in its document too, and change more of its spec."""
    section = pod.raw["spec"] | spec | {"nodeName": node}
    return with_raw(with_typed(pod, "spec", node_name=node, **spec), spec=section)


BOUND = bound(PLAIN)
PODS = {
    "plain": PLAIN,
    "version": pod_of(metadata={"resourceVersion": "2"}),
    "typed version": with_typed(PLAIN, "metadata", resource_version="2"),
    "version in the document": with_raw(PLAIN, metadata=document()["metadata"] | {"uid": "x"}),
    "name": pod_of(metadata={"name": "b"}),
    "uid": pod_of(metadata={"uid": "v"}),
    "labels": pod_of(metadata={"labels": {"a": "b"}}),
    "typed labels": with_typed(PLAIN, "metadata", labels={"a": "b"}),
    "of a template": TEMPLATE,
    "bound": BOUND,
    "bound elsewhere": bound(PLAIN, "n2"),
    "bound in the spec": with_typed(PLAIN, "spec", node_name="n1"),
    "bound in the document": with_raw(PLAIN, spec=BOUND.raw["spec"]),
    "bound, and another version": with_raw(
        with_typed(BOUND, "metadata", resource_version="2"),
        metadata=PLAIN.raw["metadata"] | {"resourceVersion": "2"},
    ),
    "bound, and another typed version": with_typed(BOUND, "metadata", resource_version="2"),
    "bound, and a priority": bound(PLAIN, priority=5),
    "bound, and labels": with_typed(BOUND, "metadata", labels={"a": "b"}),
    "bound, and another kind": with_raw(BOUND, kind="Other"),
    "bound, and a status": with_typed(BOUND, "status", phase="Failed"),
    "bound to another node than its document": with_typed(BOUND, "spec", node_name="n2"),
    "bound, node first": with_raw(BOUND, spec={"nodeName": "n1"} | PLAIN.raw["spec"]),
    "node in the middle, empty": with_raw(PLAIN, spec={"nodeName": ""} | PLAIN.raw["spec"]),
    "template, bound": with_typed(TEMPLATE, "spec", node_name="n1"),
    "template, bound in both": bound(TEMPLATE),
    "template, bound, a version": with_typed(bound(TEMPLATE), "metadata", resource_version="2"),
    "ended": pod_of(status={"phase": "Succeeded"}),
    "typed phase": with_typed(PLAIN, "status", phase="Failed"),
    "addresses": pod_of(status={"hostIP": "1.1.1.1", "podIP": "2.2.2.2"}),
    "other addresses": pod_of(status={"hostIP": "1.1.1.1", "podIP": "2.2.2.3"}),
    "host": pod_of(status={"hostIP": "1.1.1.1"}),
    "address": pod_of(status={"podIP": "2.2.2.2"}),
    "no text": with_raw(PLAIN, status={"phase": "Running", "hostIP": 7, "podIP": None}),
    "host only is text": with_raw(PLAIN, status={"hostIP": "1.1.1.1", "podIP": 7}),
    "address only is text": with_raw(PLAIN, status={"hostIP": 7, "podIP": "2.2.2.2"}),
    "no status": pod_of(status=None),
    "null status": with_raw(PLAIN, status=None),
    "empty status": with_raw(PLAIN, status={}),
    "null metadata": with_raw(PLAIN, metadata=None),
    "null spec": with_raw(PLAIN, spec=None),
    "metadata that cannot be read": with_raw(
        PLAIN, metadata=PLAIN.raw["metadata"] | {"labels": "x"}
    ),
    "another kind": with_raw(PLAIN, kind="Other"),
    "a further field": with_raw(PLAIN, extra=1),
    "no document": msgspec.structs.replace(PLAIN, raw={}),
    "no document, bound": with_typed(
        msgspec.structs.replace(PLAIN, raw={}), "spec", node_name="n1"
    ),
    "no document, bound, a version": with_typed(
        with_typed(msgspec.structs.replace(PLAIN, raw={}), "spec", node_name="n1"),
        "metadata",
        resource_version="2",
    ),
    "owners": pod_of(metadata={"managedFields": []}),
}  # fmt: skip
PAIRS = list(product(PODS, PODS))


def copied(pod: Pod) -> Pod:
    """Return an equal pod that shares no part."""
    parts = {name: getattr(pod, name) for name in ("metadata", "spec", "status")}
    fields = {name: msgspec.structs.replace(part) for name, part in parts.items()}
    return Pod(raw=copy.deepcopy(pod.raw), **fields)


def parts_of(row: PodRow, rows: PodRows) -> tuple[Any, ...]:
    return (
        row.outline,
        row.source,
        row.metadata_part,
        row.spec.source,
        row.spec.encoded(rows.part),
        row.status.encoded(rows.part),
        row.status.addresses,
    )


def test_the_row_of_a_version_is_that_of_the_pod_alone():
    for before, after in PAIRS:
        rows, alone = PodRows(), PodRows()
        old, new = PODS[before], PODS[after]
        if "bound, node first" in (before, after):
            continue  # of documents that differ in their order, the older one is kept
        for again in (new, copied(new)):
            row = rows.of_version(again, rows.of(old))
            found, expected = parts_of(row, rows), parts_of(alone.of(new), alone)
            assert found == expected, (before, after)
            assert row.pod is again


def test_the_row_of_a_pod_does_not_depend_on_the_pod_before():
    for before, after in PAIRS:
        rows, alone = PodRows(), PodRows()
        rows.of(PODS[before])
        found = parts_of(rows.of(PODS[after]), rows)
        assert found == parts_of(alone.of(PODS[after]), alone), (before, after)


def written(*pods: Pod) -> Pods:
    """Return the columns of a pod and its versions, as a reader gets them."""
    rows = PodRows()
    columns = PodColumns(rows.part)
    last = rows.of(pods[0])
    columns.add(last)
    for pod in pods[1:]:
        row = rows.of_version(pod, last)
        columns.add_version(row, last)
        last = row
    return decoder_of(Pods).decode(ENCODER.encode(columns.written()))


def test_versions_are_read_as_they_were():
    for before, after in PAIRS:
        old, new = PODS[before], PODS[after]
        reader = PodReader(written(old, new, old))
        first = reader.first()
        second = reader.version_of(first)
        assert [first, second, reader.version_of(second)] == [old, new, old], (before, after)


def test_the_parts_of_a_running_pod_are_not_kept(monkeypatch):
    # A cluster may have 50,000 of them; where such a pod ends, only its new status is encoded.
    running = pod_of(status={"podIP": "10.0.0.1"})
    ended = pod_of(status={"phase": "Failed", "podIP": "10.0.0.1"})
    ended = msgspec.structs.replace(
        running, status=ended.status, raw=running.raw | {"status": ended.raw["status"]}
    )
    encoded: list[object] = []
    encode = PodRows.part

    def noted(rows: PodRows, part: object) -> bytes:
        encoded.append(part)
        return encode(rows, part)

    monkeypatch.setattr(PodRows, "part", noted)
    writer = ObjectWriter()
    writer.add(pod_of())
    number = writer.add(running)
    row = writer._row_of[number]
    assert (row.spec.parts, row.status.parts) == (None, None)
    encoded.clear()
    writer.add(ended)
    assert encoded == [ended.status, ended.raw["status"] | {"podIP": ""}]


def test_pods_beside_each_other_are_read_as_they_were():
    for before, after in PAIRS:
        pods = [PODS[name] for name in (before, after, before, after)]
        rows = PodRows()
        columns = PodColumns(rows.part)
        for pod in pods:
            if not columns.add_repeated(pod):
                columns.add(rows.of(pod))
        reader = PodReader(decoder_of(Pods).decode(ENCODER.encode(columns.written())))
        assert [reader.first() for _ in pods] == pods, (before, after)


@pytest.mark.parametrize(
    ("before", "after", "shape"),
    [
        # source, node, spec, status, outline, and the sections of metadata, spec and status.
        ("plain", "plain", (VERSION_ONLY, NONE, *[UNCHANGED] * 6)),
        ("plain", "version", (BOTH_VERSIONS, NONE, *[UNCHANGED] * 6)),
        ("plain", "typed version", (WRITTEN, NONE, *[UNCHANGED] * 3, 1, UNCHANGED, UNCHANGED)),
        ("plain", "name", (DOCUMENT, NONE, *[UNCHANGED] * 3, 0, UNCHANGED, UNCHANGED)),
        ("plain", "uid", (DOCUMENT, NONE, *[UNCHANGED] * 3, 0, UNCHANGED, UNCHANGED)),
        ("plain", "labels", (DOCUMENT, NONE, *[UNCHANGED] * 3, 1, UNCHANGED, UNCHANGED)),
        ("plain", "typed labels", (WRITTEN, NONE, *[UNCHANGED] * 3, 1, UNCHANGED, UNCHANGED)),
        ("of a template", "template, bound", (VERSION_ONLY, SPEC_ONLY, *[UNCHANGED] * 6)),
        ("of a template", "template, bound in both", (VERSION_ONLY, BOTH, *[UNCHANGED] * 6)),
        ("plain", "bound", (VERSION_ONLY, BOTH, *[UNCHANGED] * 6)),
        ("plain", "bound, and another version", (BOTH_VERSIONS, BOTH, *[UNCHANGED] * 6)),
        ("bound", "bound elsewhere", (VERSION_ONLY, BOTH, *[UNCHANGED] * 6)),
        ("bound", "plain", (VERSION_ONLY, NONE, 0, *[UNCHANGED] * 3, 0, UNCHANGED)),
        ("plain", "bound, node first", (VERSION_ONLY, BOTH, *[UNCHANGED] * 6)),
        ("plain", "bound, and a priority", (VERSION_ONLY, BOTH, 1, *[UNCHANGED] * 3, 1, UNCHANGED)),
        ("plain", "ended", (VERSION_ONLY, NONE, UNCHANGED, 1, *[UNCHANGED] * 3, 1)),
        ("plain", "typed phase", (VERSION_ONLY, NONE, UNCHANGED, 1, *[UNCHANGED] * 4)),
        ("host", "addresses", (VERSION_ONLY, NONE, *[UNCHANGED] * 5, 1)),
        ("addresses", "other addresses", (VERSION_ONLY, NONE, *[UNCHANGED] * 5, 0)),
        ("plain", "no status", (VERSION_ONLY, NONE, UNCHANGED, 1, 1, *[UNCHANGED] * 2, NONE)),
        ("plain", "another kind", (VERSION_ONLY, NONE, *[UNCHANGED] * 2, 1, *[UNCHANGED] * 3)),
        (
            "no document",
            "no document, bound, a version",
            (VERSION_ONLY, SPEC_ONLY, *[UNCHANGED] * 6),
        ),
    ],
)
def test_a_version_is_written_as_its_changes(before, after, shape):
    found = written(PODS[before], PODS[after])
    assert tuple(found.shapes[found.shape_of[1]]) == shape


@pytest.mark.parametrize(
    ("name", "addresses"),
    [
        ("plain", []),
        ("addresses", ["1.1.1.1", "2.2.2.2"]),
        ("host", ["1.1.1.1"]),
        ("address", ["2.2.2.2"]),
        ("no text", []),
        ("host only is text", ["1.1.1.1"]),
        ("address only is text", ["2.2.2.2"]),
    ],
)
def test_addresses_are_columns_and_not_in_a_part(name, addresses):
    found = written(PODS[name])
    assert found.addresses == addresses
    status = found.raw_statuses[0]
    for field in ("hostIP", "podIP"):
        given = PODS[name].raw["status"].get(field)
        assert status.get(field) == ("" if isinstance(given, str) else given)


IS_BOUND_ONLY = {
    ("plain", "bound elsewhere"),
    ("typed version", "bound, and another typed version"),
    ("another kind", "bound, and another kind"),
    ("plain", "bound"),
    ("plain", "bound, node first"),
    ("of a template", "template, bound, a version"),
    ("of a template", "template, bound in both"),
    ("no document", "no document, bound"),
    ("no document", "no document, bound, a version"),
}


def test_a_binding_alone_is_written_without_rows_in_the_same_way():
    for before, after in PAIRS:
        old, new = PODS[before], PODS[after]
        rows = PodRows()
        quick, slow = PodColumns(rows.part), PodColumns(rows.part)
        first = rows.of(old)
        for columns in (quick, slow):
            columns.add(first)
        is_bound_only = quick.add_bound(new, old)
        assert is_bound_only is ((before, after) in IS_BOUND_ONLY), (before, after)
        if is_bound_only:
            slow.add_version(rows.of_version(new, first), first)
        assert ENCODER.encode(quick.written()) == ENCODER.encode(slow.written()), (before, after)


def test_a_pod_that_differs_in_its_metadata_only_repeats_the_last_one():
    pods = PODS | {"template, twin": with_typed(TEMPLATE, "metadata", name="c", uid="w")}
    for before, after in product(pods, pods):
        old, new = pods[before], pods[after]
        expected = (
            (new.raw is old.raw and new.spec is old.spec and new.status is old.status)
            and not new.spec.node_name
            and not written(new).addresses
            and not (has_names(old) and is_described(old))
            and not has_names(new)
        )
        assert is_repeated(old, new) is expected, (before, after)
    assert is_repeated(TEMPLATE, pods["template, twin"])


def has_names(pod: Pod) -> bool:
    section, metadata = pod.raw.get("metadata"), pod.metadata
    return isinstance(section, dict) and (
        section["name"], section["uid"], section["resourceVersion"]
    ) == (metadata.name, metadata.uid, metadata.resource_version)  # fmt: skip


def is_described(pod: Pod) -> bool:
    """Whether the document has the metadata of a pod."""
    try:
        return msgspec.convert(pod.raw.get("metadata"), ObjectMeta) == pod.metadata
    except msgspec.ValidationError:
        return False


def is_repeated(first: Pod, second: Pod) -> bool:
    rows = PodRows()
    quick, slow = PodColumns(rows.part), PodColumns(rows.part)
    for columns in (quick, slow):
        columns.add(rows.of(first))
    if not quick.add_repeated(second):
        return False
    slow.add(rows.of(second))
    assert ENCODER.encode(quick.written()) == ENCODER.encode(slow.written())
    return True


def test_owners_are_left_out_if_they_are_to_be():
    rows = PodRows()
    rows.omits_owners = True
    for pod in (PODS["owners"], with_typed(PODS["owners"], "metadata", name="b")):
        part = rows.of(pod).metadata_part
        assert part is not None
        assert "managedFields" not in msgspec.msgpack.decode(part)
        assert msgspec.msgpack.decode(part).keys() == {
            "name",
            "namespace",
            "uid",
            "resourceVersion",
        }
    assert rows.of(PODS["null metadata"]).metadata_part is None
    kept = PodRows().of(PODS["owners"]).metadata_part
    assert kept is not None
    assert "managedFields" in msgspec.msgpack.decode(kept)


def test_the_oldest_parts_are_forgotten_some_at_a_time(monkeypatch):
    monkeypatch.setattr(log_pods, "_KEPT_PARTS", 10)
    monkeypatch.setattr(log_pods, "_FORGOTTEN_MAX", 4)
    rows = PodRows()
    rows.of(pod_of(status={"phase": "Pending"}))
    rows._parts.clear()
    parts = [rows.part(number) for number in range(16)]
    assert rows.part(0) is parts[0]
    kept = []
    for _ in range(3):
        rows.forget_parts()
        kept.append(list(rows._parts))
    assert kept == [parts[4:], parts[6:], parts[6:]]


def test_a_status_that_several_pods_share_is_one_cell_until_parts_are_forgotten():
    rows = PodRows()
    pods = [with_typed(TEMPLATE, "metadata", name=name) for name in "cde"]
    first = rows.of(pods[0]).status
    rows.of(PODS["no document"])
    assert rows.of(pods[1]).status is first
    other = msgspec.structs.replace(pods[2], status=PodStatus(phase="Failed"))
    assert rows.of(other).status.status.phase == "Failed", "the same section, another status"
    rows.forget_parts()
    rows.of(PODS["no document"])
    assert rows.of(pods[1]).status is not first


def test_parts_are_forgotten_after_each_block(monkeypatch):
    monkeypatch.setattr(log_pods, "_KEPT_PARTS", 1)
    writer = ObjectWriter()
    for number in range(20):
        writer.add(pod_of(metadata={"labels": {"a": str(number)}}))
        writer.take()
        assert len(writer._rows._parts) == 1


def test_a_pod_without_a_section_of_metadata_has_none_in_its_row():
    assert PodRows()._metadata(ObjectMeta(), None) == (WRITTEN, None)


@pytest.mark.parametrize(
    ("changes", "is_same"),
    [
        pytest.param({}, True, id="the sections only"),
        pytest.param({"metadata": None}, False, id="no metadata"),
        pytest.param({"spec": None}, False, id="no spec"),
        pytest.param({"status": None}, False, id="no status any more"),
        pytest.param({"kind": "Other"}, False, id="another kind"),
        pytest.param({"more": 1}, False, id="another field"),
    ],
)
def test_an_outline_is_the_same_beside_its_sections(changes, is_same):
    old = document()
    new = document(metadata={"name": "b"}, spec={"nodeName": "n"}, status={"phase": "x"}) | changes
    sections = (new["metadata"], new["spec"], new["status"])
    assert log_pods._is_outline_same(new, old, *sections) is is_same
    without = {name: value for name, value in new.items() if name != "status"}
    assert not log_pods._is_outline_same(without, old, new["metadata"], new["spec"], None)
