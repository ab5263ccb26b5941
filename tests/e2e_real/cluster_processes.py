"""The processes of two clusters: `podwright up`, and upstream's control plane."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import yaml
from tests.real_parts.binaries import find, kwok_stages
from tests.real_parts.control_plane import running
from tests.waiting import until

ADDRESS = re.compile(r"at (http\S+)\n")
START_SECONDS_MAX = 120
KUBECTL_SECONDS_MAX = 600
"""More than any wait of kubectl itself; a thousand pods take it a while on a busy computer."""


@contextmanager
def process(*command: str | Path, folder: Path, name: str) -> Iterator[Path]:
    """Run a process for the time of a block; yields the file of its output."""
    log = folder / f"{name}.log"
    with log.open("wb") as output:
        started = subprocess.Popen([*map(str, command)], cwd=folder, stdout=output, stderr=output)
    try:
        yield log
    finally:
        started.terminate()
        try:
            started.wait(30)
        except subprocess.TimeoutExpired:
            started.kill()
            started.wait()


@contextmanager
def embedded(folder: Path, *options: str, has_page: bool = False) -> Iterator[Path]:
    """Run `podwright up` for the time of a block; yields its kubeconfig."""
    folder.mkdir(parents=True, exist_ok=True)
    kubeconfig = folder / "kubeconfig"
    serving = [*(("--ui-port", "0") if has_page else ("--no-ui",))]
    if "--port" not in options:
        serving += ["--port", "0"]
    command = (Path(sys.executable).with_name("podwright"), "up", *serving)
    with process(*command, "--kubeconfig", kubeconfig, *options, folder=folder, name="up") as log:
        until(
            lambda: ADDRESS.search(log.read_text()),
            START_SECONDS_MAX,
            pause_seconds=0.05,
            describe=log.read_text,
        )
        yield kubeconfig


@contextmanager
def upstream(
    folder: Path,
    *,
    controllers: str | None = "*",
    has_scheduler: bool = True,
    has_service_accounts: bool = False,
    flags: Sequence[str] = (),
    manager_flags: Sequence[str] = (),
) -> Iterator[Path]:
    """Run upstream's control plane for the time of a block; yields its kubeconfig.

    Parameters
    ----------
    controllers : str, optional
        Those of kube-controller-manager, which does not run without them.
    has_service_accounts : bool
        Whether admission gives pods their service account.
    flags : sequence of str
        Further flags of kube-apiserver.
    manager_flags : sequence of str
        Further flags of kube-controller-manager.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with running(*flags, has_service_accounts=has_service_accounts) as plane:
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text(yaml.safe_dump(kubeconfig_of(plane.address)))
        with ExitStack() as stack:
            if controllers is not None:
                stack.enter_context(
                    controller_manager(folder, kubeconfig, controllers, manager_flags)
                )
            if has_scheduler:
                stack.enter_context(scheduler(folder, kubeconfig))
            yield kubeconfig


@contextmanager
def controller_manager(
    folder: Path, kubeconfig: Path, controllers: str = "*", flags: Sequence[str] = ()
) -> Iterator[Path]:
    """Run kube-controller-manager for the time of a block."""
    with process(
        find("kube-controller-manager"),
        f"--kubeconfig={kubeconfig}",
        "--leader-elect=false",
        "--secure-port=0",
        f"--controllers={controllers}",
        # No kubelet renews the leases of these nodes.
        "--node-monitor-grace-period=3600s",
        "--node-startup-grace-period=3600s",
        *flags,
        folder=folder,
        name="kube-controller-manager",
    ) as log:
        yield log


@contextmanager
def scheduler(
    folder: Path,
    kubeconfig: Path,
    *,
    config: Path | None = None,
    verbosity: int = 0,
    binary: str = "kube-scheduler",
) -> Iterator[Path]:
    """Run kube-scheduler for the time of a block; yields its log.

    Parameters
    ----------
    config : Path, optional
        Its configuration, which also has the kubeconfig; default: the default configuration.
    verbosity : int
        That of its log.
    binary : str
        The name of another build of it.
    """
    options = (
        f"--kubeconfig={kubeconfig}",
        "--leader-elect=false",
        "--kube-api-qps=1000",
        "--kube-api-burst=2000",
    )
    with process(
        find(binary),
        *(options if config is None else (f"--config={config}",)),
        "--secure-port=0",
        f"-v={verbosity}",
        folder=folder,
        name="kube-scheduler",
    ) as log:
        yield log


@contextmanager
def kwok(folder: Path, kubeconfig: Path) -> Iterator[Path]:
    """Run kwok, which simulates the kubelets of all nodes, for the time of a block."""
    with process(
        find("kwok"),
        f"--kubeconfig={kubeconfig}",
        "--manage-all-nodes",
        *(f"--config={path}" for path in kwok_stages()),
        "--node-lease-duration-seconds=40",
        folder=folder,
        name="kwok",
    ) as log:
        yield log


def kubectl(
    kubeconfig: Path, *arguments: str, cwd: Path | None = None, stdin: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run kubectl."""
    # Its cache of discovery is per HOME.
    environment = os.environ | {"HOME": str(kubeconfig.parent), "KUBECONFIG": str(kubeconfig)}
    return subprocess.run(
        [str(find("kubectl")), *arguments],
        cwd=cwd,
        env=environment,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=KUBECTL_SECONDS_MAX,
        check=False,
    )


def kubeconfig_of(address: str) -> dict[str, object]:
    """Return the kubeconfig of an administrator of upstream's control plane."""
    cluster = {"server": address, "insecure-skip-tls-verify": True}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "upstream", "cluster": cluster}],
        "users": [{"name": "admin", "user": {"token": "admin-token"}}],
        "contexts": [{"name": "c", "context": {"cluster": "upstream", "user": "admin"}}],
        "current-context": "c",
    }
