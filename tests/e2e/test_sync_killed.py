"""`podwright sync` that is killed at random moments: nothing is lost, doubled or comes back."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.e2e.command_line import NODES
from tests.e2e.test_sync import OFF, PODS, new_pod, send, server_of, syncing
from tests.e2e_real.cluster_processes import embedded
from tests.waiting import until

from podwright.apimachinery.objects import SOURCE_UID

pytestmark = [pytest.mark.slow, pytest.mark.share]

ROUNDS = 6
STATE = "/api/v1/namespaces/kube-system/configmaps/podwright-sync"
NOW = {"gracePeriodSeconds": 0}


class Clusters:
    """A source that changes at random, and its copy, which somebody deletes pods of."""

    def __init__(self, source: str, target: str, seed: int) -> None:
        self._source = source
        self._target = target
        self._random = random.Random(seed)
        self._count = 0
        self.deleted_here: set[str] = set()

    def expected(self) -> dict[str, str]:
        """Return the uids of the pods that the copy should have, by name."""
        items = send(self._source, "GET", PODS)[1]["items"]
        found = {each["metadata"]["name"]: each["metadata"]["uid"] for each in items}
        return {name: uid for name, uid in found.items() if uid not in self.deleted_here}

    def copied(self) -> dict[str, tuple[str, str]]:
        """Return the uids of the copied pods by name: that of the source, and their own."""
        items = send(self._target, "GET", PODS)[1]["items"]
        return {
            each["metadata"]["name"]: (
                each["metadata"]["annotations"][SOURCE_UID],
                each["metadata"]["uid"],
            )
            for each in items
        }

    def saved(self) -> set[str]:
        """Return the uids of the last pods that a sync has saved."""
        status, found = send(self._target, "GET", STATE)
        return set(found["data"]["syncedLast"].split()) if status == 200 else set()

    def change(self) -> None:
        """Create a pod at the source, delete one, or replace one by another of its name."""
        names = sorted(self.expected())
        name = self._random.choice(names) if names and self._random.random() < 0.5 else ""
        if name:
            assert send(self._source, "DELETE", f"{PODS}/{name}", NOW)[0] == 200
        if not name or self._random.random() < 0.5:
            self._count += 1
            created = new_pod(name or f"p{self._count}", "10m")
            assert send(self._source, "POST", PODS, created)[0] == 201

    def delete_here(self) -> bool:
        """Delete a pod of the copy that a sync has saved; return whether there was one."""
        saved, expected = self.saved(), self.expected()
        for name, (uid, own) in self.copied().items():
            if uid in saved and expected.get(name) == uid:
                options = {**NOW, "preconditions": {"uid": own}}
                # The sync may have deleted it meanwhile.
                if send(self._target, "DELETE", f"{PODS}/{name}", options)[0] == 200:
                    self.deleted_here.add(uid)
                    return True
        return False


def started(source: str, target: str, log: Path) -> subprocess.Popen[bytes]:
    podwright = Path(sys.executable).with_name("podwright")
    with log.open("ab") as output:
        return subprocess.Popen(
            [str(podwright), "sync", "--server", source, "--to", target],
            stdout=output, stderr=output,
        )  # fmt: skip


def test_a_sync_that_is_killed_at_random_moments_is_continued_by_the_next(tmp_path):
    manifests = tmp_path / "cluster.yaml"
    manifests.write_text(NODES)
    log = tmp_path / "killed.log"
    with (
        embedded(tmp_path / "source", *OFF, str(manifests)) as first,
        embedded(tmp_path / "target", "--no-controllers") as second,
    ):
        source, target = server_of(first), server_of(second)
        clusters, moments = Clusters(source, target, seed=7), random.Random(8)
        for _ in range(6):
            clusters.change()
        for number in range(ROUNDS):
            process = started(source, target, log)
            try:
                if number % 2 == 0:
                    assert send(source, "POST", PODS, new_pod(f"here{number}", "10m"))[0] == 201
                    until(clusters.delete_here)
                for _ in range(moments.randrange(12)):
                    clusters.change()
                    # The process may die at any moment of the changes, drawn with the seed.
                    time.sleep(moments.uniform(0, 0.2))
                clusters.delete_here()
            finally:
                process.kill()
                process.wait()
            for _ in range(moments.randrange(4)):
                clusters.change()
        with syncing(tmp_path, "--server", source, "--to", target) as (_, err):
            until(lambda: "created" in err.read_text())
            assert send(source, "POST", PODS, new_pod("last", "10m"))[0] == 201
            # Pods are written in the order of the source, so all others precede it.
            until(lambda: "last" in clusters.copied())
            copied = {name: uid for name, (uid, _) in clusters.copied().items()}
            assert copied == clusters.expected()
        assert "errors:" not in err.read_text()
        assert len(clusters.deleted_here) >= ROUNDS // 2
        assert "Traceback" not in log.read_text()
