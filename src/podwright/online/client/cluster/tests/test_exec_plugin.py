"""Plugins that return credentials: what they receive, and what may be wrong with their output."""

from __future__ import annotations

import asyncio
import base64
import json
import math
import os
import stat
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.waiting import SECONDS_MAX

from podwright.online.client.cluster import ConnectionSettingsError
from podwright.online.client.cluster.exec_plugin import PluginCredentials, run_plugin
from podwright.online.client.kubeconfig import Cluster, Exec, Variable

V1 = "client.authentication.k8s.io/v1"


def script(folder: Path, text: str) -> str:
    path = folder / "plugin"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def replying(folder: Path, status: Any, version: str = V1) -> str:
    reply = {"apiVersion": version, "kind": "ExecCredential", "status": status}
    return script(folder, f"cat <<'END'\n{json.dumps(reply)}\nEND")


def run(command: str, cluster: Cluster | None = None, **fields: Any) -> PluginCredentials:
    plugin = Exec(**{"command": command, "api_version": V1, **fields})
    return asyncio.run(run_plugin(plugin, cluster or Cluster()))


class Terminal:
    def __init__(self, is_there: bool) -> None:
        self.isatty = lambda: is_there


def test_a_plugin_returns_a_token_or_a_certificate_or_both(tmp_path):
    assert run(replying(tmp_path, {"token": "t"})) == PluginCredentials(token="t")
    certificate = {"clientCertificateData": "c", "clientKeyData": "k"}
    expected = PluginCredentials(client_certificate_data="c", client_key_data="k")
    assert run(replying(tmp_path, certificate)) == expected
    both = run(replying(tmp_path, certificate | {"token": "t"}))
    assert (both.token, both.client_key_data) == ("t", "k")
    beta = "client.authentication.k8s.io/v1beta1"
    assert run(replying(tmp_path, {"token": "t"}, beta), api_version=beta).token == "t"


def test_credentials_can_be_used_until_they_expire(tmp_path, monkeypatch):
    monkeypatch.setattr(time, "time", lambda: 1_000.0)
    found = run(replying(tmp_path, {"token": "t", "expirationTimestamp": "1970-01-01T00:20:00Z"}))
    assert found.lifetime_seconds == 200.0
    assert run(replying(tmp_path, {"token": "t"})).lifetime_seconds == math.inf


def received(folder: Path, cluster: Cluster, **fields: Any) -> Any:
    """Return what a plugin receives in $KUBERNETES_EXEC_INFO."""
    command = script(folder, 'echo "$KUBERNETES_EXEC_INFO" > "$0.info"\necho {}')
    with pytest.raises(ConnectionSettingsError):
        run(command, cluster, **fields)
    return json.loads((folder / "plugin.info").read_text())


def test_a_plugin_receives_arguments_variables_and_what_it_is_for(tmp_path, monkeypatch):
    monkeypatch.setenv("INHERITED", "i")
    monkeypatch.setattr(sys, "stdin", Terminal(is_there=False))
    command = script(
        tmp_path,
        'echo "{\\"apiVersion\\": \\"client.authentication.k8s.io/v1\\", '
        '\\"status\\": {\\"token\\": \\"$1 $2 $OWN $INHERITED\\"}}"',
    )
    variables = (Variable("OWN", "o"),)
    assert run(command, args=("a", "b c"), env=variables).token == "a b c o i"
    assert received(tmp_path, Cluster(server="https://a:1")) == {
        "apiVersion": V1, "kind": "ExecCredential", "spec": {"interactive": False}
    }  # fmt: skip


def test_a_plugin_receives_the_cluster_if_it_demands_it(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", Terminal(is_there=False))
    (tmp_path / "ca").write_bytes(b"PEM")
    cluster = Cluster(
        server="https://a:1",
        tls_server_name="inner",
        insecure_skip_tls_verify=True,
        certificate_authority=str(tmp_path / "ca"),
        proxy_url="http://p",
        extensions=(
            {"name": "other", "extension": 1},
            {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}},
        ),
    )
    expected = {
        "server": "https://a:1",
        "tls-server-name": "inner",
        "insecure-skip-tls-verify": True,
        "certificate-authority-data": base64.b64encode(b"PEM").decode(),
        "proxy-url": "http://p",
        "config": {"audience": "x"},
    }
    found = received(tmp_path, cluster, provide_cluster_info=True)
    assert found["spec"] == {"interactive": False, "cluster": expected}
    inline = Cluster(certificate_authority_data=b"PEM", certificate_authority="absent")
    found = received(tmp_path, inline, provide_cluster_info=True)
    assert found["spec"]["cluster"] == {
        "certificate-authority-data": expected["certificate-authority-data"]
    }


@pytest.mark.parametrize(
    ("mode", "is_terminal", "is_interactive"),
    [("Never", True, False), ("IfAvailable", True, True), ("IfAvailable", False, False),
     ("Always", True, True)],
)  # fmt: skip
def test_a_plugin_may_use_the_terminal(tmp_path, monkeypatch, mode, is_terminal, is_interactive):
    monkeypatch.setattr(sys, "stdin", Terminal(is_terminal))
    found = received(tmp_path, Cluster(), interactive_mode=mode)
    assert found["spec"]["interactive"] is is_interactive


def test_a_program_without_standard_input_has_no_terminal(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    assert received(tmp_path, Cluster())["spec"]["interactive"] is False


@pytest.mark.parametrize(("mode", "token"), [("Always", "typed"), ("Never", "")])
def test_only_an_interactive_plugin_reads_what_is_typed(tmp_path, monkeypatch, mode, token):
    monkeypatch.setattr(sys, "stdin", Terminal(is_there=True))
    command = script(
        tmp_path,
        'read x\necho "{\\"apiVersion\\": \\"client.authentication.k8s.io/v1\\", '
        '\\"status\\": {\\"token\\": \\"got:$x\\"}}"',
    )
    before, (reader, writer) = os.dup(0), os.pipe()
    os.write(writer, b"typed\n")
    os.close(writer)
    os.dup2(reader, 0)
    try:
        assert run(command, interactive_mode=mode).token == f"got:{token}"
    finally:
        os.dup2(before, 0)
        os.close(before)
        os.close(reader)


def test_a_plugin_that_nobody_waits_for_ends(tmp_path, monkeypatch):
    communicate = asyncio.subprocess.Process.communicate

    async def run_and_cancel() -> None:
        began = asyncio.Queue[int]()

        async def noted(process: asyncio.subprocess.Process) -> Any:
            began.put_nowait(process.pid)
            return await communicate(process)

        monkeypatch.setattr(asyncio.subprocess.Process, "communicate", noted)
        plugin = Exec(command=script(tmp_path, "exec sleep 60"), api_version=V1)
        running = asyncio.create_task(run_plugin(plugin, Cluster()))
        started = await began.get()
        running.cancel()
        await asyncio.wait([running])
        with pytest.raises(ProcessLookupError):
            os.kill(started, 0)

    asyncio.run(asyncio.wait_for(run_and_cancel(), SECONDS_MAX))


def test_what_a_plugin_writes_about_itself_is_shown(tmp_path, capfd):
    with pytest.raises(ConnectionSettingsError) as raised:
        run(script(tmp_path, "echo open https://login >&2; exit 1"))
    assert capfd.readouterr().err == "open https://login\n"
    assert str(raised.value) == f"exec: {tmp_path / 'plugin'} failed with exit code 1"


@pytest.mark.parametrize(
    ("status", "problem"),
    [
        (None, "returned no status"),
        ({}, "returned neither a token nor a certificate"),
        ({"token": ""}, "returned neither a token nor a certificate"),
        ({"clientCertificateData": "c"}, "returned only a certificate or only a key, not both"),
        ({"token": "t", "clientKeyData": "k"}, "returned only a certificate or only a key, not"),
    ],
)
def test_incomplete_credentials_are_named(tmp_path, status, problem):
    with pytest.raises(ConnectionSettingsError) as raised:
        run(replying(tmp_path, status))
    assert str(raised.value).startswith(f"exec: {tmp_path / 'plugin'} {problem}")


@pytest.mark.parametrize(
    ("output", "problem"),
    [
        ("hello", "JSON is malformed: invalid character (byte 0)"),
        ("[]", "Expected `object`, got `array`"),
        ('{"status": {"token": 1}}', "Expected `str`, got `int` - at `$.status.token`"),
    ],
)
def test_output_that_is_something_else_is_named(tmp_path, output, problem):
    with pytest.raises(ConnectionSettingsError) as raised:
        run(script(tmp_path, f"echo '{output}'"))
    assert str(raised.value) == (
        f"exec: the output of {tmp_path / 'plugin'} is not an ExecCredential: {problem}"
    )


def test_another_version_than_that_of_the_kubeconfig_is_named(tmp_path):
    with pytest.raises(ConnectionSettingsError) as raised:
        run(replying(tmp_path, {"token": "t"}, "v2"))
    assert str(raised.value) == (
        f'exec: {tmp_path / "plugin"} returned version "v2", not client.authentication.k8s.io/v1'
    )


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"command": ""}, "exec: the plugin has no command"),
        (
            {"api_version": "client.authentication.k8s.io/v1alpha1"},
            'exec: invalid apiVersion "client.authentication.k8s.io/v1alpha1"; supported: '
            "client.authentication.k8s.io/v1, client.authentication.k8s.io/v1beta1",
        ),
        ({"interactive_mode": "Later"}, 'exec: unknown interactiveMode "Later"'),
        (
            {"interactive_mode": "Always"},
            "exec: the plugin needs a terminal (interactiveMode: Always), and standard input is "
            "none",
        ),
        (
            {},
            "No such file or directory: absent-plugin; install the credential plugin, or correct "
            "the path in the kubeconfig",
        ),
        (
            {"install_hint": "get it\n  from https://x"},
            "No such file or directory: absent-plugin; get it from https://x",
        ),
    ],
)
def test_a_plugin_that_cannot_run_is_named(monkeypatch, fields, message):
    monkeypatch.setattr(sys, "stdin", Terminal(is_there=False))
    with pytest.raises(ConnectionSettingsError) as raised:
        run(**{"command": "absent-plugin", **fields})
    assert str(raised.value) == message
