"""The share of these tests that `make ci` runs, where its binaries are or can be built.

``python -m tests.e2e_real.share [OPTION OF PYTEST...]``

The binaries are those of KUBEBUILDER_ASSETS or of the cache; absent ones are built if there is Go.
Without both, the command says what it leaves out, and succeeds.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.real_parts import binaries

NEEDED: Final = ("kubectl", "kube-apiserver", "etcd", "kube-scheduler")
LEFT_OUT: Final = "left out: the tests with binaries of Kubernetes (tests/e2e_real)"
_VERSION = re.compile(r"v(\d+\.\d+)\.\d+")


def main(arguments: list[str]) -> int:
    """Build what is absent and run the share; return the exit status."""
    _leave_other_versions()
    absent = [name for name in NEEDED if _is_absent(name)]
    if absent and shutil.which("go") is None:
        print(f"{LEFT_OUT}: there is no {', '.join(absent)}, and no Go on PATH to build them")
        return 0
    status = binaries.main(list(NEEDED))
    if status:
        return status
    command = [sys.executable, "-m", "pytest", "-m", "e2e and share", *arguments]
    return subprocess.run([*command, str(Path(__file__).parent)], check=False).returncode


def _is_absent(name: str) -> bool:
    try:
        binaries.find(name)
    except binaries.AbsentBinaryError:
        return True
    return False


def _leave_other_versions() -> None:
    """Ignore KUBEBUILDER_ASSETS if it has another minor version, whose answers differ."""
    assets = os.environ.get(binaries.ASSETS)
    if not assets:
        return
    server = Path(assets) / "kube-apiserver"
    if not server.is_file():
        return
    printed = subprocess.run([server, "--version"], capture_output=True, text=True, check=False)
    found = _VERSION.search(printed.stdout)
    if found is None or found[1] != binaries.VERSION.rpartition(".")[0]:
        version = found[0] if found else "an unknown version"
        print(f"{binaries.ASSETS} has {version}, not {binaries.VERSION}: it is not used")
        del os.environ[binaries.ASSETS]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
