"""Builds cluster-autoscaler with the kwok provider into the cache of real parts.

The module `apis` that its version needs is on no proxy. An older one is, which has the same types
as `v1beta1` in place of `v1` and lacks two names: it is renamed, and they are added.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from tests.real_parts.binaries import cache_folder

MODULE: Final = "k8s.io/autoscaler/cluster-autoscaler"
VERSION: Final = "v0.0.0-20250613073258-1959f5f61f6c"
APIS: Final = "v0.0.0-20240627115740-d52e4b9665d7"
_TYPES: Final = "provisioningrequest/autoscaling.x-k8s.io/v1/types.go"
_ADDED: Final = """
const (
	ProvisioningRequestPodAnnotationKey = "autoscaling.x-k8s.io/consume-provisioning-request"
	ProvisioningClassPodAnnotationKey   = "autoscaling.x-k8s.io/provisioning-class-name"
)
"""


def built() -> Path:
    """Return the path of the binary, which is built if it is not in the cache."""
    binary = cache_folder().parent / f"cluster-autoscaler-{VERSION}" / "cluster-autoscaler"
    if not binary.is_file():
        print("cluster-autoscaler: building", flush=True)
        binary.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "cluster-autoscaler"
            _copy(f"{MODULE}@{VERSION}", folder)
            _copy(f"{MODULE}/apis@{APIS}", folder / "apis")
            _rename(folder / "apis")
            unfinished = binary.with_name(f".{os.getpid()}")
            _go("build", "-tags", "kwok", "-o", str(unfinished), ".", folder=folder)
            unfinished.rename(binary)
    return binary


def _go(*arguments: str, folder: Path) -> str:
    environment = {**os.environ, "GONOSUMDB": f"{MODULE},{MODULE}/apis", "GOFLAGS": "-mod=mod"}
    done = subprocess.run(
        ["go", *arguments], cwd=folder, env=environment, stdout=subprocess.PIPE, check=True
    )
    return done.stdout.decode()


def _copy(module: str, folder: Path) -> None:
    """Copy the sources of a module, writable."""
    folder.mkdir(exist_ok=True)
    source = json.loads(_go("mod", "download", "-json", module, folder=folder.parent))["Dir"]
    shutil.copytree(source, folder, dirs_exist_ok=True, copy_function=shutil.copyfile)
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def _rename(apis: Path) -> None:
    """Rename v1beta1 to v1: the files, the packages and their imports."""
    for path in sorted(apis.rglob("*v1beta1*"), key=lambda path: -len(path.parts)):
        path.rename(path.with_name(path.name.replace("v1beta1", "v1")))
    for path in (apis / "provisioningrequest").rglob("*.go"):
        text = path.read_text(encoding="utf-8").replace("V1beta1", "V1")
        text = re.sub(r'/v1beta1([/"])', r"/v1\1", text)
        text = re.sub(r"^package v1beta1", "package v1", text, flags=re.MULTILINE)
        text = re.sub(r'Version: *"v1beta1"', 'Version: "v1"', text)
        path.write_text(text, encoding="utf-8")
    types = apis / _TYPES
    types.write_text(types.read_text(encoding="utf-8") + _ADDED, encoding="utf-8")
