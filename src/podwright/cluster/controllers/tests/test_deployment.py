"""Deployments, by their Events and the sizes of their replica sets."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from podwright.apimachinery.schema import decode
from podwright.cluster.api import Invalid
from podwright.cluster.controllers.apps.deployment import DeploymentController, longer_history
from podwright.cluster.controllers.apps.replica_set import ReplicaSetController
from podwright.cluster.controllers.apps.rollout import (
    DESIRED_REPLICAS,
    MAX_REPLICAS,
    REVISION,
    REVISION_HISTORY,
    Rollout,
    RolloutSet,
    deployment_spec,
    scaled_value,
)
from podwright.cluster.controllers.tests.controller_cluster import Cluster
from podwright.cluster.controllers.workload_fields import spec_of, status_of

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {example.com/team: shop}}
spec:
  replicas: 4
  selector: {matchLabels: {app: web}}
  strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 1}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: "web:1"}]}
"""

HASH = "[bcdf456789]{1,10}"


def cluster(**options: Any) -> Cluster:
    return Cluster([DeploymentController, ReplicaSetController], **options)


def image(version: int | str) -> dict[str, Any]:
    containers = [{"name": "c", "image": f"web:{version}"}]
    return {"spec": {"template": {"spec": {"containers": containers}}}}


def version_of(obj: Any) -> str:
    template = spec_of(obj)["template"]
    return str(template["spec"]["containers"][0]["image"].partition(":")[2])


def sizes(world: Cluster) -> str:
    """Return desired/available replicas per version: `1: 2/2 2: 3/1`."""
    parts = sorted(
        (version_of(rs), spec_of(rs)["replicas"], status_of(rs).get("availableReplicas", 0))
        for rs in world.all("replicaset")
    )
    return " ".join(f"{version}: {asked}/{there}" for version, asked, there in parts)


def new_events(world: Cluster) -> list[str]:
    """Return Events about deployments, with versions instead of replica set names."""
    names = {rs.name: f"v{version_of(rs)}" for rs in world.all("replicaset")}
    lines = [line for line in world.new_events() if ": Scal" in line or "Error" in line]
    return [re.sub(f"web-{HASH}", lambda m: names.get(m[0], m[0]), line) for line in lines]


def condition(world: Cluster, kind: str) -> tuple[str, str, str]:
    found = next(c for c in world.status("deployment", "web")["conditions"] if c["type"] == kind)
    message = re.sub(f'"web-{HASH}"', '"web-x"', found["message"])
    return found["status"], found["reason"], message


def test_a_new_deployment_creates_a_replica_set_with_upstreams_names():
    world = cluster()
    world.apply(DEPLOYMENT)
    (made,) = world.all("replicaset")
    assert re.fullmatch(f"web-{HASH}", made.name)
    label = made.name.removeprefix("web-")
    assert made.metadata.labels == {"app": "web", "pod-template-hash": label}
    assert spec_of(made)["selector"] == {"matchLabels": {"app": "web", "pod-template-hash": label}}
    assert made.metadata.annotations == {
        "example.com/team": "shop",
        "deployment.kubernetes.io/revision": "1",
        "deployment.kubernetes.io/desired-replicas": "4",
        "deployment.kubernetes.io/max-replicas": "5",
    }
    assert made.metadata.owner_references[0].uid == world.get("deployment", "web").uid
    assert all(pod.metadata.labels["pod-template-hash"] == label for pod in world.pods())
    assert new_events(world) == ["web: ScalingReplicaSet: Scaled up replica set v1 from 0 to 4"]


def test_its_status_follows_the_pods():
    world = cluster()
    world.apply(DEPLOYMENT)
    assert condition(world, "Progressing") == (
        "True",
        "ReplicaSetUpdated",
        'ReplicaSet "web-x" is progressing.',
    )
    assert condition(world, "Available")[:2] == ("False", "MinimumReplicasUnavailable")
    world.run(2)
    status = world.status("deployment", "web")
    assert {name: value for name, value in status.items() if name != "conditions"} == {
        "observedGeneration": 1,
        "replicas": 4,
        "updatedReplicas": 4,
        "readyReplicas": 4,
        "availableReplicas": 4,
        "terminatingReplicas": 0,
    }
    assert condition(world, "Progressing") == (
        "True",
        "NewReplicaSetAvailable",
        'ReplicaSet "web-x" has successfully progressed.',
    )
    assert condition(world, "Available") == (
        "True",
        "MinimumReplicasAvailable",
        "Deployment has minimum availability.",
    )
    deployment = world.get("deployment", "web")
    assert deployment.metadata.annotations["deployment.kubernetes.io/revision"] == "1"
    assert deployment.metadata.generation == 1


def test_a_rolling_update_goes_step_by_step():
    world = cluster()
    world.apply(DEPLOYMENT)
    world.run(5)
    new_events(world)
    world.patch("deployment", "web", image(2))
    steps = []
    for _ in range(3):
        steps.append((sizes(world), *new_events(world)))
        world.run(1)
    # At most 5 pods in total and at least 3 available: the sets change one pod at a time.
    up, down = "web: ScalingReplicaSet: Scaled up", "web: ScalingReplicaSet: Scaled down"
    assert steps == [
        (
            "1: 3/3 2: 2/0",
            f"{up} replica set v2 from 0 to 1",
            f"{down} replica set v1 from 4 to 3",
            f"{up} replica set v2 from 1 to 2",
        ),
        (
            "1: 1/1 2: 4/2",
            f"{down} replica set v1 from 3 to 2",
            f"{up} replica set v2 from 2 to 3",
            f"{down} replica set v1 from 2 to 1",
            f"{up} replica set v2 from 3 to 4",
        ),
        (
            "1: 0/0 2: 4/4",
            f"{down} replica set v1 from 1 to 0",
        ),
    ]
    assert world.status("deployment", "web")["observedGeneration"] == 2


def test_recreate_waits_until_the_last_old_pod_is_removed():
    world = cluster(removed_after=10)
    text = DEPLOYMENT.replace(
        "{rollingUpdate: {maxSurge: 1, maxUnavailable: 1}}", "{type: Recreate}"
    )
    world.apply(text)
    world.run(5)
    world.patch("deployment", "web", image(2))
    world.run(5)
    assert sizes(world) == "1: 0/0"
    assert len(world.pods()) == 4
    world.run(10)
    assert sizes(world) == "1: 0/0 2: 4/4"


def test_a_rollback_reuses_the_old_set_with_a_new_revision():
    world = cluster()
    world.apply(DEPLOYMENT)
    for version in (2, 1):
        world.run(10)
        world.patch("deployment", "web", image(version))
    world.run(10)
    assert sizes(world) == "1: 4/4 2: 0/0"
    annotations = {version_of(rs): rs.metadata.annotations for rs in world.all("replicaset")}
    assert annotations["1"]["deployment.kubernetes.io/revision"] == "3"
    assert annotations["1"]["deployment.kubernetes.io/revision-history"] == "1"
    assert annotations["2"]["deployment.kubernetes.io/revision"] == "2"
    deployment = world.get("deployment", "web")
    assert deployment.metadata.annotations["deployment.kubernetes.io/revision"] == "3"


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        pytest.param(
            {REVISION_HISTORY: "5,7"}, {REVISION: "3", REVISION_HISTORY: "5,7,1"}, id="one more"
        ),
        pytest.param({REVISION: ""}, {REVISION: "3", REVISION_HISTORY: ""}, id="an empty revision"),
        pytest.param({REVISION: None}, {REVISION: "3"}, id="no revision"),
        pytest.param({REVISION: "x"}, {REVISION: "x"}, id="no number"),
        pytest.param(
            {REVISION: "7"},
            {REVISION: "9", REVISION_HISTORY: "7"},
            id="a higher one than that of the newest set",
        ),
    ],
)
def test_a_rollback_keeps_the_revision_that_a_set_had(written, kept):
    world = cluster()
    world.apply(DEPLOYMENT)
    world.run(10)
    (old,) = world.all("replicaset")
    world.patch("deployment", "web", image(2))
    world.run(10)
    world.patch("replicaset", old.name, {"metadata": {"annotations": written}})
    world.patch("deployment", "web", image(1))
    world.run(10)
    annotations = world.get("replicaset", old.name).metadata.annotations
    assert {
        name: annotations[name] for name in (REVISION, REVISION_HISTORY) if name in annotations
    } == kept


@pytest.mark.parametrize(
    ("history", "revision", "longer"),
    [
        pytest.param("", "1", "1", id="the first"),
        pytest.param("1,3", "5", "1,3,5", id="one more"),
        pytest.param(",7", "5", "5", id="no first revision"),
        pytest.param("1," + "2" * 1_995, "55", "1," + "2" * 1_995 + ",55", id="2,000 characters"),
        pytest.param("1," + "2" * 1_996, "55", "2" * 1_996 + ",55", id="one too many"),
        pytest.param("1,2," + "3" * 1_990, "4" * 12, "4" * 12, id="all are too many"),
        pytest.param("1,2", "0" * 2_000, "0" * 2_000, id="no room for others"),
        pytest.param("1,2", "0" * 2_001, "1,2", id="no room for the new one"),
    ],
)
def test_the_history_of_revisions_has_a_limit(history, revision, longer):
    assert longer_history(history, revision) == longer


def test_scaling_during_a_rollout_is_proportional():
    world = cluster(ready_after=None)
    world.apply(DEPLOYMENT.replace("replicas: 4", "replicas: 10"))
    for name in world.names():
        world.ready(name)
    world.patch("deployment", "web", image(2))
    assert sizes(world) == "1: 9/9 2: 2/0"
    world.scale("deployment", "web", 20)
    assert sizes(world) == "1: 17/9 2: 4/0"
    world.scale("deployment", "web", 0)
    assert sizes(world) == "1: 0/0 2: 0/0"


def test_a_set_with_one_replica_takes_part_in_proportional_scaling():
    world = cluster(ready_after=None)
    world.apply(DEPLOYMENT.replace("replicas: 4", "replicas: 2"))
    for name in world.names():
        world.ready(name)
    world.patch("deployment", "web", image(2))
    before = sizes(world)
    world.scale("deployment", "web", 8)
    assert (before, sizes(world)) == ("1: 1/1 2: 2/0", "1: 3/1 2: 6/0")


def test_a_paused_deployment_is_scaled_but_not_rolled_out():
    world = cluster()
    world.apply(DEPLOYMENT)
    world.run(5)
    world.patch("deployment", "web", {"spec": {"paused": True}})
    assert condition(world, "Progressing") == (
        "Unknown",
        "DeploymentPaused",
        "Deployment is paused",
    )
    world.patch("deployment", "web", image(2))
    world.scale("deployment", "web", 6)
    world.run(5)
    assert sizes(world) == "1: 6/6"
    world.patch("deployment", "web", {"spec": {"paused": False}})
    world.run(10)
    assert sizes(world) == "1: 0/0 2: 6/6"
    assert condition(world, "Progressing")[1] == "NewReplicaSetAvailable"


def test_a_rollout_without_progress_times_out_after_its_deadline():
    world = cluster()
    world.apply(DEPLOYMENT.replace("replicas: 4", "replicas: 4\n  progressDeadlineSeconds: 60"))
    world.run(5)
    world.ready_after = None
    world.patch("deployment", "web", image("bad"))
    world.run(60)
    assert condition(world, "Progressing")[1] == "ReplicaSetUpdated"
    world.run(2)
    assert condition(world, "Progressing") == (
        "False",
        "ProgressDeadlineExceeded",
        'ReplicaSet "web-x" has timed out progressing.',
    )
    assert condition(world, "Available")[0] == "True"
    world.ready_after = 1
    world.patch("deployment", "web", image("good"))
    world.run(10)
    assert condition(world, "Progressing")[:2] == ("True", "NewReplicaSetAvailable")


def test_old_sets_beyond_the_history_limit_are_deleted():
    world = cluster()
    world.apply(DEPLOYMENT.replace("replicas: 4", "replicas: 1\n  revisionHistoryLimit: 2"))
    for version in range(2, 7):
        world.run(10)
        world.patch("deployment", "web", image(version))
    world.run(10)
    assert [version_of(rs) for rs in sorted(world.all("replicaset"), key=lambda rs: rs.uid)]
    assert sizes(world) == "4: 0/0 5: 0/0 6: 1/1"


def test_a_matching_replica_set_is_adopted():
    world = cluster()
    world.apply(DEPLOYMENT)
    (made,) = world.all("replicaset")
    world.patch("replicaset", made.name, {"metadata": {"ownerReferences": []}})
    assert len(world.all("replicaset")) == 1
    assert world.all("replicaset")[0].metadata.owner_references[0].name == "web"


def test_the_name_of_a_replica_set_has_room_for_its_hash():
    world = cluster()
    world.apply(DEPLOYMENT.replace("name: web", f"name: {'w' * 253}", 1))
    (made,) = world.all("replicaset")
    label = made.metadata.labels["pod-template-hash"]
    assert made.name == f"{'w' * (252 - len(label))}-{label}"


def test_each_name_collision_changes_the_hash():
    world = cluster()
    world.apply(DEPLOYMENT)
    foreign = [{"apiVersion": "v1", "kind": "Other", "name": "x", "uid": "u", "controller": True}]
    for count in (1, 2):
        world.delete("deployment", "web")
        for made in world.all("replicaset"):
            world.patch("replicaset", made.name, {"metadata": {"ownerReferences": foreign}})
        world.apply(DEPLOYMENT)
        assert len(world.all("replicaset")) == count + 1
        assert world.status("deployment", "web")["collisionCount"] == count


def test_a_revision_that_is_not_a_number_stays_as_it_is():
    world = cluster()
    world.apply(DEPLOYMENT)
    (made,) = world.all("replicaset")
    world.patch("replicaset", made.name, {"metadata": {"annotations": {REVISION: "first"}}})
    team = {"metadata": {"annotations": {"example.com/team": "other"}}}
    world.patch("deployment", "web", team)
    (found,) = world.all("replicaset")
    (deployment,) = world.all("deployment")
    assert [each.metadata.annotations[REVISION] for each in (found, deployment)] == ["first"] * 2
    assert found.metadata.annotations["example.com/team"] == "shop", "nothing is copied"
    world.patch("deployment", "web", image(2))
    revisions = {each.metadata.annotations[REVISION] for each in world.all("replicaset")}
    assert revisions == {"first", "1"}


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        ("{}", "This deployment is selecting all pods. A non-empty selector is required."),
        ("{matchLabels: {app: other}}", "This deployment does not select its own pods."),
    ],
)
def test_a_selector_that_the_api_would_reject_creates_nothing(selector, text):
    world = cluster()
    world.apply(DEPLOYMENT.replace("{matchLabels: {app: web}}", selector))
    assert world.all("replicaset") == []
    assert world.new_events() == [f"web: SelectingAll: {text}"]


def test_an_invalid_template_is_reported():
    world = cluster()
    with pytest.raises(Invalid):
        world.apply(DEPLOYMENT.replace('image: "web:1"', "image: 5"))
    # A record can have a deployment that no server would accept.
    world.store.create(decode(yaml.safe_load(DEPLOYMENT.replace('"web:1"', "5"))), world.now_ns)
    world.settle()
    (line,) = new_events(world)
    assert "ReplicaSetCreateError: Failed to create new replica set" in line
    assert "spec.template.spec.containers[0].image" in line


@pytest.mark.parametrize(
    ("strategy", "replicas", "surge", "unavailable"),
    [
        pytest.param({}, 4, 1, 1, id="a quarter each by default"),
        pytest.param({}, 1, 1, 0, id="surge is rounded up, unavailable down"),
        pytest.param({"maxSurge": "0%", "maxUnavailable": "10%"}, 5, 0, 1, id="never both zero"),
        pytest.param({"maxSurge": 3, "maxUnavailable": 9}, 5, 3, 5, id="at most all"),
        pytest.param({"maxSurge": "much", "maxUnavailable": 0}, 5, 0, 1, id="no number is zero"),
    ],
)
def test_percentages_of_replicas(strategy, replicas, surge, unavailable):
    spec = deployment_spec({"replicas": replicas, "strategy": {"rollingUpdate": strategy}})
    assert (spec.max_surge, spec.max_unavailable) == (surge, unavailable)


def test_a_percentage_can_be_more_than_a_hundred():
    assert scaled_value("150%", 4, round_up=False) == 6


def test_a_rollout_continues_after_a_restore():
    world, other = cluster(), cluster()
    other.before_each = other.restart
    for each in (world, other):
        each.apply(DEPLOYMENT)
        each.run(3)
        each.patch("deployment", "web", image(2))
        each.run(10)
    assert other.actions == world.actions


def a_set(name: str, replicas: int, available: int | None = None, **fields: Any) -> RolloutSet:
    available = replicas if available is None else available
    annotations = {DESIRED_REPLICAS: "10", MAX_REPLICAS: "13"}
    return RolloutSet(
        name=name,
        created=f"2026-01-01T00:00:0{name[-1]}Z",
        replicas=replicas,
        annotations=annotations,
        reported=replicas,
        ready=available,
        available=available,
        **fields,
    )


@pytest.mark.parametrize(
    ("new", "old", "sizes"),
    [
        pytest.param((5, 5), [(8, 8)], [3, 5], id="as many as there are too many"),
        pytest.param((5, 5), [(8, 5)], [3, 5], id="unhealthy ones, then two available ones"),
        pytest.param((5, 5), [(4, 4), (4, 1)], [2, 1, 5], id="whichever set has unhealthy ones"),
        pytest.param((5, 5), [(4, 0), (4, 0)], [0, 3, 5], id="the oldest first, up to the bound"),
        pytest.param((5, 0), [(8, 8)], [8, 5], id="none while the new ones are not available"),
        pytest.param((5, 3), [(8, 8)], [5, 5], id="available ones for those available"),
        pytest.param((5, 5), [(2, 2), (6, 6)], [0, 3, 5], id="the oldest set first"),
        pytest.param((5, 4), [(8, 4)], [4, 5], id="unhealthy only: no available one to spare"),
    ],
)
def test_old_sets_shrink_by_what_is_unhealthy_and_then_by_what_is_available(new, old, sizes):
    # Ten replicas, three more and two fewer at most.
    spec = deployment_spec({"replicas": 10, "strategy": {"rollingUpdate": {
        "maxSurge": 3, "maxUnavailable": 2}}})  # fmt: skip
    sets = [a_set(f"s{number}", *counts) for number, counts in enumerate(old)]
    rollout = Rollout(spec, a_set("s9", *new), sets)
    rollout.roll()
    assert [each.replicas for each in rollout.sets] == sizes


@pytest.mark.parametrize(
    ("sets", "grown"),
    [
        pytest.param([(10,)], [20], id="one set"),
        pytest.param([(5,), (5,)], [10, 15], id="the rest goes to the newest of equals"),
        pytest.param([(8,), (3,)], [6, 19], id="by size"),
    ],
)
def test_a_set_grows_by_its_share(sets, grown):
    spec = deployment_spec({"replicas": 20, "strategy": {"rollingUpdate": {
        "maxSurge": 5, "maxUnavailable": 2}}})  # fmt: skip
    made = [a_set(f"s{number}", *counts) for number, counts in enumerate(sets)]
    rollout = Rollout(spec, made[-1], made[:-1])
    assert rollout.is_scaling_event
    rollout.scale()
    total = sum(each.replicas for each in rollout.sets)
    assert total == (20 if len(sets) == 1 else 25)
    assert sorted(each.replicas for each in rollout.sets) == sorted(grown)


def test_a_set_without_its_former_maximum_grows_by_the_pods_that_there_are():
    spec = deployment_spec({"replicas": 20, "strategy": {"rollingUpdate": {
        "maxSurge": 5, "maxUnavailable": 2}}})  # fmt: skip
    old, new = a_set("s1", 8), a_set("s2", 3)
    for each in (old, new):
        del each.annotations[MAX_REPLICAS]
    rollout = Rollout(spec, new, [old], reported=11)
    rollout.scale()
    # 8 of 11 pods and 3 of 11, of 25.
    assert (old.replicas, new.replicas) == (18, 7)


def test_old_sets_are_scaled_down_only_if_the_new_one_has_all_pods_available():
    spec = deployment_spec({"replicas": 10})
    for available, sizes in ((10, [0, 10]), (9, [2, 11])):
        old, new = a_set("s1", 2), a_set("s2", 10, available)
        rollout = Rollout(spec, new, [old])
        rollout.scale()
        assert [each.replicas for each in rollout.sets] == sizes


def test_the_history_discards_the_oldest_revisions_whenever_they_were_created():
    spec = deployment_spec({"replicas": 1, "revisionHistoryLimit": 1})
    old = [a_set("s1", 0), a_set("s2", 0), a_set("s3", 0)]
    for each, revision in zip(old, ("9", "10", "2"), strict=True):
        each.annotations[REVISION] = revision
    assert [each.name for each in Rollout(spec, None, old).excess_history()] == ["s3", "s1"]


def test_the_history_keeps_sets_whose_status_is_outdated():
    spec = deployment_spec({"replicas": 1, "revisionHistoryLimit": 1})
    old = [
        a_set("s1", 0, is_observed=False),
        a_set("s2", 0, is_terminating=True),
        a_set("s3", 0),
        a_set("s4", 0),
        a_set("s5", 1),
    ]
    old[3].reported = 1
    assert [each.name for each in Rollout(spec, None, old).excess_history()] == ["s3"]
    spec = deployment_spec({"replicas": 1, "revisionHistoryLimit": 4})
    assert Rollout(spec, None, old).excess_history() == []
