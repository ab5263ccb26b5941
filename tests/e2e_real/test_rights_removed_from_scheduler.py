"""Without one of the rights in `deploy/scheduler`, something fails and names the right."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import msgspec
import pytest
import yaml
from tests.e2e_real.audit import Requests, Right, audited, own_kubeconfig
from tests.e2e_real.cluster_processes import kubectl
from tests.e2e_real.test_removed_rules import rights_in_force
from tests.e2e_real.test_rights import (
    DEPLOY,
    GROUP_FLAGS,
    GROUP_KIND,
    denial,
    devices,
    is_denied,
    obj,
    ours,
    podwright,
    storage_class,
    volume,
    volume_claim,
    with_groups,
)
from tests.e2e_real.test_sync import add_nodes, apply, running
from tests.waiting import until

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

ROLE, _ = yaml.safe_load_all((DEPLOY / "scheduler" / "cluster-role.yaml").read_text())
ACCOUNT = "podwright-scheduler"
READS = ("list", "watch")
CLAIMS = "resource.k8s.io"
GROUPS_OF_PODS = ("scheduling.k8s.io", "scheduling.x-k8s.io")
REQUIRED = (
    ("", "namespaces"),
    ("scheduling.k8s.io", "priorityclasses"),
    ("storage.k8s.io", "storageclasses"),
    ("", "persistentvolumeclaims"),
    ("", "nodes"),
    ("", "persistentvolumes"),
    *((group, "podgroups") for group in GROUPS_OF_PODS),
    ("", "pods"),
)
"""What the scheduler does not start without; it says what else it does not follow."""
PLACED = ("placed-0", "placed-1")
FAILED = "FailedScheduling"
_LACKS = re.compile(r'cannot (\w+) resource "([\w/]+)" in API group "([\w.-]*)"')


def rights_by_rule() -> Iterator[tuple[Right, Sequence[str]]]:
    """Yield each right of the role with the names to which it is restricted."""
    for rule in ROLE["rules"]:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                for verb in rule["verbs"]:
                    yield (group, resource, verb), rule.get("resourceNames", ())


def role_without(*removed: Right) -> object:
    """Return the role without some rights."""
    rules = [
        {
            "apiGroups": [group],
            "resources": [resource],
            "verbs": [verb],
            **({"resourceNames": names} if names else {}),
        }
        for (group, resource, verb), names in rights_by_rule()
        if (group, resource, verb) not in removed
    ]
    return {**ROLE, "rules": rules}


ALL = {right for right, _ in rights_by_rule()}
OPTIONAL = sorted(right for right in ALL if right[2] in READS and right[:2] not in REQUIRED)


class Cluster(msgspec.Struct):
    """kube-apiserver with what the scheduler schedules there, and what its account requests."""

    admin: Path
    own: Path
    requests: Requests


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cluster")
    with audited(folder, *GROUP_FLAGS) as (admin, log):
        applied = kubectl(admin, "apply", "-k", str(DEPLOY / "scheduler"))
        assert applied.returncode == 0, applied.stderr
        classes = (
            storage_class("local", "kubernetes.io/no-provisioner"),
            storage_class("made", "example.com/provisioner"),
        )
        apply(admin, GROUP_KIND, *denial(), *classes, *devices())
        add_nodes(admin)
        for name in ("n0", "n3"):
            kubectl(admin, "label", "node", name, f"kubernetes.io/hostname={name}")
        until(lambda: is_denied(admin))
        yield Cluster(admin, own_kubeconfig(admin, folder, ACCOUNT), Requests(log, ACCOUNT))


@contextmanager
def without(cluster: Cluster, *removed: Right) -> Iterator[None]:
    """Take rights from the account for the time of a block; no Lease and no pods are there."""
    kubectl(cluster.admin, "delete", "lease", ACCOUNT, "-n", "kube-system")
    whole = rights_in_force(cluster.admin, ACCOUNT)
    apply(cluster.admin, role_without(*removed))
    try:
        until(lambda: rights_in_force(cluster.admin, ACCOUNT) != whole)
        yield
    finally:
        apply(cluster.admin, ROLE)
        until(lambda: rights_in_force(cluster.admin, ACCOUNT) == whole)
        kubectl(cluster.admin, "delete", "pods", "--all", "--force", "--grace-period=0")


def lacking(text: str) -> set[Right]:
    """Return the rights that an output names as absent."""
    return {(group, resource, verb) for verb, resource, group in _LACKS.findall(text)}


def selected(hostname: str) -> dict[str, object]:
    return {"nodeSelector": {"kubernetes.io/hostname": hostname}}


def fits(_: Path) -> Iterator[object]:
    yield ours("web")


def fits_nowhere(_: Path) -> Iterator[object]:
    yield ours("big", cpu="100")


def fails_again(admin: Path) -> Iterator[object]:
    """Yield a pod that is tried again, with the same result: its Event becomes a series."""
    apply(admin, *(ours(name, nodeName="n0") for name in PLACED))
    yield ours("again", cpu="100")


def preempts(admin: Path) -> Iterator[object]:
    apply(admin, ours("filler", cpu="8", nodeName="n3"))
    high = {"priorityClassName": ACCOUNT, "priority": 1_000_000_000}
    yield ours("high", cpu="7", **selected("n3"), **high)


def claims_volume(admin: Path) -> Iterator[object]:
    on_node = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["n0"]}
    local = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "local",
        "local": {"path": "/v"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [on_node]}]}},
    }
    apply(admin, obj("v1", "PersistentVolume", "local-0", spec=local))
    # No controller of volumes runs.
    available = json.dumps({"status": {"phase": "Available"}})
    kubectl(admin, "patch", "pv", "local-0", "--subresource=status", "-p", available)
    yield volume_claim("stays", "local")
    yield ours("local", volumes=[volume("stays")])


def needs_provisioning(_: Path) -> Iterator[object]:
    yield volume_claim("is-made", "made")
    yield ours("provisioned", volumes=[volume("is-made")])


def claims_device(_: Path) -> Iterator[object]:
    yield ours("device", claims=["device"])


def is_denied_with_device(_: Path) -> Iterator[object]:
    yield ours("denied-device", claims=["denied-device"])


def is_denied_with_extended_resource(_: Path) -> Iterator[object]:
    """Yield a pod for which a claim is made, which goes when the binding is denied."""
    yield ours("denied-extended", limits={"example.com/gpu": "1"})


def is_gang(admin: Path) -> Iterator[object]:
    spec = {"schedulingPolicy": {"gang": {"minCount": 2}}}
    apply(admin, obj("scheduling.k8s.io/v1alpha2", "PodGroup", "gang", spec=spec))
    member = {"schedulingGroup": {"podGroupName": "gang"}}
    for number in range(2):
        yield ours(f"gang-{number}", cpu="100", **member)


def needs_lease(admin: Path) -> Iterator[object]:
    lease = obj("coordination.k8s.io/v1", "Lease", ACCOUNT, spec={"holderIdentity": ""})
    lease["metadata"]["namespace"] = "kube-system"
    apply(admin, lease)
    yield from fits(admin)


NEEDED: dict[Right, Callable[[Path], Iterator[object]]] = {
    ("", "pods", "delete"): preempts,
    ("", "pods/binding", "create"): fits,
    ("", "pods/status", "patch"): fits_nowhere,
    ("", "persistentvolumes", "update"): claims_volume,
    ("", "persistentvolumeclaims", "update"): needs_provisioning,
    (CLAIMS, "resourceclaims", "create"): is_denied_with_extended_resource,
    (CLAIMS, "resourceclaims", "get"): is_denied_with_extended_resource,
    (CLAIMS, "resourceclaims", "update"): is_denied_with_extended_resource,
    (CLAIMS, "resourceclaims", "delete"): is_denied_with_extended_resource,
    (CLAIMS, "resourceclaims/status", "update"): claims_device,
    (CLAIMS, "resourceclaims/status", "patch"): is_denied_with_device,
    (CLAIMS, "resourceclaims/binding", "update"): claims_device,
    (CLAIMS, "resourceclaims/binding", "patch"): is_denied_with_device,
    ("scheduling.k8s.io", "podgroups/status", "patch"): is_gang,
    ("events.k8s.io", "events", "create"): fits,
    ("events.k8s.io", "events", "patch"): fails_again,
    ("coordination.k8s.io", "leases", "create"): fits,
    ("coordination.k8s.io", "leases", "get"): needs_lease,
    ("coordination.k8s.io", "leases", "update"): needs_lease,
}
"""What needs each right that is not to list or to watch."""

SHARE = {("", "pods/binding", "create"), (CLAIMS, "resourceclaims/binding", "update")}


def named(right: Right) -> str:
    """Return a right as the id of a test."""
    group, resource, verb = right
    return " ".join(filter(None, (verb, resource, group)))


def test_each_right_is_removed_in_one_of_the_tests():
    reads = {(group, resource, verb) for group, resource in REQUIRED for verb in READS}
    assert {*NEEDED, *reads, *OPTIONAL} == ALL


@pytest.mark.parametrize(
    "right",
    [
        pytest.param(right, id=named(right), marks=[pytest.mark.share] * (right in SHARE))
        for right in NEEDED
    ],
)  # fmt: skip
def test_a_request_without_its_right_names_it(cluster, tmp_path, right):
    with without(cluster, right), ExitStack() as stack:
        before = len(cluster.requests.rejected())
        apply(cluster.admin, *NEEDED[right](cluster.admin))
        command = ("scheduler", "--kubeconfig", str(cluster.own), *with_groups(tmp_path))
        output = stack.enter_context(running(tmp_path, "scheduler", *command))
        if right == ("events.k8s.io", "events", "patch"):
            describe = ("describe", "pod", "again")
            for count, name in enumerate(PLACED, 1):
                # The first condition changes the version of the pod: its Event is another one.
                until(lambda: kubectl(cluster.admin, *describe).stdout.count(FAILED) >= count)  # noqa: B023
                kubectl(cluster.admin, "delete", "pod", name, "--grace-period=0", "--force")
        until(partial(is_missed, output, right))
        resource = right[1].partition("/")[0]
        assert all(resource in url for url in cluster.requests.rejected()[before:])
        assert lacking(output.read_text()) == {right}


def is_missed(output: Path, right: Right) -> bool:
    return right in lacking(output.read_text())


@pytest.mark.parametrize(
    "kind", [pytest.param(k, id=".".join(filter(None, k[::-1]))) for k in REQUIRED]
)
def test_the_scheduler_ends_if_it_may_not_read_what_it_requires(cluster, tmp_path, kind):
    rights = [(*kind, verb) for verb in READS]
    with without(cluster, *rights):
        command = ("scheduler", "--kubeconfig", str(cluster.own), *with_groups(tmp_path))
        done = podwright(tmp_path, *command)
    assert done.returncode == 3, done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("error: ")
    assert lacking(last) <= set(rights)
    assert "ask an administrator to grant it" in last


def test_what_is_not_followed_is_said(cluster, tmp_path):
    with without(cluster, *OPTIONAL):
        apply(cluster.admin, *fits(cluster.admin))
        command = ("scheduler", "--kubeconfig", str(cluster.own), *with_groups(tmp_path))
        with running(tmp_path, "scheduler", *command) as output:
            until(lambda: "\nscheduling\n" in output.read_text())
            found = lacking(output.read_text())
    assert {right[:2] for right in found} == {right[:2] for right in OPTIONAL}
