"""The parts of `podwright up`: what each option makes of the cluster, without serving it."""

from __future__ import annotations

import socket
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from podwright._private_files import exposures
from podwright.apimachinery.objects import InputError, PodwrightError
from podwright.cli.clusters.options import SelectionOptions
from podwright.cli.inputs import Inputs
from podwright.cli.options import Setup
from podwright.cli.serving import up_simulator
from podwright.cli.serving.commands import _checked
from podwright.cli.serving.up_inputs import (
    _report_rejected,
    check_parts,
    inputs_of,
    stages_of,
)
from podwright.cli.serving.up_options import (
    FileOptions,
    InputOptions,
    KssOptions,
    PartOptions,
    SchedulingOptions,
    ServingOptions,
    UiOptions,
    UpOptions,
    _ip_address,
)
from podwright.cli.serving.up_run import (
    _access,
    _annotates_results,
    _beside,
    _exposures,
    _imported,
    _plugin_reload,
    _record,
    _server_options,
    _store,
)
from podwright.cli.serving.up_simulator import (
    Endpoint,
    MissingTlsError,
    certificate_folder,
    endpoint_of,
    is_loopback,
)
from podwright.cli.tests.served import command
from podwright.cluster.api.endpoints import bare_options
from podwright.cluster.store import ObjectStore
from podwright.online.apiserver import TlsData
from podwright.online.apiserver.access.certificates import (
    SERVICE_NAMES,
    kept_certificates,
    names_of,
)
from podwright.online.apiserver.scheduling import served_scheduler
from podwright.online.client import ClusterAccess
from podwright.scheduler.config import Gates
from podwright.simulation.files import load_bytes, numbered_lines
from podwright.simulation.world import Apply, Inputs as TimedInputs, file_of_events

SEEDED = Setup(seed=5, given=frozenset({"seed"}))


@pytest.mark.parametrize(("chosen", "port", "has_scheduler", "annotates"), [
    (None, None, True, False),
    (None, 1212, True, True),
    (None, 1212, False, False),
    (False, 1212, True, False),
    (True, None, False, True),
])  # fmt: skip
def test_results_are_annotated_for_the_simulator_unless_an_option_says_otherwise(
    chosen, port, has_scheduler, annotates
):
    options = UpOptions(
        scheduling=SchedulingOptions(annotate_results=chosen),
        kss=KssOptions(kss_port=port),
        parts=PartOptions(has_scheduler=has_scheduler),
    )
    assert _annotates_results(options) is annotates


@pytest.mark.parametrize(("changes", "found"), [
    ({}, ["ScenarioController"]),
    ({"parts": PartOptions(has_controllers=False)}, []),
    ({"parts": PartOptions(bare=True)}, []),
    ({"scheduling": SchedulingOptions(annotate_results=True)},
     ["ResultAnnotations", "ScenarioController"]),
])  # fmt: skip
def test_what_works_beside_the_turns_of_a_cluster(changes, found):
    beside = _beside(UpOptions(**changes), None, {"authorization": "Bearer t"})
    assert [type(each).__name__ for each in beside] == found


@pytest.mark.parametrize(("timeline", "has_scheduler", "keeps"), [
    (True, True, True), (True, False, False), (False, True, False)
])  # fmt: skip
def test_timelines_are_those_of_the_own_scheduler(timeline, has_scheduler, keeps):
    options = UpOptions(
        scheduling=SchedulingOptions(timeline=timeline),
        parts=PartOptions(has_scheduler=has_scheduler),
    )
    assert options.keeps_timelines is keeps


def test_an_import_has_a_source_and_a_selection():
    selection = SelectionOptions(selector="a=b")
    found = _imported(InputOptions(imported="cluster:", selection=selection))
    assert found is not None
    assert (found[0], found[1]) == ("cluster:", selection)
    assert _imported(InputOptions(selection=selection)) is None


def test_a_store_draws_by_the_seed_and_a_file_keeps_its_own(tmp_path):
    def uids(db: Path | None, setup: Setup) -> object:
        store = _store(db, setup)
        try:
            return store.seed
        finally:
            store.close()

    assert uids(None, Setup()) == 0
    assert uids(None, SEEDED) == 5
    file = tmp_path / "cluster.db"
    assert uids(file, SEEDED) == 5
    assert uids(file, Setup()) == 5


@pytest.mark.parametrize("is_bare", [True, False])
@pytest.mark.parametrize("has_page", [True, False])
def test_a_bare_server_has_no_page(is_bare, has_page):
    options = UpOptions(parts=PartOptions(bare=is_bare), ui=UiOptions(has_page=has_page))
    assert _checked(options).ui.has_page is (has_page and not is_bare)


def test_without_tls_everybody_is_the_administrator_and_a_bare_server_is_its_own():
    plain = _server_options(UpOptions(), "secret")
    assert plain.anonymous is not None
    assert plain.anonymous.name == "admin"
    assert plain.anonymous.groups == ("system:masters", "system:authenticated")
    private = _server_options(UpOptions(serving=ServingOptions(tls=True)), "secret")
    assert private.anonymous != plain.anonymous
    bare = _server_options(UpOptions(parts=PartOptions(bare=True)), "secret")
    assert bare.anonymous == bare_options().anonymous == private.anonymous


# ---------------------------------------------------------------- where it is served


@pytest.mark.parametrize(("text", "address"), [
    ("localhost", "127.0.0.1"), ("127.0.0.2", "127.0.0.2"), ("0:0::1", "::1")
])  # fmt: skip
def test_an_address_is_an_ip_address_or_localhost(text, address):
    assert _ip_address(text) == address


@pytest.mark.parametrize(("address", "host", "url", "allowed", "refused"), [
    ("127.0.0.1", "127.0.0.1", "http://127.0.0.1:80", ["127.0.0.1", "localhost"],
     ["10.0.0.1", "name"]),
    ("0.0.0.0", "127.0.0.1", "http://127.0.0.1:80", ["10.0.0.1", "0.0.0.0", "here"], ["name"]),
    ("::", "::1", "http://[::1]:80", ["10.0.0.1", "[::1]", "here"], ["name"]),
    ("10.0.0.1", "10.0.0.1", "http://10.0.0.1:80", ["10.0.0.1", "10.0.0.2", "here"], ["name"]),
    ("::1", "::1", "http://[::1]:80", ["[::1]", "localhost"], ["10.0.0.1", "here"]),
])  # fmt: skip
def test_a_server_has_an_address_and_names(address, host, url, allowed, refused, monkeypatch):
    monkeypatch.setattr(socket, "gethostname", lambda: "here")
    found = endpoint_of(ServingOptions(address=address), None)
    assert (found.host, found.url(80)) == (host, url)
    assert (found.context, found.tls, found.sign) == (None, None, None)
    names = [*allowed, *refused]
    assert [
        name for name in names if found.hosts.rejection("GET", {"host": name}) is None
    ] == allowed


def test_a_name_of_the_machine_that_is_not_ascii_is_no_name_of_the_server(monkeypatch):
    monkeypatch.setattr(socket, "gethostname", lambda: "hös")
    assert up_simulator._own_names("10.0.0.1") == ("10.0.0.1",)
    monkeypatch.setattr(socket, "gethostname", lambda: "h")
    assert up_simulator._own_names("10.0.0.1") == ("10.0.0.1", "h")
    assert up_simulator._own_names("0.0.0.0") == ("h",)
    assert up_simulator._own_names("127.0.0.9") == ()


@pytest.mark.parametrize(("host", "is_own"), [("127.8.9.9", True), ("::1", True), ("::2", False)])
def test_only_this_machine_reaches_its_loopback(host, is_own):
    assert is_loopback(host) is is_own


def allowed(found: Endpoint, *names: str) -> list[str]:
    return [name for name in names if found.hosts.rejection("GET", {"host": name}) is None]


def test_with_tls_clients_trust_the_authority_of_the_cluster(tmp_path):
    serving = ServingOptions(tls=True, tls_san=("more.example",))
    found = endpoint_of(serving, tmp_path / "c.db", ["http://page.example"])
    folder = tmp_path / "c.db-certificates"
    assert found.tls == TlsData(
        authority=(folder / "ca.crt").read_bytes(), certificate=(folder / "admin.crt").read_bytes(),
        key=(folder / "admin.key").read_bytes(), server_name="",
    )  # fmt: skip
    assert names_of(folder / "server.crt") == {
        "localhost", "127.0.0.1", "::1", "more.example", *SERVICE_NAMES,
    }  # fmt: skip
    assert found.url(443) == "https://127.0.0.1:443"
    assert found.sign is not None
    assert found.hosts.origins == {"http://page.example"}
    assert allowed(found, "more.example", "localhost", "other.example") == [
        "more.example", "localhost",
    ]  # fmt: skip


@pytest.mark.parametrize(("names", "server_name"), [
    (["web.example", "*.example"], "web.example"), (["*.example"], ""),
    (["127.0.0.1", "web.example"], ""),
])  # fmt: skip
def test_a_given_certificate_is_trusted_by_its_name(tmp_path, names, server_name):
    own = kept_certificates(tmp_path / "own", names)
    serving = ServingOptions(tls=True, tls_cert=own.server, tls_key=own.server_key)
    found = endpoint_of(serving, tmp_path / "c.db", ["http://page.example"])
    folder = tmp_path / "c.db-certificates"
    assert found.tls == TlsData(
        authority=own.server.read_bytes(), certificate=(folder / "admin.crt").read_bytes(),
        key=(folder / "admin.key").read_bytes(), server_name=server_name,
    )  # fmt: skip
    assert found.context is not None
    assert found.sign is not None
    assert found.hosts.origins == {"http://page.example"}
    expected = [each for each in ("web.example", "localhost") if each in (*names, "localhost")]
    assert allowed(found, "web.example", "localhost", "other.org") == expected
    own_pair = endpoint_of(replace(serving, tls_key=None), tmp_path / "c.db").tls
    assert own_pair is not None
    assert own_pair.authority == (folder / "ca.crt").read_bytes()


def test_certificates_lie_beside_the_file_or_in_the_state_of_the_user(tmp_path, monkeypatch):
    assert certificate_folder(Path("a/c.db")) == Path("a/c.db-certificates")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert certificate_folder(None) == tmp_path / "podwright/certificates"
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert certificate_folder(None) == tmp_path / ".local/state/podwright/certificates"


@pytest.mark.parametrize("missing", ["cryptography", "h2"])
def test_tls_needs_packages(missing, monkeypatch):
    monkeypatch.setattr(up_simulator, "find_spec", lambda name: None if name == missing else 1)
    with pytest.raises(MissingTlsError) as caught:
        endpoint_of(ServingOptions(tls=True), None)
    assert str(caught.value) == (
        f"TLS needs {missing}, which is not installed; install it with: pip install"
        " 'podwright[tls]'"
    )


def test_the_access_of_the_page_is_that_of_the_administrator():
    endpoint = endpoint_of(ServingOptions(), None)
    assert _access("http://a:1", "t", endpoint) == ClusterAccess(server="http://a:1", token="t")


def test_files_that_others_could_read_are_named(tmp_path):
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o777)
    files = FileOptions(db=folder / "db", record=folder / "r", shadow=folder / "s")
    options = UpOptions(files=files, serving=ServingOptions(tls=True))
    certificates = folder / "db-certificates"
    everything = exposures(files.db, files.record, None, files.shadow, certificates)
    assert list(_exposures(options)) == list(everything)
    plain = replace(options, serving=ServingOptions())
    assert list(_exposures(plain)) == list(exposures(files.db, files.record, None, files.shadow))


# ---------------------------------------------------------------- what it begins with

STAGE = b"""
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: ready}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  next: {statusTemplate: "phase: Running"}
"""
CLASS = b"""
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: own}
provisioner: none
"""
NODE = b"{apiVersion: v1, kind: Node, metadata: {name: n}}"


def read(*files: bytes) -> Inputs:
    loaded = load_bytes([(f"{i}.yaml", text) for i, text in enumerate(files)])
    return Inputs(loaded, None, [], Gates(), "", {}, False)


def names_at_the_start(
    given: Inputs, store: ObjectStore | None = None, **options: Any
) -> list[str]:
    settings: dict[str, Any] = {
        "nodes": 0,
        "has_storage_class": False,
        "has_drivers": False,
    } | options
    store = ObjectStore() if store is None else store
    inputs = inputs_of(given, (), Setup(), store=store, start_ns=0, **settings)
    return [f"{each.obj.kind}/{each.obj.name}" for _, each in inputs if isinstance(each, Apply)]


@pytest.mark.parametrize(("files", "options", "names"), [
    ([NODE], {}, ["Node/n"]),
    ([NODE], {"nodes": 2, "has_storage_class": True},
     ["StorageClass/standard", "Node/node-0", "Node/node-1", "Node/n"]),
    ([CLASS], {"has_storage_class": True}, ["StorageClass/own"]),
    ([], {"has_drivers": True}, ["CustomResourceDefinition/devicecards.podwright.dev"]),
])  # fmt: skip
def test_a_new_cluster_has_the_objects_of_its_options_before_those_of_files(files, options, names):
    assert names_at_the_start(read(*files), **options) == names


def test_a_cluster_that_was_there_keeps_its_objects():
    store = ObjectStore()
    store.put(read(NODE).loaded.objects[0])
    found = names_at_the_start(read(NODE, CLASS), store, nodes=1, has_storage_class=True)
    assert found == ["StorageClass/own", "Node/node-0"]


def test_stages_of_files_replace_those_of_kubelets(capsys):
    given = read(STAGE)
    inputs = inputs_of(
        given, (), Setup(), nodes=0, has_storage_class=False, has_drivers=False,
        store=ObjectStore(), start_ns=0,
    )  # fmt: skip
    assert stages_of(read(NODE), inputs, has_lifecycle=True) is None
    for has_lifecycle in (True, False):
        assert stages_of(given, inputs, has_lifecycle=has_lifecycle) == inputs.stages
    text = "warning: the Stages among the files have no effect with --no-lifecycle\n"
    assert capsys.readouterr().err == text


EVENTS = b"""\
{"at": "1s", "drain": "node/n"}
{"at": "2s", "fail": "node/n"}
{"at": "3s", "restore": "node/n"}
"""


def timed(lines: bytes = EVENTS) -> TimedInputs:
    events = [file_of_events("e.jsonl", partial(numbered_lines, lines, source="e.jsonl"))]
    return inputs_of(
        read(NODE), events, Setup(), nodes=0, has_storage_class=False, has_drivers=False,
        store=ObjectStore(), start_ns=0,
    )  # fmt: skip


@pytest.mark.parametrize(("has_controllers", "has_lifecycle", "errors"), [
    (True, True, []),
    (False, True, ["drain: has no effect with --no-controllers"]),
    (True, False, ["fail: has no effect with --no-lifecycle",
                   "restore: has no effect with --no-lifecycle"]),
])  # fmt: skip
def test_operations_of_parts_that_are_left_out_are_errors(has_controllers, has_lifecycle, errors):
    parts = {"has_controllers": has_controllers, "has_lifecycle": has_lifecycle}
    if not errors:
        check_parts(timed(), **parts)
        return
    with pytest.raises(InputError) as caught:
        check_parts(timed(), **parts)
    assert caught.value.texts == [f"--events: {each}" for each in errors]


@pytest.mark.parametrize(("lines", "errors"), [
    pytest.param(b'{"at": "1s", "cordon": "n"}\n{"after": "1s", "drain": "n"}\n', [], id="times"),
    pytest.param(b'{"at": "1s", "done": true}\n', ["--events: done: has no effect in a cluster"],
                 id="an end"),
    pytest.param(b'{"at": "1s", "cordon": "n"}\n{"step": 1, "drain": "n"}\n'
                 b'{"waitUntil": {"gone": "a=b"}}\n',
                 ["e.jsonl: line 2: waits for a condition", "e.jsonl: line 3: waits for a"],
                 id="lines that wait"),
])  # fmt: skip
def test_what_only_simulations_do_is_an_error(lines, errors):
    if not errors:
        check_parts(timed(lines), has_controllers=True, has_lifecycle=True)
        return
    with pytest.raises(InputError) as caught:
        check_parts(timed(lines), has_controllers=True, has_lifecycle=True)
    assert len(caught.value.texts) == len(errors)
    assert all(map(str.startswith, caught.value.texts, errors)), caught.value.texts


def test_a_rejected_operation_is_reported_by_its_name(capsys):
    _report_rejected(Apply(obj=read(NODE).loaded.objects[0]), PodwrightError("no"))
    assert capsys.readouterr().err == "--events: apply was rejected: no\n"


@pytest.mark.parametrize(
    ("files", "limits"),
    [({}, (0, 0)), ({"record_rotate": 1024}, (1024, 0)), ({"record_keep": 3}, (0, 3))],
)
def test_a_record_is_rotated_and_kept_as_the_options_say(
    tmp_path: Path, files: dict[str, Any], limits: tuple[int, int]
) -> None:
    record = _record(tmp_path / "r.jsonl", FileOptions(**files))
    record.close()
    assert (record._largest_bytes, record._kept_files) == limits


def test_the_files_of_plugins_are_loaded_again(tmp_path: Path) -> None:
    path = tmp_path / "p.py"
    path.write_text("import podwright as pw\n\nclass P(pw.Plugin):\n    name = 'P'\n")
    reload = _plugin_reload(Setup(plugins=(path,)))
    assert reload._files == (path,)
    assert [each.name for each in reload._load()] == ["P"]


def test_the_help_says_what_is_kept_of_the_log_by_default():
    text = " ".join(command("up --help")[0].split())
    size = served_scheduler.LOG_BYTES >> 20
    assert f"Defaults to {served_scheduler.LOG_EVENTS}, or {size} MiB of them if" in text
