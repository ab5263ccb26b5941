"""The shipped files of columns, on rows as the published tables have them."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from podwright.simulation.world.tests.test_traces import lines_of, summary
from podwright.simulation.world.traces.columns_file import read_columns, shipped_columns


def test_each_shipped_file_is_valid_and_marked() -> None:
    shipped = shipped_columns()
    assert set(shipped) == {
        "alibaba-2018",
        "alibaba-gpu-2020",
        "azure-packing-2020",
        "google-2019",
        "helios",
        "philly",
    }
    for name, text in shipped.items():
        assert read_columns(text, source=name).description
        assert "ried on generated rows only" in text.replace("\n# ", " "), name


def test_google_2019_joins_the_events_of_a_task(tmp_path: Path) -> None:
    common = {"collection_type": "0", "collection_id": "7", "priority": "200"}
    request = {"cpus": 0.25, "memory": 0.5}
    rows: list[dict[str, object]] = [
        {"time": "600000000", "type": "0", "instance_index": "0", "resource_request": request},
        {"time": "601000000", "type": "3", "instance_index": "0", "resource_request": request},
        {"time": "661500000", "type": "6", "instance_index": "0", "resource_request": request},
        {"time": "700000000", "type": "0", "instance_index": "1", "resource_request": request},
        {"time": "700000000", "type": "0", "instance_index": "2", "collection_type": "1"},
    ]
    file = tmp_path / "events.json"
    file.write_text("".join(json.dumps({**common, **row}) + "\n" for row in rows))
    found = lines_of(file, "google-2019")
    requests = {"cpu": 16.0, "memory": 128 * 2**30}
    assert [summary(line) for line in found] == [
        (600, "7-0", requests, 61.5),
        (700, "7-1", requests, None),
    ]
    assert found[0].action["apply"]["spec"]["priority"] == 200


def test_azure_packing_is_read_from_its_database(tmp_path: Path) -> None:
    file = tmp_path / "trace.sqlite"
    with sqlite3.connect(file) as database:
        database.execute("create table vm(vmId,tenantId,vmTypeId,priority,starttime,endtime)")
        database.execute("create table vmType(id,vmTypeId,machineId,core,memory,hdd,ssd,nic)")
        database.execute("insert into vm values(1,7,3,0,-1.5,0.25),(2,7,3,1,0.5,null)")
        database.execute("insert into vmType values(1,3,0,.25,.125,0,0,0),(2,3,1,.5,.5,0,0,0)")
    requests = {"cpu": 16.0, "memory": 32 * 2**30}
    assert [summary(line) for line in lines_of(file, "azure-packing-2020")] == [
        (0, "3-1", requests, 21600.0),
        (43200, "3-2", requests, None),
    ]


def test_philly_makes_a_pod_for_each_server_of_the_first_attempt(tmp_path: Path) -> None:
    servers = [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}, {"ip": "m2", "gpus": ["gpu0", "gpu1"]}]
    attempts = [
        {"start_time": "2017-10-07 01:12:09", "end_time": "2017-10-07 01:13:23", "detail": servers},
        {"start_time": "2017-10-07 01:13:30", "end_time": "2017-10-07 02:12:09", "detail": []},
    ]
    common = {"vc": "ee9e8c", "user": "u", "submitted_time": "2017-10-07 01:11:39"}
    jobs = [
        {**common, "jobid": "b_1", "attempts": attempts},
        {**common, "jobid": "c", "attempts": []},
    ]
    file = tmp_path / "cluster_job_log"
    file.write_text(json.dumps(jobs))
    group, *pods = lines_of(file, "philly", is_sorted=False)
    assert group.action["apply"]["spec"] == {"minMember": 2}
    assert [summary(line) for line in pods] == [
        (0, "b-1-0", {"nvidia.com/gpu": 2.0}, 3600.0),
        (0, "b-1-1", {"nvidia.com/gpu": 2.0}, 3600.0),
    ]


@pytest.mark.parametrize("end", [None, "", "None"])
def test_a_job_of_philly_without_an_end_does_not_end(tmp_path: Path, end: str | None) -> None:
    server = {"ip": "m1", "gpus": ["gpu0"]}
    attempt = {"start_time": "2017-10-07 01:12:09", "end_time": end, "detail": [server]}
    job = {"vc": "v", "user": "u", "submitted_time": "2017-10-07 01:11:39", "jobid": "b"}
    file = tmp_path / "cluster_job_log"
    file.write_text(json.dumps([{**job, "attempts": [attempt]}]))
    _group, pod = lines_of(file, "philly")
    assert summary(pod) == (0, "b-0", {"nvidia.com/gpu": 1.0}, None)


def test_helios_divides_a_job_by_its_nodes(tmp_path: Path) -> None:
    file = tmp_path / "cluster_log.csv"
    file.write_text(
        "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"
        "1,u,vcA,16,32,2,FAILED,2020-06-09 18:41:27,,,249,0\n"
        "2,u,vcA,0,3,1,COMPLETED,2020-06-09 18:41:37,,,7,0\n"
    )
    pods = [line for line in lines_of(file, "helios") if line.pod]
    assert [summary(line) for line in pods] == [
        (0, "1-0", {"nvidia.com/gpu": 8.0, "cpu": 16.0}, 249.0),
        (0, "1-1", {"nvidia.com/gpu": 8.0, "cpu": 16.0}, 249.0),
        (10, "2-0", {"cpu": 3.0}, 7.0),
    ]


def test_alibaba_tables_have_no_header(tmp_path: Path) -> None:
    tasks = tmp_path / "batch_task.csv"
    tasks.write_text(
        "M1,2,j_1,1,Terminated,100,160,100,50\nR2_1,1,j_1,1,Terminated,50,160,50,25\n"
        "M3,1,j_2,1,Failed,50,160,50,25\n"
    )
    found = lines_of(tasks, "alibaba-2018", is_sorted=False)
    assert [summary(line) for line in found] == [
        (50, "j-1-r2-1-0", {"cpu": 0.5, "memory": 64 * 2**30}, 110.0),
        (100, "j-1-m1-0", {"cpu": 1.0, "memory": 128 * 2**30}, 60.0),
        (100, "j-1-m1-1", {"cpu": 1.0, "memory": 128 * 2**30}, 60.0),
    ]
    gpus = tmp_path / "pai_task_table.csv"
    gpus.write_text(
        "4f0,ps,1.0,Terminated,1739162.0,1739200.0,600.0,2.0,50.0,T4\n"
        "4f1,ps,1.0,Terminated,1739163.0,,600.0,2.0,50.0,T4\n"
        "4f2,ps,1.0,Terminated,,,600.0,2.0,50.0,T4\n"
    )
    (line,) = lines_of(gpus, "alibaba-gpu-2020")
    requests = {"alibabacloud.com/gpu-percent": 50.0, "cpu": 6.0, "memory": 2.0 * 2**30}
    assert summary(line) == (1739162, "4f0-ps-0", requests, 38.0)
    assert line.action["apply"]["spec"]["nodeSelector"] == {"alibaba/gpu-type": "T4"}
