"""Plugin files, classes and constructors that raise any exception."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
from tests.e2e.command_line import QUICKSTART, run
from typer.main import get_command

from podwright.cli import COMMANDS, app

GOOD = """
import podwright as pw


class Fine(pw.Plugin):
    name = "Fine"

    def filter(self, cycle, node):
        return pw.Status()
"""
RAISED = (
    ("SystemExit(0)", "SystemExit: 0"),
    ("SystemExit('the end')", "SystemExit: the end"),
    ("GeneratorExit()", "GeneratorExit"),
    ("KeyError('zone')", "KeyError: 'zone'"),
    ("RecursionError('too deep')", "RecursionError: too deep"),
    ("MemoryError()", "MemoryError"),
    ("OSError(28, 'No space left on device')", "OSError: [Errno 28] No space left on device"),
    (r"RuntimeError('first\nsecond')", "RuntimeError: first second"),
    ("Exception(Unspeakable())", "Exception"),
    ("ValueError('no such zone')", "no such zone"),
)
UNSPEAKABLE = """
class Unspeakable:
    def __str__(self):
        raise ValueError
    __repr__ = __str__
"""
WITH_FILES = (
    f"schedule {QUICKSTART}",
    f"explain web-0 {QUICKSTART}",
    f"simulate {QUICKSTART}",
    f"compare-rules {QUICKSTART}",
    f"capacity --headroom {QUICKSTART}",
    f"autoscale examples/autoscaling/groups.yaml {QUICKSTART}",
    f"drain-plan general-a1 {QUICKSTART}",
    f"diff {QUICKSTART} --to-seed 1",
    f"up {QUICKSTART} --port 0 --kubeconfig RUN-kubeconfig",
    "config show",
    "config check CONFIG",
    "shadow examples/shadow",
    "scheduler --server http://127.0.0.1:9",
)
WITH_A_RUN = (
    "run show RUN",
    "run step RUN",
    "explain web --run RUN",
    "explain web --run RUN -o kss",
    "report RUN --out RUN.html",
    "check --create RUN.yaml --from-run RUN --decision web",
)


def test_every_command_that_takes_plugins_is_here():
    taking = set()
    group: Any = get_command(app)
    for name in COMMANDS:
        command = group.get_command(None, name)
        for part in getattr(command, "commands", {name: command}).values():
            # `debug failures --plugin NAME` selects failures, and takes no file.
            if any("--plugin" in param.opts and param.multiple for param in part.params):
                taking.add(name if part is command else f"{name} {part.name}")
    here = {" ".join(line.split()[:2]) for line in (*WITH_FILES, *WITH_A_RUN)}
    assert taking == {
        line if line.split()[0] in ("config", "run") else line.split()[0] for line in here
    }


@pytest.fixture
def refused(write, a_run):
    """Run a command with a plugin file; return its path, and the one line that is printed."""

    def refused(line: str, code: str) -> tuple[str, str]:
        file = write("mine.py", code)
        config = write(
            "config.yaml",
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n",
        )
        line = line.replace("CONFIG", config).replace("RUN", str(a_run))
        result = run(f"{line} --plugin {shlex.quote(file)}", status=2)
        assert not result.stdout
        (expected,) = result.stderr.splitlines()
        return file, expected

    return refused


@pytest.mark.parametrize("line", [*WITH_FILES, *WITH_A_RUN])
@pytest.mark.parametrize(("error", "expected"), RAISED)
def test_a_file_may_raise_anything_when_it_is_run(refused, line, error, expected):
    code = f"{UNSPEAKABLE}\n\nraise {error}\n"
    expected = f"ValueError: {expected}" if error.startswith("ValueError") else expected
    file, printed = refused(line, code)
    assert printed == f"error: {file}: line 8: {expected}"


@pytest.mark.parametrize("line", WITH_FILES)
@pytest.mark.parametrize(("error", "expected"), RAISED)
def test_a_constructor_may_raise_anything(refused, line, error, expected):
    raising = f"{GOOD}\n    def __init__(self):\n        raise {error}\n{UNSPEAKABLE}"
    file, printed = refused(line, raising)
    assert printed == f'error: {file}: line 12: initializing plugin "Fine": {expected}'


def test_a_constructor_that_recurses_for_ever_is_refused(refused):
    raising = f"{GOOD}\n    def __init__(self):\n        self.__init__()\n"
    _, printed = refused(f"schedule {QUICKSTART}", raising)
    assert ': initializing plugin "Fine": RecursionError: maximum recursion depth' in printed


def test_an_argument_that_a_plugin_refuses_is_a_problem_of_the_configuration(write):
    raising = f"{GOOD}\n    def __init__(self, zone):\n        raise ValueError('no such zone')\n"
    config = write(
        "config.yaml",
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{pluginConfig: [{name: Fine, args: {zone: a}}]}]\n",
    )
    result = run(f"config check {config} --plugin {write('mine.py', raising)}", status=1)
    assert result.stdout == f'error: {config}: initializing plugin "Fine": no such zone\n'


@pytest.mark.parametrize("line", WITH_A_RUN)
def test_a_past_run_is_refused_if_its_plugin_cannot_be_made_any_more(write, tmp_path, line):
    file = write("mine.py", GOOD)
    cluster = write("cluster.yaml", CLUSTER)
    run(f"simulate {cluster} --plugin {file} --no-tables --out {tmp_path}/run")
    write("mine.py", f"{GOOD}\n    def __init__(self):\n        raise SystemExit(0)\n")
    line = line.replace("RUN", f"{tmp_path}/run")
    result = run(f"{line} --plugin {file}", status=2)
    assert result.stderr.splitlines()[-1].endswith('initializing plugin "Fine": SystemExit: 0')
    assert len(result.stderr.splitlines()) == 1


CLUSTER = """
apiVersion: v1
kind: Node
metadata: {name: small}
status: {allocatable: {cpu: "2", memory: 4Gi, pods: "110"}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: main, image: app}]}
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("    name = 5\n", "Mine: `name` must be a string, not 5"),
        (
            '    name = "Mine"\n    Args = dict\n',
            "Mine: `Args` must be a subclass of msgspec.Struct, not something of type type",
        ),
        (
            '    name = "Mine"\n    def __new__(cls):\n        return 5\n',
            "Mine makes 5, which is not a plugin",
        ),
        (
            '    name = "Mine"\n    handle = property(lambda self: None)\n',
            "AttributeError: property 'handle' of 'Mine' object has no setter",
        ),
        (
            '    name = "Mine"\n    @classmethod\n    def extension_points(cls):\n'
            "        raise KeyError(5)\n",
            "its extension points cannot be found: KeyError: 5",
        ),
        (
            '    name = "Mine"\n    def preFilter(self, cycle):\n        pass\n',
            'Mine: preFilter is not a method that plugins have; did you mean "pre_filter"?'
            " (a method of your own can be named _preFilter)",
        ),
        (
            '    name = "Mine"\n    filter_read = pw.Reads.NODE\n',
            "Mine: filter_read is not a declaration that plugins have; did you mean"
            ' "filter_reads"?',
        ),
    ],
)
@pytest.mark.parametrize("line", WITH_FILES)
def test_a_class_that_no_plugin_can_be_made_of_is_refused(refused, line, body, expected):
    code = f"import podwright as pw\n\n\nclass Mine(pw.Plugin):\n{body}"
    _, printed = refused(line, f"{code}    def filter(self, cycle, node):\n        pass\n")
    assert printed.endswith(expected)


@pytest.mark.parametrize("error", ["SystemExit(0)", "GeneratorExit()"])
@pytest.mark.parametrize("line", WITH_FILES[:4])
def test_a_plugin_does_not_end_the_process_with_a_status_of_its_own(write, line, error):
    code = GOOD.replace("return pw.Status()", f"raise {error}")
    file = write("mine.py", code)
    expected = run(f"{line} --plugin {file}", status=2).stderr.splitlines()[-1]
    assert expected == f"error: {file}: line 9: {error.partition('(')[0]} was raised"
