"""One function of upstream's tests of kubectl after the other, on a cluster.

Upstream: test/cmd/legacy-script.sh, hack/make-rules/test-cmd.sh
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
import yaml
from tests.real_parts.binaries import KUBERNETES, find, module_folder

BETWEEN: Final = "between"
"""The name of the tests that are in no function."""

SECONDS_MAX: Final = 600
_SCRIPT: Final = Path(__file__).with_name("function.sh")
_FOLDERS: Final = (
    "hack", "test/cmd", "test/fixtures", "test/e2e/testing-manifests",
    "third_party/forked/shell2junit",
)  # fmt: skip
_ALL: Final = "legacy-script.sh"
_TOKEN: Final = "admin-token"
_EDITOR: Final = re.compile(r"/\w+/tmp-editor\.sh")
_RECORDED: Final = re.compile(r"^ *record_command (run_\w+)$", re.MULTILINE)
_PASSED: Final = re.compile(r"Successful|^matched ", re.MULTILINE)
_NODE: Final = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "127.0.0.1", "annotations": {"save-managers": "true"}},
    "status": {"capacity": {"memory": "1Gi"}},
}
_EVERYBODY: Final = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRoleBinding",
    "metadata": {"name": "always-allow"},
    "roleRef": {
        "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"
    },
    "subjects": [
        {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:authenticated"}
    ],
}  # fmt: skip
"""Upstream's own set-up of these tests authorizes all requests."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a function found on a cluster.

    Attributes
    ----------
    passed_count : int
        How many assertions passed.
    failed : frozenset of str
        The file and the line of each command that failed.
    """

    passed_count: int
    failed: frozenset[str]


class Suite:
    """Upstream's tests, in a copy for one cluster.

    Parameters
    ----------
    folder : Path
        A new folder; the output of each function is there afterwards.
    kubeconfig : Path
        The administrator of the cluster, whose server has an HTTPS address.

    Raises
    ------
    AbsentBinaryError
        If there is no kubectl, or no Go, which knows the folder of the module.
    """

    def __init__(self, folder: Path, kubeconfig: Path) -> None:
        self.root = folder / "kubernetes"
        self._folder = folder
        self._home = folder / "home"
        self._home.mkdir(parents=True)
        source = module_folder(KUBERNETES)
        config = yaml.safe_load(kubeconfig.read_text())
        self._port = config["clusters"][0]["cluster"]["server"].rpartition(":")[2]
        token = config["users"][0]["user"]["token"]
        for name in _FOLDERS:
            shutil.copytree(source / name, self.root / name, copy_function=shutil.copyfile)
        for script in (self.root / "test/cmd").glob("*.sh"):
            text = script.read_text().replace(_TOKEN, token)
            # The runs are side by side.
            text = _EDITOR.sub(f"{self._home}/editor.sh", text)
            # Upstream's server has no anonymous users, since it authorizes all requests.
            text = text.replace('=~ "Unauthorized"', "=~ Unauthorized|system:anonymous")
            if script.name != _ALL:  # which checks that a failed command ends a function
                text = text.replace("set -o errexit", "errexit=on")
                text = text.replace("set +o errexit", "errexit=off")
            script.write_text(text)
        self._bin = self.root / "_output" / "bin"
        self._bin.mkdir(parents=True)
        shutil.copy(find("kubectl"), self._bin)
        _make_executable(self.root / "test/fixtures/pkg/kubectl/plugins")
        # What upstream's server leaves in the temporary folder, and some tests read.
        shutil.copyfile(self.root / "hack/testdata/ca/ca.crt", self._home / "apiserver.crt")
        for words in (
            ("set-credentials", "test-admin", "--token", token),
            ("set-cluster", "local", "--insecure-skip-tls-verify",
             "--server", f"https://127.0.0.1:{self._port}"),
            ("set-context", "test", "--user", "test-admin", "--cluster", "local"),
            ("use-context", "test"),
        ):  # fmt: skip
            self._kubectl("config", *words)
        for document in (_NODE, _EVERYBODY):
            self._kubectl("create", "-f", "-", stdin=msgspec.json.encode(document))

    def names(self) -> list[str]:
        """Return the functions in upstream's order."""
        text = (self.root / "test/cmd" / _ALL).read_text()
        return [*dict.fromkeys(_RECORDED.findall(text.partition("runTests()")[2])), BETWEEN]

    def run(self, name: str) -> Outcome:
        """Run a function; what it leaves in the cluster is there for the next."""
        log, failed = self._folder / f"{name}.log", self._folder / f"{name}.failed"
        with log.open("wb") as output, failed.open("wb") as places:
            started = subprocess.Popen(
                ["bash", "-c", 'exec bash "$0" "$1" 3>&"$2"', _SCRIPT, name, str(places.fileno())],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=self._environment(),
                pass_fds=[places.fileno()], start_new_session=True,
            )  # fmt: skip
            try:
                if started.wait(SECONDS_MAX):
                    places.write(f"exit status {started.returncode}\n".encode())
            except subprocess.TimeoutExpired:
                places.write(f"more than {SECONDS_MAX} s\n".encode())
            finally:
                # A function may leave a proxy behind.
                with suppress(ProcessLookupError):
                    os.killpg(started.pid, 9)
                started.wait()
        passed = len(_PASSED.findall(log.read_text(errors="replace")))
        return Outcome(passed_count=passed, failed=frozenset(failed.read_text().splitlines()))

    def _environment(self) -> dict[str, str]:
        return os.environ | {
            "HOME": str(self._home),
            "TMPDIR": str(self._home),
            "PATH": f"{self._bin}:{os.environ['PATH']}",
            "ROOT": str(self.root),
            "SECURE_API_PORT": self._port,
            "KUBECONFIG": str(self._home / ".kube" / "config"),
            "TERM": "xterm",
            "LANG": "C",
        }

    def _kubectl(self, *arguments: str, stdin: bytes = b"") -> None:
        subprocess.run(
            [find("kubectl"), *arguments], env=self._environment(), input=stdin, check=True
        )


def _make_executable(folder: Path) -> None:
    for path in folder.rglob("*"):
        path.chmod(0o755)


def differences(
    here: Outcome, upstream: Outcome, known: Iterable[str]
) -> Iterator[tuple[str, str]]:
    """Yield the places that fail on one side only, and are not known, with the side."""
    for place in sorted((here.failed ^ upstream.failed) - {*known}):
        yield place, "here" if place in here.failed else "upstream"
