"""The documents of the rows of the openb trace, and rows that are wrong."""

from __future__ import annotations

import pytest

from podwright.apimachinery.objects.openb import TableError, is_openb, read_openb

_NODES = "sn,cpu_milli,memory_mib,gpu,model"
_PODS = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time"
_GPU = "alibabacloud.com/gpu-"


def test_tables_are_known_by_their_header() -> None:
    assert is_openb(f"{_NODES}\nx")
    assert is_openb(f"{_PODS}\r\nx")
    assert not is_openb("apiVersion: v1")
    assert not is_openb("sn,cpu_milli,memory_mib,gpu")


def test_a_table_without_rows_or_without_a_header_has_no_documents() -> None:
    assert read_openb("") == read_openb(f"{_NODES}\n") == []


def test_a_node_has_its_gpus_as_resources() -> None:
    (first, node), (second, plain) = read_openb(
        f"{_NODES}\na,64000,262144,2,V100\nb,1000,1024,0,\n"
    )
    resources = {"cpu": "64000m", "memory": "262144Mi", "pods": "1001"}
    resources |= {f"{_GPU}count": "2", f"{_GPU}milli": "2000"}
    labels = {"kubernetes.io/hostname": "a", f"{_GPU}card-model": "V100"}
    assert (first, second) == (2, 3)
    assert node == {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "a", "labels": labels},
        "status": {"allocatable": resources, "capacity": resources},
    }
    resources = {"cpu": "1000m", "memory": "1024Mi", "pods": "1001"}
    assert plain == {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "b", "labels": {"kubernetes.io/hostname": "b"}},
        "status": {"allocatable": resources, "capacity": resources},
    }


def test_a_pod_has_its_gpus_as_annotations() -> None:
    rows = "p,500,512,1,460,V100|P100,LS,Running,12\nq,1,2,0,0,V100,,,\nr,1,2,1,9,,,,"
    (_, pod), (_, plain), (_, any_model) = read_openb(f"{_PODS}\n{rows}")
    annotations = {
        f"{_GPU}milli": "460",
        f"{_GPU}count": "1",
        f"{_GPU}card-model": "V100|P100",
        "alibabacloud.com/qos": "LS",
        "alibabacloud.com/pod-phase": "Running",
        "alibabacloud.com/creation-time": "12",
    }
    resources = {"cpu": "500m", "memory": "512Mi"}
    container = {
        "name": "main",
        "image": "pause",
        "resources": {"requests": resources, "limits": resources},
    }
    assert pod == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default", "annotations": annotations},
        "spec": {"schedulerName": "default-scheduler", "containers": [container]},
    }
    assert isinstance(any_model, dict)
    assert any_model["metadata"]["annotations"] == {f"{_GPU}milli": "9", f"{_GPU}count": "1"}
    assert isinstance(plain, dict)
    assert plain["metadata"]["annotations"] == {}, "a model without GPUs says nothing"


@pytest.mark.parametrize(
    ("row", "column", "value", "text"),
    [
        ("p,x,2,0,0,,,,", "cpu_milli", "x", "must be a whole number"),
        ("p,-1,2,0,0,,,,", "cpu_milli", "-1", "must be a whole number"),
        ("p,1,²,0,0,,,,", "memory_mib", "²", "must be a whole number"),
        ("p,1", "memory_mib", "", "must be a whole number"),
        ("p,1,2,0,0,,,,soon", "creation_time", "soon", "must be a whole number"),
        (",1,2,0,0,,,,", "name", "", "must be a name"),
        ("p,1,2,0,0,,,,,more", "", "", "more cells than columns"),
    ],
)
def test_a_wrong_row_is_an_error_beside_the_others(
    row: str, column: str, value: str, text: str
) -> None:
    (line, error), (_, good) = read_openb(f"{_PODS}\n{row}\nq,1,2,0,0,,,,")
    assert isinstance(error, TableError)
    assert (line, error.line, error.column, error.value, str(error)) == (2, 2, column, value, text)
    assert isinstance(good, dict)
