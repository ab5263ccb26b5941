"""The session of kubectl commands, run on one cluster, and its outputs without what varies."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
from tests.e2e_real.cluster_processes import kubectl

HERE = Path(__file__).parent
SESSION = "kubectl_session.txt"
PODS_SESSION = "kubectl_pods_session.txt"
MORE_SESSION = "kubectl_more_session.txt"
_SECONDS_MAX = 120
_VARYING = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "<uid>"),
    (re.compile(r"https?://127\.0\.0\.1:\d+"), "<address>"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "<time>"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ \+0000"), "<time>"),
    # An object that is printed in a message has its managedFields.
    (re.compile(r'Invalid value: "\{.*\}":'), "Invalid value: <object>:"),
    (re.compile(r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \S+ \S+"), "<time>"),
    (re.compile(r"-[0-9a-f]{7,10}-[bcdfghjklmnpqrstvwxz2456789]{5}\b"), "-<hash>-<name>"),
    (re.compile(r"\b(applied|once|web)-[0-9a-f]{7,10}\b"), r"\1-<hash>"),
    (re.compile(r"\b(once|agent)-[bcdfghjklmnpqrstvwxz2456789]{5}\b"), r"\1-<name>"),
    (re.compile(r"\b(kube-api-access|debugger)-\w{5}\b"), r"\1-<name>"),
    (re.compile(r"\bdb-[0-9a-f]{8,10}\b"), "db-<hash>"),
    (re.compile(r"controller-revision-hash=[^,\s]+"), "controller-revision-hash=<hash>"),
    (re.compile(r"^Waiting for .*\n", re.MULTILINE), ""),
    (re.compile(r"\bvm_<uid>"), "<kwok>"),
    (re.compile(r"pod-template-hash=\w+"), "pod-template-hash=<hash>"),
    (re.compile(r"\b10\.\d+\.\d+\.\d+\b"), "<ip>"),
    (re.compile(r":3[0-2]\d\d\d/"), ":<port>/"),
    (re.compile(r'resourceVersion: "\d+"'), "resourceVersion: <version>"),
    (re.compile(r'"resourceVersion": "\d+"'), '"resourceVersion": <version>'),
    (re.compile(r"\b(\d+[smhd]){1,2}\b"), "<age>"),
    (re.compile(r"/tmp/\S+"), "<file>"),
    (re.compile(r"[ \t]+"), " "),
)

_FIELD = re.compile(r"^(GROUP|KIND|VERSION|FIELDS?|error):| <\S+>|<\S+>$")
"""The lines of `kubectl explain` that are not descriptions, which are our own."""


class Output(msgspec.Struct, frozen=True):
    """What a command printed, without what varies.

    Attributes
    ----------
    command : str
    status : int
        The exit status.
    lines : list of str
        Sorted, since names that are drawn change the order.
    """

    command: str
    status: int
    lines: list[str]


def commands(session: str = SESSION) -> list[str]:
    """Return the commands of a session."""
    lines = (HERE / session).read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def run_session(kubeconfig: Path, lines: list[str]) -> Iterator[Output]:
    """Run commands of the session on a cluster."""
    for line in lines:
        repeats, command = line.startswith("~ "), line.removeprefix("~ ")
        deadline = time.monotonic() + _SECONDS_MAX
        while True:
            result = kubectl(kubeconfig, *arguments_of(command), cwd=HERE)
            if result.returncode == 0 or not repeats or time.monotonic() > deadline:
                break
            time.sleep(0.2)
        lines = plain(result.stdout + result.stderr)
        if command.startswith("explain "):
            lines = [line for line in lines if _FIELD.search(line)]
        yield Output(command, result.returncode, lines)


def arguments_of(command: str) -> list[str]:
    """Return the arguments of a command; braces and brackets need no quotation marks."""
    if "--schedule=" in command:
        head, _, rest = command.partition(" --schedule=")
        schedule, _, tail = rest.partition(" -- ")
        return [*head.split(), f"--schedule={schedule}", "--", *tail.split()]
    if " -p " in command or "{" in command:
        return command.split(" ")
    return shlex.split(command)


def plain(text: str) -> list[str]:
    """Return lines of output without what varies."""
    for pattern, mark in _VARYING:
        text = pattern.sub(mark, text)
    return sorted(line.strip() for line in text.splitlines() if line.strip())
