"""Where the binaries of Kubernetes and etcd are: ``python -m tests.real_parts.binaries``.

The binaries are those of KUBEBUILDER_ASSETS when it is set; otherwise `build` compiles them from
the modules that go.mod beside this file names, into a cache outside the tree.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

MODULE: Final = Path(__file__).parent
KUBERNETES: Final = "k8s.io/kubernetes"
VERSION: Final = "1.36.0"
SERVERS: Final = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kubectl": "k8s.io/kubernetes/cmd/kubectl",
    "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
}
"""The packages of the binaries that the tests use."""

E2E: Final = {"e2e.test": "k8s.io/kubernetes/test/e2e"}
"""Upstream's end-to-end suite, a test binary."""

KWOK: Final = {"kwok": "sigs.k8s.io/kwok/cmd/kwok"}
"""The binary of kwok, which has a go.mod of its own, in the folder `kwok`."""

HELM: Final = {"helm": "helm.sh/helm/v3/cmd/helm"}
"""The binary of Helm, which has a go.mod of its own, in the folder `helm`."""

DECISIONS: Final = {"decisions": "podwright.example/tests/real_parts/decisions"}
"""The program in the folder `decisions`, whose go.mod has the version that made the vectors."""

WITH_PLUGIN: Final = {
    "scheduler-with-plugin": "podwright.example/tests/real_parts/plugin_scheduler"
}
"""kube-scheduler with a plugin that is not in its tree, in the folder `plugin_scheduler`."""

ALL: Final = SERVERS | WITH_PLUGIN | E2E | KWOK | HELM | DECISIONS
ASSETS: Final = "KUBEBUILDER_ASSETS"
_VERSION_PACKAGE = "k8s.io/component-base/version"
_JSON_V2_BY_DEFAULT = (1, 27)
"""The first version of Go whose encoding/json is version 2, with other messages."""


class AbsentBinaryError(Exception):
    """A binary is neither in KUBEBUILDER_ASSETS nor in the cache."""


def cache_folder(name: str = "kube-apiserver") -> Path:
    """Return the folder of a built binary; it depends on the versions of the modules, and on
    the sources that are in this repository."""
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    module = _module_of(name)
    folder = MODULE / "plugin_scheduler" if name in WITH_PLUGIN else module
    sources = sorted(folder.glob("*.go")) if name in DECISIONS | WITH_PLUGIN else []
    read = b"".join(path.read_bytes() for path in [module / "go.sum", *sources])
    sums = hashlib.sha256(read).hexdigest()[:12]
    return root / "podwright" / "real-parts" / f"{VERSION}-{sums}"


def find(name: str) -> Path:
    """Return the path of a binary.

    Raises
    ------
    AbsentBinaryError
        If it is neither in KUBEBUILDER_ASSETS nor in the cache.
    """
    assets = os.environ.get(ASSETS)
    folders = [Path(assets)] if assets else []
    folders.append(cache_folder(name))
    for folder in folders:
        if (folder / name).is_file():
            return folder / name
    raise AbsentBinaryError(
        f"{name} is not in {' or '.join(map(str, folders))}: run `make real-parts`, "
        f"or set {ASSETS} to a folder that has it"
    )


def module_folder(name: str, folder: Path = MODULE) -> Path:
    """Return the folder of a Go module, which is downloaded if it is not in the cache.

    Parameters
    ----------
    name : str
        The module, with `@` and a version or in the version of the go.mod.
    folder : Path
        Where the go.mod is.

    Raises
    ------
    AbsentBinaryError
        If there is no Go, or no such module.
    """
    command = ["go", "mod", "download", "-json", name]
    try:
        found = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    except FileNotFoundError as error:
        raise AbsentBinaryError(f"the files of {name} need Go on PATH") from error
    except subprocess.CalledProcessError as error:
        raise AbsentBinaryError(f"the files of {name}: {error.stdout}{error.stderr}") from error
    return Path(json.loads(found.stdout)["Dir"])


def kwok_stages() -> list[Path]:
    """Return the files of kwok's fast stages, which its module has; raises as `kwok_files`."""
    folders = ("node/fast", "node/heartbeat-with-lease", "pod/fast")
    return [path for folder in folders for path in kwok_files(f"stage/{folder}")]


def kwok_files(folder: str) -> list[Path]:
    """Return the manifests of a folder of kwok's kustomizations.

    Raises
    ------
    AbsentBinaryError
        If there is no Go, which knows the folder of the module.
    """
    module = module_folder("sigs.k8s.io/kwok", MODULE / "kwok")
    found = (module / "kustomize" / folder).glob("*.yaml")
    return sorted(path for path in found if path.name != "kustomization.yaml")


def build(names: list[str]) -> None:
    """Build the binaries that are not there yet, and print the time that each needs."""
    for name in names:
        try:
            print(f"{name}: {find(name)}")
            continue
        except AbsentBinaryError:
            pass
        print(f"{name}: building", flush=True)
        folder = cache_folder(name)
        folder.mkdir(parents=True, exist_ok=True)
        before, began = _cpu_seconds(), time.monotonic()
        # A name that only a finished build gets: an interrupted one leaves nothing behind.
        unfinished = folder / f".{name}.{os.getpid()}"
        subprocess.run(
            _command(name, unfinished), cwd=_module_of(name), env=_environment(), check=True
        )
        unfinished.rename(folder / name)
        cpu, wall = _cpu_seconds() - before, time.monotonic() - began
        print(f"{name}: {folder / name} ({wall:.0f} s, {cpu:.0f} s of CPU)", flush=True)


def _module_of(name: str) -> Path:
    if name in DECISIONS | KWOK | HELM:
        return MODULE / name
    return MODULE


def _command(name: str, output: Path) -> list[str]:
    major, minor, _ = VERSION.split(".")
    values = {"gitVersion": f"v{VERSION}", "gitMajor": major, "gitMinor": minor}
    flags = ["-s", "-w", *(f"-X {_VERSION_PACKAGE}.{key}={each}" for key, each in values.items())]
    build_or_test = ["test", "-c"] if name in E2E else ["build"]
    return ["go", *build_or_test, "-trimpath", "-ldflags", " ".join(flags), "-o", str(output),
            ALL[name]]  # fmt: skip


def _environment() -> dict[str, str]:
    environment = {**os.environ, "CGO_ENABLED": "0"}
    environment["GOFLAGS"] = f"{environment.get('GOFLAGS', '')} -buildvcs=false -mod=readonly"
    version = subprocess.run(["go", "env", "GOVERSION"], capture_output=True, text=True, check=True)
    found = re.match(r"go(\d+)\.(\d+)", version.stdout)
    if found and (int(found[1]), int(found[2])) >= _JSON_V2_BY_DEFAULT:
        environment["GOEXPERIMENT"] = "nojsonv2"
    return environment


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main(arguments: list[str] | None = None) -> int:
    """Build binaries; exit status 2 for an unknown name, 3 if Go is absent or a build fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.real_parts.binaries")
    parser.add_argument(
        "names",
        nargs="*",
        choices=[[], *ALL],
        help="default: all but e2e.test, kwok, helm, decisions",
    )
    names = parser.parse_args(arguments).names or [*SERVERS, *WITH_PLUGIN, *HELM]
    try:
        build(names)
    except FileNotFoundError:
        print("No go on PATH: install Go 1.26 or newer, or set " + ASSETS, file=sys.stderr)
        return 3
    except subprocess.CalledProcessError as error:
        print(f"The build failed with exit status {error.returncode}.", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
