"""`podwright page`, and the page of `podwright up`, with other programs in place of its process."""

from __future__ import annotations

import json
import os
import re
import socket
import sys
import time
import webbrowser
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.waiting import until

from podwright.cli.clusters.options import ServedOptions
from podwright.cli.serving import page_run
from podwright.cli.serving.page_run import (
    DEFAULT_PAGE_PORT,
    MissingPageError,
    RenewedAccess,
    check_extra,
    open_page,
    page_address,
    page_of,
    page_socket,
)
from podwright.cli.serving.up_options import UiOptions
from podwright.cli.tests.served import command
from podwright.online.apiserver import ServingError
from podwright.online.client import ClusterAccess, ClusterError
from podwright.online.ui import process

ACCESS = ClusterAccess(server="http://127.0.0.1:1")


def test_the_page_has_a_port_of_its_own_and_any_other_if_that_is_in_use():
    with page_socket(0) as first:
        port = first.getsockname()[1]
        assert page_address(first) == f"http://127.0.0.1:{port}"
        with pytest.raises(ServingError, match="--ui-port"):
            page_socket(port, "--ui-port")
    with page_socket(None) as default, page_socket(None) as other:
        ports = default.getsockname()[1], other.getsockname()[1]
        assert len(set(ports)) == 2
        assert DEFAULT_PAGE_PORT not in ports[1:]


def test_the_port_of_the_page_is_the_default_one_where_it_is_free():
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", DEFAULT_PAGE_PORT))
        except OSError:
            is_free = False
        else:
            is_free = True
    with page_socket(None) as listening:
        assert (listening.getsockname()[1] == DEFAULT_PAGE_PORT) is is_free


@pytest.mark.parametrize(
    "server", ["nothing", "ftp://host", "http://", "http://:80", "http://h:0", "http://h:x"]
)
def test_an_address_has_a_scheme_a_host_and_a_port_above_0(server):
    text = f'"{server}" is not the address of a server, such as http://127.0.0.1:8180'
    with pytest.raises(ClusterError) as caught:
        page_run._check_address(server)
    assert str(caught.value) == text


@pytest.mark.parametrize("server", ["http://h", "https://h:443", "http://[::1]:8180/path"])
def test_other_addresses_are_those_of_servers(server):
    page_run._check_address(server)


def kubeconfig(path: Path, server: str) -> None:
    path.write_text(
        f"clusters: [{{name: c, cluster: {{server: '{server}'}}}}]\n"
        "users: [{name: u, user: {token: t}}]\n"
        "contexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x\n"
    )


def test_the_kubeconfigs_of_the_environment_are_one(tmp_path, monkeypatch):
    first, second = tmp_path / "first", tmp_path / "second"
    kubeconfig(first, "http://first")
    second.write_text(
        "clusters: [{name: d, cluster: {server: 'http://second'}}]\n"
        "contexts: [{name: y, context: {cluster: d, user: u}}]\ncurrent-context: y\n"
    )
    monkeypatch.setenv("KUBECONFIG", f":{tmp_path / 'absent'}:{first}:{second}")
    assert ServedOptions().access().server == "http://first"
    found = ServedOptions(context="y").access()
    assert (found.server, found.token) == ("http://second", "t")
    monkeypatch.delenv("KUBECONFIG")
    monkeypatch.chdir(tmp_path)
    kubeconfig(tmp_path / "podwright.kubeconfig", "http://here")
    assert ServedOptions().access().server == "http://here"


def test_the_access_is_read_again_after_a_second(tmp_path, monkeypatch):
    file = tmp_path / "kubeconfig"
    kubeconfig(file, "http://first")
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    options = ServedOptions(kubeconfig=file)
    renewed = RenewedAccess(options, options.access())
    servers = []
    for seconds, server in ((0.0, "second"), (0.99, "second"), (0.01, "second"), (0.5, "third")):
        kubeconfig(file, f"http://{server}")
        now[0] += seconds
        servers.append(renewed().server)
    assert servers == ["http://first", "http://first", "http://second", "http://second"]
    file.unlink()
    now[0] += 1
    assert renewed().server == "http://second"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (UiOptions(has_page=False), ""),
        (UiOptions(),
         "The page is not served: install it with pip install 'podwright[ui]'.\n"),
    ],
)  # fmt: skip
def test_a_cluster_without_a_page_is_served(options, text, monkeypatch, capsys):
    monkeypatch.setattr(page_run, "find_spec", lambda _: None)
    with page_of(options, ACCESS) as address:
        assert address == ""
    assert capsys.readouterr().err == text


@pytest.mark.parametrize("name", ["has_page", "ui_port", "is_opened"])
def test_a_page_that_an_option_names_has_to_be_installed(name, monkeypatch):
    monkeypatch.setattr(page_run, "find_spec", lambda _: None)
    text = "The page needs NiceGUI, which is not installed; install it with: pip install "
    page = page_of(UiOptions(given=frozenset({name})), ACCESS)
    with pytest.raises(MissingPageError) as caught, page:
        pass
    assert str(caught.value) == f"{text}'podwright[ui]'"
    with pytest.raises(MissingPageError):
        check_extra()


def test_the_address_is_printed_where_no_browser_is_found(monkeypatch, capsys):
    for is_opened in (True, False):
        monkeypatch.setattr(webbrowser, "open", lambda _, found=is_opened: found)
        open_page("http://127.0.0.1:1")
    assert capsys.readouterr().err == ("No browser was found. The page is at http://127.0.0.1:1\n")


def program(path: Path, *lines: str) -> str:
    """Write a program that stands for Python, and return its path."""
    path.write_text("\n".join(("#!/bin/sh", *lines, "")))
    path.chmod(0o700)
    return str(path)


def test_the_page_of_a_cluster_is_a_process_that_gets_its_access_and_socket(tmp_path, monkeypatch):
    lines = (
        'echo "$@" >args',
        "echo $$ >process",
        "read -r line",
        'echo "$line" >read',
        "cat",
        "echo end >ended",
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "executable", program(tmp_path / "python", *lines))
    with page_of(UiOptions(ui_port=0), ACCESS) as address:
        until(lambda: Path("read").exists() and Path("read").read_text().endswith("\n"), 20)
        settings = json.loads(Path("read").read_text())
        listening = socket.socket(fileno=os.dup(settings["descriptor"]))
        assert address == f"http://127.0.0.1:{listening.getsockname()[1]}"
        listening.close()
        assert not Path("ended").exists()
        # Ctrl-C reaches the processes of the terminal's session, and it ends after them.
        assert os.getsid(int(Path("process").read_text())) != os.getsid(0)
    assert msgspec.convert(settings["access"], ClusterAccess) == ACCESS
    assert Path("args").read_text() == "-m podwright.online.ui\n"
    # It has ended by the end of its input.
    assert Path("ended").read_text() == "end\n"


@pytest.mark.parametrize("status", [0, 3])
def test_a_process_of_the_page_that_ends_is_reported(status, tmp_path, monkeypatch, capsys):
    text = f"The process of the page has ended with status {status}.\n"
    monkeypatch.setattr(sys, "executable", program(tmp_path / "python", f"exit {status}"))
    printed = []

    def is_reported() -> bool:
        printed.append(capsys.readouterr().err)
        return bool(printed[-1])

    with page_of(UiOptions(ui_port=0), ACCESS):
        until(is_reported, 20)
    assert "".join(printed) == text


def test_a_process_of_the_page_that_does_not_end_is_killed(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(page_run, "_END_SECONDS", 0.05)
    monkeypatch.chdir(tmp_path)
    lines = ('echo "$$" >started', "exec sleep 60 <&-")
    monkeypatch.setattr(sys, "executable", program(tmp_path / "python", *lines))
    with page_of(UiOptions(ui_port=0), ACCESS):
        until(lambda: Path("started").exists() and Path("started").read_text(), 20)
    process = int(Path("started").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
    assert capsys.readouterr().err == ""


def test_a_port_of_the_page_that_is_in_use_is_an_error_of_its_option():
    with page_socket(0) as used:
        page = page_of(UiOptions(ui_port=used.getsockname()[1]), ACCESS)
        with pytest.raises(ServingError, match="--ui-port"), page:
            pass


def page_address_of(out: str) -> str:
    """Return the address that a command has printed."""
    found = re.search(r"http://127\.0\.0\.1:\d+", out)
    assert found is not None, out
    return found[0]


@pytest.mark.parametrize("compared", ["", "http://other:2"])
def test_a_page_is_served_for_one_cluster_or_two(compared, tmp_path, monkeypatch):
    calls: list[tuple[Any, Any]] = []
    opened: list[str] = []
    monkeypatch.setattr(process, "serve_page", lambda *args, **others: calls.append((args, others)))
    monkeypatch.setattr(webbrowser, "open", opened.append)
    for name, server in (("one", "http://first:1"), ("two", compared)):
        kubeconfig(tmp_path / name, server)
    more = f" --compare {tmp_path / 'two'} --open" if compared else ""
    out, err, status = command(f"page --kubeconfig {tmp_path / 'one'} --port 0{more}")
    (((upstream, listening), others),) = calls
    address = page_address_of(out)
    missing = f"No browser was found. The page is at {address}\n" if compared else ""
    text = f"Serving the page of http://first:1 at {address}\nCtrl-C stops it.\n"
    assert (out, err, status) == (text, missing, 0)
    assert isinstance(listening, socket.socket)
    assert opened == ([address] if compared else [])
    both = [upstream, *([others["compared"]] if others["compared"] else [])]
    servers = ["http://first:1", *([compared] if compared else [])]
    assert [each._access.server for each in both] == servers
    assert [each._renewed().server for each in both] == servers


def test_an_address_that_is_none_is_no_cluster_of_a_page(tmp_path):
    for name, server in (("one", "http://first:1"), ("two", "ftp://other")):
        kubeconfig(tmp_path / name, server)
    one, two = tmp_path / "one", tmp_path / "two"
    text = 'error: "ftp://other" is not the address of a server, such as http://127.0.0.1:8180\n'
    for line in (f"--kubeconfig {two}", f"--kubeconfig {one} --compare {two}"):
        assert command(f"page --port 0 {line}")[:2] == ("", text)
