"""The record of a real control plane: its final state, and its decisions compared with ours.

`src/podwright/simulation/shadow/tests/test_shadow.py` tests the rules on small records.
"""

import hashlib

import pytest
from tests.golden import real_cluster

from podwright.cluster.store import ObjectStore, kind_of
from podwright.simulation.shadow.comparison import agreement
from podwright.simulation.shadow.record_shadow import Shadow

pytestmark = pytest.mark.golden


@pytest.fixture(scope="module")
def record():
    return real_cluster.record()


@pytest.fixture(scope="module")
def log():
    return real_cluster.scheduler_log()


def test_the_packed_files_are_what_was_recorded():
    listed = (real_cluster.PACKED / "SHA256SUMS").read_text(encoding="ascii").splitlines()
    expected = {name: digest for digest, name in (line.split("  ") for line in listed)}
    assert expected == {
        name: hashlib.sha256(real_cluster.content(name)).hexdigest()
        for name in real_cluster.ARCHIVE_OF
    }
    size = sum(one.stat().st_size for one in real_cluster.PACKED.iterdir())
    assert size <= 2_000_000


def without_version(document):
    metadata = {k: v for k, v in document["metadata"].items() if k != "resourceVersion"}
    return document | {"metadata": metadata}


def by_identity(documents):
    return {
        (one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"]): one
        for one in documents
    }


@pytest.mark.parametrize("dump", ["mid", "end"])
def test_our_store_reaches_the_state_of_the_dumps_object_by_object(record, dump):
    items = real_cluster.dump(dump)
    expected = by_identity(items)
    newest = max(int(one["metadata"]["resourceVersion"]) for one in items)
    # The version of the dump may be that of a deletion.
    until = {"mid": 20084, "end": 29364}[dump]
    assert newest <= until
    store, versions = ObjectStore(), {}
    for line in record.lines:
        version = int(line.object.metadata.resource_version)
        if version > until:
            break
        if line.event == "Delete":
            store.drop(kind_of(line.object), line.object.key)
        else:
            store.put(line.object)
        versions[line.object.kind, line.object.namespace, line.object.name] = str(version)
    store.validate()
    found = by_identity(one.raw for kind in store.kinds() for one in store.list(kind).objects)
    assert found.keys() == expected.keys()
    for identity, document in expected.items():
        assert without_version(found[identity]) == without_version(document)
        assert versions[identity] == document["metadata"]["resourceVersion"]


def counted(shadow):
    findings = [one for one in shadow.findings() if one is not None]
    return [agreement(f for f in findings if f.what == what) for what in ("binding", "preemption")]


def test_with_the_schedulers_log_one_decision_is_unexplained(record, log):
    shadow = Shadow(record, log)
    bindings, preemptions = counted(shadow)
    assert (bindings.total, bindings.agreed, bindings.unexplained) == (1998, 1964, 1)
    assert bindings.explained_by == {"delay": 20, "image counts": 13}
    assert (preemptions.total, preemptions.agreed, preemptions.unexplained) == (120, 119, 0)
    assert preemptions.explained_by == {"delay": 1}
    assert (shadow.failed_count, shadow.same_message_count) == (13267, 13187)


def test_from_the_record_alone_no_decision_is_unexplained(record):
    bindings, preemptions = counted(Shadow(record))
    assert (bindings.total, bindings.agreed, bindings.unexplained) == (1998, 1770, 0)
    assert bindings.explained_by == {
        "delay": 212,
        "image counts": 10,
        "delay + sampling": 3,
        "delay + image counts": 2,
        "sampling": 1,
    }
    assert (preemptions.total, preemptions.agreed, preemptions.unexplained) == (118, 115, 0)
    assert preemptions.explained_by == {"delay": 3}


class WithWrongNodes(Shadow):
    """Changes some bindings of the record to the node with the second-best score."""

    def _binding(self, attempt, pod, comparer):
        comparer.explain_binding(pod, attempt.node, evaluated_count=0, start=0)
        scored = comparer._runner.scored
        if scored is None or attempt.line % 20:
            return None
        totals, slots = scored
        worse = [slot for slot in slots.tolist() if totals[slot] < totals.max()]
        if not worse:
            return None
        slot = max(worse, key=lambda slot: int(totals[slot]))
        node = attempt.node
        attempt.node = self._view.cluster.nodes.names[slot]
        finding = super()._binding(attempt, pod, comparer)
        attempt.node = node
        return finding


@pytest.mark.parametrize(
    ("has_log", "least"), [(True, 0.85), (False, 0.6)], ids=["with the log", "record alone"]
)
def test_a_node_that_was_not_chosen_is_seldom_explained(record, log, has_log, least):
    bindings, _ = counted(WithWrongNodes(record, log if has_log else None))
    assert bindings.total > 40
    assert bindings.unexplained >= least * bindings.total
