"""`podwright up --annotate-results`: results of attempts as annotations of pods."""

import json

import pytest
from tests.e2e.test_up import PODS, pod, up

PREFIX = "kube-scheduler-simulator.sigs.k8s.io/"


def annotations_of(found):
    return found["metadata"].get("annotations", {})


def history_of(found):
    return json.loads(annotations_of(found).get(f"{PREFIX}result-history", "[]"))


def test_results_and_their_history_are_annotations(tmp_path):
    with up(tmp_path, "--nodes", "2", "--annotate-results") as served:
        document = pod("web")
        document["spec"]["nodeSelector"] = {"disk": "ssd"}
        document["metadata"]["annotations"] = {"mine": "kept"}
        served.send("POST", PODS, document)
        found = served.eventually(f"{PODS}/web", lambda found: len(history_of(found)) == 1)
        results = json.loads(annotations_of(found)[f"{PREFIX}filter-result"])
        assert results["node-0"]["NodeAffinity"] != "passed"
        status, node = served.send("GET", "/api/v1/nodes/node-1")
        assert status == 200
        node["metadata"]["labels"]["disk"] = "ssd"
        assert served.send("PUT", "/api/v1/nodes/node-1", node)[0] == 200
        found = served.eventually(f"{PODS}/web", lambda found: len(history_of(found)) == 2)
        assert annotations_of(found)[f"{PREFIX}selected-node"] == "node-1"
        assert annotations_of(found)["mine"] == "kept"
        first, second = history_of(found)
        assert second[f"{PREFIX}selected-node"] == "node-1"
        assert first[f"{PREFIX}filter-result"] == json.dumps(results, separators=(",", ":"))
        # The annotations do not lead to further attempts or annotations.
        version = found["metadata"]["resourceVersion"]
        running = served.eventually(
            f"{PODS}/web", lambda found: found["status"]["phase"] == "Running"
        )
        assert history_of(running) == history_of(found), version


def test_pods_and_claims_are_those_of_the_simulator(tmp_path):
    options = ("--nodes", "1", "--kss-port", "0", "--no-default-storage-class")
    volumes = "/api/v1/persistentvolumes"
    claims = "/api/v1/namespaces/default/persistentvolumeclaims"
    size = {"storage": "1Gi"}
    with up(tmp_path, *options) as served:
        # Its page reads a pod again from the Kubernetes API to show its results.
        served.send("POST", PODS, pod("web"))
        served.eventually(f"{PODS}/web", history_of)
        # Its clusters have no class, so a claim and a volume without one belong together.
        assert served.send("GET", "/apis/storage.k8s.io/v1/storageclasses")[1]["items"] == []
        spec = {"accessModes": ["ReadWriteOnce"]}
        volume = {"capacity": size, "hostPath": {"path": "/data"}, **spec}
        claim = {"resources": {"requests": size}, **spec}
        for path, written in ((volumes, volume), (claims, claim)):
            document = {"metadata": {"name": "data"}, "spec": written}
            assert served.send("POST", path, document)[0] == 201
        found = served.eventually(
            f"{claims}/data", lambda found: found["status"]["phase"] == "Bound"
        )
        assert found["spec"]["volumeName"] == "data"
        assert not found["spec"].get("storageClassName")


@pytest.mark.parametrize("options", [(), ("--kss-port", "0", "--no-annotate-results")])
def test_pods_are_not_annotated_without_the_option(tmp_path, options):
    with up(tmp_path, "--nodes", "1", *options) as served:
        served.send("POST", PODS, pod("web"))
        found = served.eventually(
            f"{PODS}/web", lambda found: found["status"]["phase"] == "Running"
        )
        assert not annotations_of(found)
