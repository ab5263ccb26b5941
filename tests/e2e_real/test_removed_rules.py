"""Without one of the rules in `deploy/reader`, what reads says which right it lacks."""

from __future__ import annotations

import copy
import re

import pytest
import yaml
from tests.e2e_real.audit import Requests, audited, own_kubeconfig
from tests.e2e_real.cluster_processes import kubectl
from tests.e2e_real.test_rights import DEPLOY, GROUP_FLAGS, GROUP_KIND, podwright
from tests.e2e_real.test_sync import add_nodes, apply
from tests.waiting import until

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

ROLE, BINDING = yaml.safe_load_all((DEPLOY / "reader" / "cluster-role.yaml").read_text())
ACCOUNT = "podwright-reader"
COMMANDS = (
    ("import",),
    ("record", "--duration", "1s", "--out", "record"),
    # It reads the identity of the source before it looks for the destination, which is absent.
    ("sync", "--to", "http://127.0.0.1:9"),
)
_LACKS = re.compile(r'cannot (\w+) resource "(\w+)"')


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A kubeconfig of everything, one of the reader, and the requests of the reader."""
    folder = tmp_path_factory.mktemp("cluster")
    with audited(folder, *GROUP_FLAGS) as (admin, log):
        applied = kubectl(admin, "apply", "-k", str(DEPLOY / "reader"))
        assert applied.returncode == 0, applied.stderr
        apply(admin, GROUP_KIND)
        add_nodes(admin)
        yield admin, own_kubeconfig(admin, folder, ACCOUNT), Requests(log, ACCOUNT)


def rights_in_force(admin, account) -> str:
    """Return the rights of a service account as the server shows them."""
    return kubectl(
        admin, "auth", "can-i", "--list", f"--as=system:serviceaccount:kube-system:{account}"
    ).stdout


def named(rule) -> str:
    """Return a resource of a rule as `kubectl auth can-i --list` shows it."""
    return ".".join(filter(None, (rule["resources"][-1], rule["apiGroups"][-1])))


@pytest.mark.parametrize("number", range(len(ROLE["rules"])), ids=lambda n: named(ROLE["rules"][n]))
def test_a_removed_rule_is_missed(cluster, tmp_path, number):
    admin, own, requests = cluster
    role = copy.deepcopy(ROLE)
    rule = role["rules"].pop(number)
    whole = rights_in_force(admin, ACCOUNT)
    apply(admin, role)
    try:
        until(lambda: rights_in_force(admin, ACCOUNT) != whole)
        before = len(requests.rejected())
        runs = [podwright(tmp_path, *each, "--kubeconfig", str(own)) for each in COMMANDS]
        rejected = requests.rejected()[before:]
        assert rejected, [done.stderr for done in runs]
        assert all(any(each in url for each in rule["resources"]) for url in rejected)
        said = "".join(done.stderr for done in runs)
        assert {resource for _, resource in _LACKS.findall(said)} <= set(rule["resources"])
        assert {verb for verb, _ in _LACKS.findall(said)} & set(rule["verbs"]), said
    finally:
        apply(admin, ROLE)
        until(lambda: rights_in_force(admin, ACCOUNT) == whole)
