"""What `podwright up` says when it cannot start, and when it is interrupted."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys

import pytest
from tests.e2e.command_line import run
from tests.e2e.test_up import PODS, PODWRIGHT, pod, up
from tests.waiting import SECONDS_MAX

FILE_BYTES_MAX = 16_384

INTERRUPTED_IMPORT = """
import signal, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
from podwright._console import main
main()
"""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--nods 3", "No such option: --nods"),
        ("--nodes -1", "must be greater than or equal to 0"),
        ("--port 99999", "must be less than or equal to 65535"),
        ("--speed nan", "'nan' is not a number"),
        ("--cors-origin localhost:3000", "is not an origin, such as http://localhost:3000"),
        ("--cors-origin http://localhost:3000/", "is not an origin, such as"),
        ("--allow-extender=", "'--allow-extender': must not be empty"),
        ("--log-events 999", "must be greater than or equal to 1000"),
        ("--bare --log-events 5000", "'--log-events': has no effect with --bare"),
        ("--no-scheduler --log-events 5000", "'--log-events': has no effect with --no-scheduler"),
        ("--no-scheduler --timeline", "'--timeline': has no effect with --no-scheduler"),
        ("--reload", "'--reload': has no effect without --plugin"),
        ("--break on=errors", 'did you mean "error"?'),
        ("--break plugin=NodeResourceFit", 'did you mean "NodeResourcesFit"?'),
        ("--no-scheduler --break pod=a", "'--break': has no effect with --no-scheduler"),
        (
            "--no-scheduler --config {folder}/one.yaml --config {folder}/two.yaml",
            "'--config': has no effect more than once with --no-scheduler",
        ),
        (
            "--config {folder}/one.yaml --config {folder}/two.yaml",
            '{folder}/two.yaml: profiles[1].schedulerName: Duplicate value: "batch": the scheduler'
            " of {folder}/one.yaml has it already",
        ),
        (
            "--config {folder}/one.yaml --config {folder}/bad.yaml --config absent.yaml",
            '{folder}/bad.yaml: profils: unknown field "profils"; did you mean "profiles"?',
        ),
        ("--config {folder}/one.yaml --config absent.yaml", "absent.yaml: cannot be read"),
        ("absent.yaml", "absent.yaml: cannot be read: No such file or directory"),
        ("--config absent.yaml", "absent.yaml: cannot be read: No such file or directory"),
        ("--db {folder}", "{folder} is a folder; name the file of a database"),
        ("--db {folder}/absent/cluster.db", "{folder}/absent/cluster.db cannot be created"),
        ("--record {folder}/wrong.yaml", "{folder}/wrong.yaml: exists already; name another file"),
        ("--record {folder}/absent/record.jsonl", "cannot be written: No such file or directory"),
        ("--kubeconfig {folder}", "{folder}: the kubeconfig cannot be written: Is a directory"),
        ("{folder}/wrong.yaml", "wrong.yaml: line 3: not YAML"),
        ("{folder}/typo.yaml", 'spec.containers[0].imag: unknown field; did you mean "image"?'),
    ],
)
def test_wrong_use_is_said_clearly(tmp_path, options, message):
    (tmp_path / "wrong.yaml").write_text("kind: Pod\nmetadata: {name: x\n")
    (tmp_path / "typo.yaml").write_text(
        "{apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {containers: [{name: a, imag: b}]}}"
    )
    head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    (tmp_path / "one.yaml").write_text(f"{head}profiles: [{{schedulerName: batch}}]\n")
    profiles = "[{schedulerName: other}, {schedulerName: batch}]"
    (tmp_path / "two.yaml").write_text(f"{head}profiles: {profiles}\n")
    (tmp_path / "bad.yaml").write_text(f"{head}profils: []\n")
    kubeconfig = tmp_path / "kubeconfig"
    others = {"--port": "0", "--kubeconfig": str(kubeconfig)}
    others = {name: value for name, value in others.items() if name not in options.split()}
    given = " ".join(map(" ".join, others.items()))
    result = run(f"up {given} {options.format(folder=tmp_path)}", status=2)
    assert message.format(folder=tmp_path) in result.stderr
    assert not kubeconfig.exists()
    assert "Traceback" not in result.stderr


def test_a_database_has_one_server(tmp_path):
    database = tmp_path / "cluster.db"
    with up(tmp_path, "--db", str(database)) as cluster:
        command = f"up --port 0 --kubeconfig {tmp_path / 'other'} --db {database}"
        result = run(command, status=2)
        assert "is in use by another process; stop that one, or use another file" in result.stderr
        assert not (tmp_path / "other").exists()
        assert cluster.send("POST", PODS, pod("web"))[0] == 201


def test_a_kubeconfig_may_be_in_a_new_folder(tmp_path):
    target = tmp_path / "new" / "folder" / "config"
    with up(tmp_path, "--kubeconfig", str(target)) as cluster:
        assert target.exists()
        assert cluster.end() == 0


def test_a_full_disk_ends_the_start(tmp_path):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES_MAX, FILE_BYTES_MAX))

    result = subprocess.run(
        [PODWRIGHT, "up", "--port", "0", "--nodes", "50", "--db", "cluster.db"],
        cwd=tmp_path,
        preexec_fn=limit,
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    assert result.returncode == 3, result.stderr
    assert "cluster.db" in result.stderr.splitlines()[-1]
    assert "Traceback" not in result.stderr


def test_a_second_interrupt_loses_nothing(tmp_path):
    database = str(tmp_path / "cluster.db")
    with up(tmp_path, "--db", database) as cluster:
        assert cluster.send("POST", PODS, pod("web"))[0] == 201
        # It is stopped meanwhile, so that the second one does not come after its end.
        for number in (signal.SIGSTOP, signal.SIGINT, signal.SIGTERM):
            cluster.process.send_signal(number)
        assert cluster.end(signal.SIGCONT) == 0
        assert "Traceback" not in cluster.text()
    with up(tmp_path, "--db", database) as cluster:
        assert cluster.send("GET", f"{PODS}/web")[0] == 200


def test_an_interrupt_while_the_command_line_is_imported_is_one_line():
    result = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_IMPORT], capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stderr) == (130, "interrupted\n")


def test_a_wrong_latency_is_rejected():
    assert 'did you mean "pods"?' in run("up --api-latency get:pod=5ms", status=2).stderr
