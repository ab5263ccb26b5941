"""Commands that read a cluster, follow it, or write to one: import, record, replay and sync."""

from __future__ import annotations

import asyncio
import io
import json
import stat
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
import typer
import yaml
from rich.console import Console

from podwright.cli.clusters import import_run
from podwright.cli.clusters.options import address_of_source
from podwright.cli.clusters.shadow_run import _record_in
from podwright.cli.clusters.sync import SyncOptions, read_policies
from podwright.cli.clusters.sync_run import _print_regularly, difference_line, summary_of
from podwright.cli.tests.served import command, command_until, held, served
from podwright.online.client import (
    BoundPods,
    SyncCounts,
    SyncDifference,
    SyncDrift,
    SyncError,
    SyncLag,
    SyncPolicies,
    SyncScope,
    SyncSource,
    SyncStatus,
    Unfreed,
)
from podwright.online.live.tests.test_lease_model import VirtualLoop
from podwright.online.sync.tests.served_cluster import ServedCluster, document, node, pod


@pytest.fixture
def source():
    cluster = ServedCluster()
    cluster.create(
        node("n1"),
        node("n2", metadata={"labels": {"app": "web"}}),
        pod("db", on="n1"),
        pod("web", metadata={"labels": {"app": "web"}}),
        document("ConfigMap", "settings", "default", data={"a": "b"}),
    )
    return cluster


@pytest.fixture
def address(source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with served(source) as address:
        yield address


NAMES = [
    "namespace/default",
    "namespace/kube-node-lease",
    "namespace/kube-public",
    "namespace/kube-system",
    "priorityclass/system-cluster-critical",
    "priorityclass/system-node-critical",
    "node/n1",
    "node/n2",
    "pod/default/db",
    "pod/default/web",
]
READ = "read 4 namespaces, 2 priorityclasses, 2 nodes, 2 pods\n"


def names_of(items):
    found = []
    for each in items:
        metadata = each["metadata"]
        space = f"{metadata['namespace']}/" if metadata.get("namespace") else ""
        found.append(f"{each['kind'].lower()}/{space}{metadata['name']}")
    return found


# ---------------------------------------------------------------- every command


@pytest.mark.parametrize(
    "line",
    [
        "import --server ADDRESS -o name",
        "record --server ADDRESS --duration 1ms --out r.jsonl",
        "sync --server ADDRESS --to there=THERE --duration 1ms",
        "schedule cluster:ADDRESS",
    ],
)
def test_a_server_of_another_version_is_warned_of_once(line, address, monkeypatch):
    monkeypatch.setattr("podwright.cli.commands.UPSTREAM", "1.2")
    with served(ServedCluster(seed=1)) as there:
        errors = command(line.replace("ADDRESS", address).replace("THERE", there))[1]
    warned = [each for each in errors.splitlines() if ", and podwright follows v1.2" in each]
    assert len(warned) == 1, errors
    assert errors.startswith("warning: the server ")


# ---------------------------------------------------------------- import


@pytest.mark.parametrize(
    ("options", "names", "read"),
    [
        ("", NAMES, READ),
        ("--exclude-running", [each for each in NAMES if each != "pod/default/db"],
         READ.replace("2 pods", "1 pods")),
        ("--kinds nodes,pods", NAMES[6:], "read 2 nodes, 2 pods\n"),
        ("-l app=web", ["node/n2", "pod/default/web"], "read 1 nodes, 1 pods\n"),
        ("-n shop --kinds pods", [], "read no objects\n"),
    ],
)  # fmt: skip
def test_an_import_has_the_objects_that_are_selected(address, source, options, names, read):
    line = f"import --server {address} {options}"
    printed, errors, status = command(f"{line} -o name")
    assert (printed.splitlines(), errors, status) == (names, read, 0)
    assert {each.split()[0] for each in source.requests} == {"GET"}
    found = json.loads(command(line)[0])
    assert {name: found[name] for name in ("apiVersion", "kind")} == {
        "apiVersion": "v1",
        "kind": "List",
    }
    assert names_of(found["items"]) == names
    assert yaml.safe_load(command(f"{line} -o yaml")[0]) == found


def test_an_import_with_workloads_keeps_the_owners_of_pods(address, source):
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "controller": True}
    template = {"metadata": {"labels": {"app": "x"}}, "spec": pod("x")["spec"]}
    spec = {"replicas": 0, "selector": {"matchLabels": {"app": "x"}}, "template": template}
    made = document("ReplicaSet", "web", "default", spec=spec) | {"apiVersion": "apps/v1"}
    replica_set = source.send("POST", "/apis/apps/v1/namespaces/default/replicasets", made)
    owner["uid"] = replica_set["metadata"]["uid"]
    source.create(pod("owned", metadata={"ownerReferences": [owner]}))
    line = f"import --server {address} -o json"
    found = {}
    for options in ("", " --workloads"):
        items = json.loads(command(line + options)[0])["items"]
        (owned,) = (each for each in items if each["metadata"]["name"] == "owned")
        found[options] = "replicaset/default/web" in names_of(items), owned["metadata"]
    assert not found[""][0]
    assert "ownerReferences" not in found[""][1]
    assert found[" --workloads"][0]
    assert found[" --workloads"][1]["ownerReferences"] == [owner]


def test_an_import_as_a_snapshot_leaves_out_what_it_does_not_have(address):
    line = f"import --server {address} --kinds nodes,pods,namespaces,priorityclasses,configmaps"
    printed, errors, status = command(f"{line} -o kss")
    assert status == 2
    assert not printed
    assert errors.startswith('error: options: --kinds: "configmaps" is none of the kinds')
    printed, errors, status = command(f"import --server {address} -o kss")
    assert (errors, status) == (READ, 0)
    snapshot = json.loads(printed)
    found = {
        key: [each["metadata"]["name"] for each in value]
        for key, value in snapshot.items()
        if isinstance(value, list)
    }
    assert found == {
        "pods": ["db", "web"],
        "nodes": ["n1", "n2"],
        "pvs": [],
        "pvcs": [],
        "storageClasses": [],
        "priorityClasses": [],  # those of every cluster are left out
        "namespaces": [],
    }
    assert all("kind" not in each for each in snapshot["pods"])
    assert snapshot["schedulerConfig"]["kind"] == "KubeSchedulerConfiguration"


def test_a_snapshot_counts_what_is_left_out(address, source):
    claims = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b"},
        "spec": {"maxUnavailable": 1},
    }
    source.send("POST", claims, budget)
    _, errors, _ = command(f"import --server {address} -o kss --kinds pods,poddisruptionbudgets")
    assert errors == (
        "read 1 poddisruptionbudgets, 2 pods\n"
        "omitted kinds that a snapshot does not support: 1 poddisruptionbudgets\n"
    )


@pytest.mark.parametrize("output", ["json", "yaml", "name", "kss"])
def test_a_file_of_an_import_has_what_is_printed_and_is_private(address, output):
    line = f"import --server {address} -o {output}"
    printed, _, _ = command(line)
    found = command(f"{line} --out cluster")
    assert found == ("", f"{READ}wrote cluster\n", 0)
    text = Path("cluster").read_text()
    # The order of keys and the indentation are not the same.
    assert yaml.safe_load(text) == yaml.safe_load(printed)
    assert stat.S_IMODE(Path("cluster").stat().st_mode) == 0o600
    missing = command(f"{line} --out none/cluster")
    error = "error: none/cluster: cannot be written: No such file or directory\n"
    assert missing == ("", f"{READ}{error}", 2)


def test_other_commands_read_a_cluster(address):
    shown = "NAMESPACE  POD  NODE    MESSAGE\ndefault    web  <none>"
    printed, errors, status = command(f"schedule cluster:{address}")
    assert printed.startswith(shown)
    assert errors.splitlines() == [
        "read 4 namespaces, 2 priorityclasses, 2 nodes, 1 services, 2 pods",
        "0 of 1 pending pod scheduled on 2 nodes; 1 does not fit.",
    ]
    assert status == 1
    _, errors, status = command(f"explain wep cluster:{address}")
    assert errors.endswith('error: no pod "wep" in the cluster; did you mean default/web?\n')
    assert status == 2


def test_a_pod_of_an_empty_cluster_is_not_there():
    with served(ServedCluster()) as address:
        _, errors, status = command(f"explain web cluster:{address}")
    assert errors.endswith('error: no pod "web" in the cluster: it has no pods and no workloads\n')
    assert status == 2


# ---------------------------------------------------------------- record


def lines_of(file="r.jsonl"):
    return [json.loads(line) for line in Path(file).read_text().splitlines()]


def test_a_record_has_all_objects_and_what_changes(address, source):
    line = f"record --server {address} --out r.jsonl --duration 50ms"
    found = command(line)
    text = "recording to r.jsonl; 11 changes so far\nrecorded 11 changes in r.jsonl\n"
    assert found == ("", text, 0)
    assert {each["event"] for each in lines_of()} == {"Add"}
    assert names_of(each["resource"] for each in lines_of()) == [
        *NAMES[:8],
        "service/default/kubernetes",
        *NAMES[8:],
    ]
    text = "r.jsonl: exists already; continue it with --resume, or name another file"
    assert command(line) == ("", f"error: {text}\n", 2)
    source.send("DELETE", "/api/v1/nodes/n2")
    found = command(f"{line} --resume")
    text = "recording to r.jsonl; 1 changes so far\nrecorded 1 changes in r.jsonl\n"
    assert found == ("", text, 0)
    last = lines_of()[-1]
    assert (last["event"], names_of([last["resource"]])) == ("Delete", ["node/n2"])


def test_a_record_leaves_out_what_pods_run_unless_it_is_not_redacted(address, source):
    container = {"name": "c", "image": "i", "args": ["secret"]}
    source.create(pod("own", spec={"containers": [container]}))
    for option, found in (("", False), ("--no-redact", True)):
        file = f"{option or 'r'}.jsonl"
        command(f"record --server {address} --duration 10ms --kinds pods {option} --out={file}")
        assert ("secret" in Path(file).read_text()) is found


def test_a_record_continues_in_other_files_and_keeps_the_last_ones(address):
    line = f"record --server {address} --out r.jsonl --duration 10ms --rotate 1Ki --keep 2"
    _, errors, status = command(line)
    assert status == 0
    files = sorted(map(str, Path().glob("r*.jsonl*")))
    assert 1 <= len(files) <= 2
    assert errors.endswith(f"in {', '.join(files)}\n")


def test_a_record_that_ends_before_all_objects_are_listed_says_so(address, source):
    source.fail("/api/v1/nodes", 500, times=20)
    _, errors, status = command(
        f"record --server {address} --out r.jsonl --duration 1ms --kinds nodes"
    )
    assert status == 0, errors
    assert len(errors.splitlines()) > 2, errors
    first, *_, incomplete, last = errors.splitlines()
    assert first.startswith("nodes: ")
    assert first.endswith("; retrying")
    assert incomplete == ("warning: r.jsonl is incomplete: it ended before all objects were listed")
    assert last == "recorded 0 changes in r.jsonl"


def test_a_record_ends_with_what_was_held_for_a_kind_that_is_not_followed(address, source):
    # The deletion of a node would precede what the pods do after it.
    source.fail("WATCH /api/v1/nodes", 422)  # the list has pages instead
    source.fail("WATCH /api/v1/nodes", 500, times=1000)
    file = Path("r.jsonl")

    def is_followed():
        if not file.exists() or file.read_text().count("\n") < 4:
            return False
        if "late" not in source.names("/api/v1/pods"):
            source.create(pod("late"))
        return True

    line = f"record --server {address} --out r.jsonl --kinds nodes,pods"
    _, errors, status = command_until(held(is_followed), line)
    assert (errors.splitlines()[-1], status) == ("recorded 5 changes in r.jsonl", 0)
    assert names_of(each["resource"] for each in lines_of()) == [*NAMES[6:], "pod/default/late"]


# ---------------------------------------------------------------- replay


TIMES = [f"2026-05-01T00:00:0{second}Z" for second in range(6)]


def change(number, event, kind, name, namespace="", **fields):
    resource = document(kind, name, namespace, **fields)
    return {"time": TIMES[number], "event": event, "resource": resource}


CHANGES = [
    change(0, "Add", "Node", "n1", status={"allocatable": {"cpu": "4", "pods": "9"}}),
    change(0, "Add", "ConfigMap", "settings", "default"),
    change(1, "Add", "Pod", "web", "default", spec={"containers": [{"name": "c", "image": "i"}]}),
    change(2, "Delete", "Node", "unknown"),
    change(3, "Delete", "Pod", "web", "default"),
]
SUMMARY = (
    "applied 3 changes: created 2, updated 1, deleted 1; 1 of unknown objects, 0 were rejected\n"
    "changes of other kinds are not applied: ConfigMap 1\n"
)
UNKNOWN = "line 4: Delete Node unknown: the object is not known\n"


@pytest.fixture
def target(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("r.jsonl").write_text("".join(json.dumps(each) + "\n" for each in CHANGES))
    cluster = ServedCluster(seed=1)
    with served(cluster) as address:
        yield cluster, address


def test_a_replay_applies_changes_and_counts_them(target):
    cluster, address = target
    found = command(f"replay r.jsonl --to {address} --immediate")
    assert found == ("", UNKNOWN + SUMMARY, 0)
    assert cluster.names("/api/v1/nodes") == {"n1"}
    assert cluster.names("/api/v1/pods") == set()


def test_a_strict_replay_stops_at_the_first_failure(target):
    cluster, address = target
    _, errors, status = command(f"replay r.jsonl --to {address} --immediate --strict")
    assert errors == UNKNOWN + SUMMARY.replace("applied 3", "applied 2").replace(
        "deleted 1", "deleted 0"
    )
    assert status == 1
    assert cluster.names("/api/v1/pods") == {"web"}


@pytest.mark.parametrize("is_strict", [True, False])
def test_rejected_changes_are_named(target, is_strict):
    cluster, address = target
    cluster.fail("POST /api/v1/nodes", 403, reason="Forbidden")
    strict = " --strict" if is_strict else ""
    _, errors, status = command(f"replay r.jsonl --to {address} --immediate{strict}")
    first, *_ = errors.splitlines()
    assert first.startswith("line 1: Add Node n1: ")
    assert "1 were rejected" in errors
    assert status == is_strict
    assert cluster.names("/api/v1/nodes") == set()
    assert ("line 4" in errors) is not is_strict


def test_a_replay_steps_by_lines_and_ends_with_the_input(target):
    cluster, address = target
    printed, errors, status = command(f"replay r.jsonl --to {address} --step", "\n\n")
    assert printed == "Add Node n1\nAdd Pod default/web\nDelete Node unknown\n"
    assert errors == (
        "line 4: the input has ended; the rest is not applied\n"
        "applied 2 changes: created 2, updated 1, deleted 0; 0 of unknown objects, 0 were"
        " rejected\nchanges of other kinds are not applied: ConfigMap 1\n"
    )
    assert status == 0
    assert cluster.names("/api/v1/pods") == {"web"}


def test_the_changes_of_a_replay_have_the_pace_of_the_record_times_the_speed(target, monkeypatch):
    _, address = target
    waits = []

    async def sleep(seconds, _sleep=asyncio.sleep):
        waits.append(seconds)
        await _sleep(0)

    monkeypatch.setattr(time, "monotonic", lambda: 100.0)
    with monkeypatch.context() as patched:
        patched.setattr(asyncio, "sleep", sleep)
        _, errors, _ = command(f"replay r.jsonl --to {address} --speed 4")
    assert errors == UNKNOWN + SUMMARY
    assert [each for each in waits if each != 0][:3] == [0.25, 0.5, 0.75]


# ---------------------------------------------------------------- sync


def test_a_sync_creates_the_objects_and_says_what_it_did(address, source):
    destination = ServedCluster(seed=1)
    with served(destination) as there:
        line = f"sync --server {address} --to there={there}"
        printed, errors, status = command_until(
            held(lambda: destination.names("/api/v1/pods") == {"db", "web"}), line
        )
        assert (printed, status) == ("", 0)
        *_, last = errors.splitlines()
        created = "there: created 4, updated 6, deleted 0; lag "
        assert last.startswith(created), errors
        assert last.endswith("; 0 pods placed otherwise")
        assert destination.names("/api/v1/nodes") == {"n1", "n2"}
        assert destination.names("/api/v1/pods") == {"db", "web"}
        text = "there: compared 10 objects; 0 differences, 0 not explained by a policy\n"
        assert command(f"{line} --check") == ("", text, 0)
        source.send("DELETE", "/api/v1/nodes/n2")
        printed, errors, status = command(f"{line} --check")
        assert printed == "nodes/n2: source <none>, there is there: not explained\n"
        assert errors == ("there: compared 9 objects; 1 difference, 1 not explained by a policy\n")
        assert status == 1
    assert {each.split()[0] for each in source.requests} <= {"GET", "WATCH"}


def test_a_sync_excludes_pods_that_run(address):
    destination = ServedCluster(seed=1)
    with served(destination) as there:
        line = f"sync --server {address} --to {there} --exclude-running"
        command_until(lambda: "web" in destination.names("/api/v1/pods"), line)
        assert destination.names("/api/v1/pods") == {"web"}


def test_a_sync_ends_after_its_duration(address):
    with served(ServedCluster(seed=1)) as there:
        printed, _, status = command(f"sync --server {address} --to {there} --duration 1ms")
    assert (printed, status) == ("", 0)


def test_the_line_of_a_difference_names_the_node_of_each_side():
    found = SyncDifference(pod="default/web", nodes=("n1", ""))
    assert difference_line(("source", "there"), found) == ("default/web  source=n1  there=<none>")


STATUS = SyncStatus(
    source=SyncSource(name="s", server="http://s", identity="i"),
    phase="following",
    started_at="",
    reported_at="",
    scope=SyncScope(kinds=(), namespaces=(), selector=""),
    policies=SyncPolicies(),
    lag=SyncLag(changes=1, waiting=0, last_seconds=9, mean_seconds=0.126, longest_seconds=2.5),
    counts=SyncCounts(created=1, updated=2, deleted=3, rescheduled=0, ignored=9, kept_deleted=0),
    drift=SyncDrift(pods=4, claims=0),
    unfreed=Unfreed(pods=0, milli_cpu=500, memory_bytes=2**30),
    errors=(),
    last_error="",
    source_failures=0,
    warnings=(),
    sides=("source", "here", "there"),
    here=2,
    differences=(),
    differences_left_out=0,
)
SHOWN = (
    "there: created 1, updated 2, deleted 3; lag 0.13 s, at most 2.50 s; 4 pods placed otherwise"
)


@pytest.mark.parametrize(
    ("changes", "more"),
    [
        ({}, ""),
        ({"phase": "listing"}, "; the first list is not complete"),
        ({"counts": msgspec.structs.replace(STATUS.counts, rescheduled=5, kept_deleted=6)},
         "; 5 scheduled here that had a node; 6 that were deleted here stay deleted"),
        ({"drift": SyncDrift(pods=4, claims=7)}, "; 7 claims and volumes bound otherwise"),
        ({"unfreed": Unfreed(pods=8, milli_cpu=500, memory_bytes=2**30)},
         "; 8 pods have finished at the source and occupy 500m cpu and 1Gi memory here: "
         "--pod-status frees them"),
        ({"errors": (SyncError(kind="Pod", reason="Forbidden", count=2),
                     SyncError(kind="Node", reason="Invalid", count=1)), "last_error": "no"},
         "; errors: Pod Forbidden 2, Node Invalid 1, the last one: no"),
    ],
)  # fmt: skip
def test_the_summary_of_a_sync_has_what_there_is_to_say(changes, more):
    assert summary_of(msgspec.structs.replace(STATUS, **changes)) == SHOWN + more


def test_a_sync_prints_its_summary_when_all_is_there_and_when_it_has_changed(capsys):
    states = [STATUS]
    here, there = SimpleNamespace(is_synced=True), SimpleNamespace(is_synced=False)
    untried: dict[tuple[int, str], str] = {}
    sync: Any = SimpleNamespace(
        destinations=[here, there], status=lambda _: states[-1], untried=lambda _: untried
    )
    printed = []

    async def run() -> None:
        task = asyncio.create_task(_print_regularly(sync))
        for seconds in (1, 1, 60, 60):
            await asyncio.sleep(seconds)
            printed.append(capsys.readouterr().err)
            there.is_synced = True
            untried[1, "a"] = f"no scheduler a ({len(printed)})"
            if len(printed) == 3:
                states.append(msgspec.structs.replace(STATUS, drift=SyncDrift(pods=0, claims=0)))
        task.cancel()

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(run())
    changed = SHOWN.replace("4 pods", "0 pods")
    warning = "warning: no scheduler a (1)\n"
    assert printed == ["", f"{SHOWN}\n{SHOWN}\n{warning}", "", f"{changed}\n{changed}\n"]


SWITCHES = {
    "exclude-running": "excludes_running",
    "follow-labels": "follows_labels",
    "follow-resources": "follows_resources",
    "pod-status": "mirrors_pod_status",
    "explicit-spread": "has_explicit_spread",
    "keep-owners": "keeps_owners",
    "keep-service-accounts": "keeps_accounts",
    "ignore-deletions": "ignores_deletions",
    "restore-deleted": "restores_deleted",
    "freeze-node-status": "freezes_node_status",
}


@pytest.mark.parametrize(("option", "field"), SWITCHES.items())
def test_each_switch_is_one_policy_of_a_sync(option, field):
    expected = msgspec.structs.replace(SyncPolicies(), **{field: True})
    given: dict[str, Any] = {option.replace("-", "_"): True}
    assert SyncOptions(to=("a",), **given).policies() == expected
    assert read_policies([option]) == expected


@pytest.mark.parametrize(
    ("options", "policies"),
    [
        ({}, SyncPolicies()),
        ({"bound": "kss"}, SyncPolicies(bound=BoundPods.kss)),
        ({"reschedule_all": True}, SyncPolicies(bound=BoundPods.none)),
        ({"reschedule_all": True, "bound": "none"}, SyncPolicies(bound=BoundPods.none)),
        ({"shadow": True}, SyncPolicies(bound=BoundPods.source, mirrors_pod_status=True)),
        ({"shadow": True, "bound": "source", "follow_labels": True},
         SyncPolicies(bound=BoundPods.source, mirrors_pod_status=True, follows_labels=True)),
    ],
)  # fmt: skip
def test_pods_with_a_node_have_one_policy(options, policies):
    assert replace(SyncOptions(to=("a",)), **options).policies() == policies


@pytest.mark.parametrize(
    ("text", "name", "server"),
    [
        ("there=http://127.0.0.1:1", "there", "http://127.0.0.1:1"),
        ("http://127.0.0.1:1", "http://127.0.0.1:1", "http://127.0.0.1:1"),
        ("http://127.0.0.1:1/?a=b", "http://127.0.0.1:1/?a=b", "http://127.0.0.1:1/?a=b"),
    ],
)
def test_a_destination_may_have_a_name(text, name, server):
    ((found, address),) = SyncOptions(to=(text,)).targets()
    assert (found, address.server) == (name, server)


def test_a_file_with_an_equals_sign_is_a_destination(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a=b").touch()
    ((name, address),) = SyncOptions(to=("a=b",)).targets()
    assert (name, address.kubeconfig) == ("a=b", "a=b")


@pytest.mark.parametrize(("given", "hint"), [
    ("keep-ownrs", "did you mean keep-owners?"),
    ("bound=nne", "did you mean bound=none?"),
])  # fmt: skip
def test_a_policy_of_a_sync_that_is_misspelt_has_a_suggestion(given, hint):
    with pytest.raises(typer.BadParameter) as caught:
        read_policies([given])
    assert caught.value.message == f'"{given}" is not a policy; {hint}'


def test_an_unknown_policy_of_a_sync_is_answered_with_all():
    with pytest.raises(typer.BadParameter) as caught:
        read_policies(["zzzzzzzz"])
    found = caught.value.message.removeprefix('"zzzzzzzz" is not a policy; there are ')
    names = found.removesuffix(".").split(", ")
    for name in names:
        read_policies([name])
    assert {"reschedule-all", "bound=none", "keep-owners", "freeze-node-status"} <= {*names}


def test_the_progress_of_an_import_is_shown_on_a_terminal_after_a_second(monkeypatch):
    now = [50.0]
    screen = io.StringIO()
    made = Console(file=screen, force_terminal=True, width=60, color_system=None)
    monkeypatch.setattr(import_run, "monotonic", lambda: now[0])
    monkeypatch.setattr(import_run, "stderr", lambda: made)
    progress = import_run._Progress()
    now[0] += 0.99
    progress.show("pods", 500, 700)
    assert screen.getvalue() == ""
    progress.stop()
    now[0] += 0.01
    shown = []
    for resource, done, remaining in (("pods", 500, 700), ("nodes", 12, 0)):
        progress.show(resource, done, remaining)
        assert progress._status is not None
        shown.append(progress._status.status)
    progress.stop()
    assert shown == ["reading pods: 500 of about 1200", "reading nodes: 12"]
    assert "reading nodes: 12" in screen.getvalue()


def test_off_a_terminal_the_progress_of_an_import_is_not_shown(monkeypatch, capsys):
    now = [50.0]
    monkeypatch.setattr(import_run, "monotonic", lambda: now[0])
    progress = import_run._Progress()
    now[0] += 60
    progress.show("pods", 500, 700)
    progress.stop()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("cluster:", ("", "", "")),
        ("cluster:prod", ("", "prod", "")),
        ("cluster:http://a:1", ("", "", "http://a:1")),
        ("http://a:1", ("", "", "http://a:1")),
        ("some.kubeconfig", ("some.kubeconfig", "", "")),
    ],
)
def test_a_source_is_a_context_an_address_or_a_kubeconfig(text, found):
    address = address_of_source(text)
    assert (address.kubeconfig, address.context, address.server) == found


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["record.jsonl"], "record.jsonl"),
        (["record.jsonl.gz"], "record.jsonl.gz"),
        (["record.jsonl", "record.jsonl.gz"], "record.jsonl"),
        ([], "record.jsonl"),
    ],
)
def test_the_record_in_a_folder_may_be_packed(tmp_path, names, found):
    for name in names:
        (tmp_path / name).touch()
    assert _record_in(tmp_path) == tmp_path / found
    assert _record_in(tmp_path / "other") == tmp_path / "other"


# ---------------------------------------------------------------- plans


def test_a_plan_is_of_the_cluster_at_an_address(address):
    of_server = command(f"drain-plan n1 --server {address}")
    assert of_server == command(f"drain-plan n1 cluster:{address}")
    assert "n1" in of_server[0]


def test_without_a_cluster_a_plan_is_of_the_current_context(monkeypatch, tmp_path):
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    first, second = command("drain-plan n1")[1].splitlines()
    assert first == "no cluster is given: reading the one of the current context"
    assert "there is no such kubeconfig" in second
