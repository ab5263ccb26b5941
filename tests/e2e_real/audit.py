"""kube-apiserver with an audit log: what each service account has requested."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from tests.e2e_real.cluster_processes import kubectl, upstream

POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata", "userGroups": ["system:serviceaccounts"]}, {"level": "None"}],
}
Right = tuple[str, str, str]
"""API group, resource with its subresource, verb."""


@contextmanager
def audited(folder: Path, *flags: str) -> Iterator[tuple[Path, Path]]:
    """Run kube-apiserver; yields a kubeconfig, and the log of requests.

    It has no watch lists, as earlier versions have none: with them, clients do not list.
    """
    policy, log = folder / "audit-policy.yaml", folder / "audit.log"
    policy.write_text(yaml.safe_dump(POLICY))
    all_flags = (
        f"--audit-policy-file={policy}", f"--audit-log-path={log}",
        "--feature-gates=WatchList=false", *flags,
    )  # fmt: skip
    with upstream(
        folder / "real", controllers=None, has_scheduler=False, flags=all_flags
    ) as cluster:
        yield cluster, log


def own_kubeconfig(cluster: Path, folder: Path, account: str, *, server: str = "") -> Path:
    """Write a kubeconfig with the token of a service account."""
    made = kubectl(cluster, "create", "token", account, "-n", "kube-system")
    assert made.returncode == 0, made.stderr
    document = yaml.safe_load(cluster.read_text())
    document["users"][0]["user"] = {"token": made.stdout.strip()}
    if server:
        document["clusters"][0]["cluster"] = {"server": server}
    path = folder / f"{account}.kubeconfig"
    path.write_text(yaml.safe_dump(document))
    return path


class Requests:
    """What one service account has requested.

    Parameters
    ----------
    log : Path
        The audit log.
    account : str
    """

    def __init__(self, log: Path, account: str) -> None:
        self._log = log
        self._user = f"system:serviceaccount:kube-system:{account}"

    def rejected(self) -> list[str]:
        """Return the requests for which there is no right."""
        return [
            f"{each['verb']} {each['requestURI']}"
            for each in self._entries()
            if each.get("responseStatus", {}).get("code") == 403
            and "denied request" not in each.get("responseStatus", {}).get("message", "")
        ]

    def rights(self) -> set[Right]:
        """Return the rights that the requests need."""
        found = set()
        for each in self._entries():
            target = each.get("objectRef")
            if target is None:
                continue
            resource = "/".join(filter(None, (target["resource"], target.get("subresource"))))
            found.add((target.get("apiGroup", ""), resource, each["verb"]))
            if resource == "resourceclaims/status":
                # Upstream's strategy of claims checks it within the request.
                found.add(("resource.k8s.io", "resourceclaims/binding", each["verb"]))
        return found

    def bindings(self) -> list[tuple[str, int]]:
        """Return the pod and the status of each request to bind one."""
        return [
            (each["objectRef"]["name"], each["responseStatus"]["code"])
            for each in self._entries()
            if each.get("objectRef", {}).get("subresource") == "binding"
        ]

    def _entries(self) -> Iterator[dict[str, Any]]:
        for line in self._log.read_text().splitlines():
            if line.endswith("}"):
                entry = json.loads(line)
                if entry["user"]["username"] == self._user:
                    yield entry
