"""Plugins of installed packages: found by entry points, loaded when a profile enables them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import msgspec
import pytest
from tests.e2e.command_line import NODES, pod, run

from podwright.online.sweep import load_plan
from podwright.online.sweep.figures_of_run import figures_of_run

CODE = """
import podwright as pw


class KeepLarge(pw.Plugin):
    \"\"\"Keep every pod on nodes of this name.\"\"\"

    name = "KeepLarge"

    def __init__(self, node: str = "large") -> None:
        self.node = node

    def filter(self, cycle, node):
        return pw.Status() if node.name == self.node else pw.Status.unschedulable("not it")


class NoPlugin:
    pass
"""
HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
ENABLED = "plugins: {multiPoint: {enabled: [{name: KeepLarge}]}}"
CONFIGURATION = f"{HEAD}profiles: [{{{ENABLED}}}]\n"


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install a package as pip does: its module, and the folder with its entry points."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))

    def install(
        entry_points: str, code: str = CODE, *, name: str = "rack_plugins", version: str = "1.2"
    ) -> None:
        (folder / f"{name}.py").write_text(code)
        info = folder / f"{name}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        (info / "entry_points.txt").write_text(f"[podwright.plugins]\n{entry_points}\n")
        monkeypatch.delitem(sys.modules, name, raising=False)

    yield install
    sys.modules.pop("rack_plugins", None)


@pytest.fixture
def cluster(write) -> str:
    return str(write("cluster.yaml", NODES + pod("web", "1") + pod("db", "1")))


def test_a_profile_that_enables_an_installed_plugin_has_it(install, write, cluster):
    install("KeepLarge = rack_plugins:KeepLarge")
    printed = run(f"schedule {cluster} --config {write('c.yaml', CONFIGURATION)}").stdout
    assert printed.count("  large") == 2
    shown = run(f"config show --config {write('c.yaml', CONFIGURATION)} -o table").stdout
    assert "KeepLarge" in shown


@pytest.mark.usefixtures("cluster")
def test_a_scenario_has_it_as_well(install, write):
    install("KeepLarge = rack_plugins:KeepLarge")
    write("c.yaml", CONFIGURATION)
    configurations = "configurations: [{file: c.yaml}]"
    expected = "expectations: [{pendingAtMost: 0}]"
    scenario = write(
        "s.yaml",
        "apiVersion: podwright.dev/v1alpha1\nkind: Scenario\nmetadata: {name: s}\n"
        f"spec: {{cluster: {{files: [cluster.yaml]}}, {configurations}, {expected}}}\n",
    )
    run(f"check {scenario}")


def test_being_installed_enables_nothing_and_imports_nothing(install, write, cluster):
    install("KeepLarge = rack_plugins:KeepLarge", "raise SystemExit('imported')")
    run(f"schedule {cluster}")
    run(f"schedule {cluster} --config {write('empty.yaml', HEAD)}")
    with pytest.raises(AssertionError, match="imported"):
        run(f"schedule {cluster} --config {write('c.yaml', CONFIGURATION)}")


def test_other_profiles_go_without_it(install, write):
    install("KeepLarge = rack_plugins:KeepLarge")
    first = f"{{schedulerName: default-scheduler, {ENABLED}}}"
    profiles = f"profiles: [{first}, {{schedulerName: other}}]\n"
    config = write("c.yaml", HEAD + profiles)
    shown = run(f"config show --config {config} -o table").stdout.splitlines()
    assert {line.split()[0] for line in shown if "KeepLarge" in line} == {"default-scheduler"}
    pods = pod("full", "8") + pod("late", "1", spec="schedulerName: other")
    printed = run(f"schedule {write('cluster.yaml', NODES + pods)} --config {config}").stdout
    assert [line.split()[1:3] for line in printed.splitlines()[1:]] == [
        ["full", "large"],
        ["late", "small"],
    ]


def test_its_arguments_are_those_of_the_configuration(install, write, cluster):
    install("KeepLarge = rack_plugins:KeepLarge")
    arguments = "pluginConfig: [{name: KeepLarge, args: {node: small}}]"
    config = write("c.yaml", f"{HEAD}profiles: [{{{ENABLED}, {arguments}}}]\n")
    assert run(f"schedule {cluster} --config {config}").stdout.count("  small") == 2
    arguments = arguments.replace("node", "zone")
    wrong = write("w.yaml", f"{HEAD}profiles: [{{{ENABLED}, {arguments}}}]\n")
    assert "it takes node, from profiles" in run(f"config check {wrong}", status=1).stdout


def test_a_file_has_precedence_over_an_installed_plugin_of_its_name(install, write, cluster):
    install("KeepLarge = rack_plugins:KeepLarge")
    file = write("mine.py", CODE.replace('"large"', '"small"'))
    line = f"schedule {cluster} --config {write('c.yaml', CONFIGURATION)} --plugin {file}"
    assert run(line).stdout.count("  small") == 2


def test_a_recorded_run_finds_its_installed_plugin(install, write, cluster, tmp_path):
    install("KeepLarge = rack_plugins:KeepLarge")
    config = write("c.yaml", CONFIGURATION)
    run(f"simulate {cluster} --config {config} --out {tmp_path}/run")
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["options"]["packages"] == {"KeepLarge": "rack_plugins 1.2"}
    assert "not it" in run(f"explain web --run {tmp_path}/run").stdout
    assert "2 on nodes" in run(f"run show {tmp_path}/run").stdout
    again = run(f"simulate --resume {tmp_path}/run")
    assert "is already finished" in again.stderr


def test_an_installed_plugin_does_not_stand_for_a_file(install, write, cluster, tmp_path):
    file = write("mine.py", CODE)
    config = write("c.yaml", CONFIGURATION)
    run(f"simulate {cluster} --config {config} --plugin {file} --out {tmp_path}/run")
    install("KeepLarge = rack_plugins:KeepLarge")
    expected = run(f"run show {tmp_path}/run", status=2).stderr
    assert "plugins that are not in-tree: KeepLarge; pass their files" in expected
    assert "2 on nodes" in run(f"run show {tmp_path}/run --plugin {file}").stdout


@pytest.mark.parametrize(
    ("entry_point", "code", "message"),
    [
        pytest.param(
            "rack_plugins:KeepLarge",
            "import nowhere_to_be_found",
            "cannot be imported: ModuleNotFoundError: No module named 'nowhere_to_be_found'",
            id="a missing import",
        ),
        pytest.param(
            "rack_plugins:KeepLarge",
            "raise SystemExit(0)",
            "cannot be imported: SystemExit: 0",
            id="an exit of the process",
        ),
        pytest.param(
            "rack_plugins:KeepLarge",
            CODE.replace('name = "KeepLarge"', "name = 5"),
            "`name` must be a string, not 5",
            id="a name that is none",
        ),
        pytest.param(
            "rack_plugins:Other",
            CODE,
            "cannot be imported: AttributeError: module 'rack_plugins' has no attribute 'Other'",
            id="no such class",
        ),
        pytest.param(
            "rack_plugins:NoPlugin",
            CODE,
            "is not a subclass of podwright.Plugin",
            id="no plugin",
        ),
        pytest.param(
            "rack_plugins:KeepLarge",
            CODE.replace('name = "KeepLarge"', 'name = "Keep"'),
            'the plugin\'s `name` is "Keep"; both have to be the same',
            id="another name",
        ),
    ],
)
def test_errors_of_an_installed_plugin_are_reported(
    install, write, cluster, entry_point, code, message
):
    install(f"KeepLarge = {entry_point}", code)
    expected = run(f"schedule {cluster} --config {write('c.yaml', CONFIGURATION)}", status=2).stderr
    place = f"error: rack_plugins 1.2: entry point KeepLarge = {entry_point}"
    assert expected.splitlines()[0] == f"{place}: {message}"


def test_a_constructor_of_an_installed_plugin_may_raise_anything(install, write, cluster):
    install(
        "KeepLarge = rack_plugins:KeepLarge", CODE.replace("self.node = node", "raise SystemExit")
    )
    config = write("c.yaml", CONFIGURATION)
    for line in (f"schedule {cluster}", f"simulate {cluster}", "config show"):
        expected = run(f"{line} --config {config}", status=2).stderr
        place = f"error: {Path(config).parent}/site-packages/rack_plugins.py: line 11"
        assert expected == f'{place}: initializing plugin "KeepLarge": SystemExit\n'


def test_two_packages_with_one_name_are_refused(install, write, cluster):
    install("KeepLarge = rack_plugins:KeepLarge")
    install("KeepLarge = more_plugins:KeepLarge", name="more_plugins", version="2.0")
    expected = run(f"schedule {cluster} --config {write('c.yaml', CONFIGURATION)}", status=2).stderr
    packages = "more_plugins 2.0 and rack_plugins 1.2"
    assert f'duplicate plugin "KeepLarge" in {packages}: uninstall all but one' in expected


def test_a_plugin_that_is_not_installed_is_unknown(write, cluster):
    expected = run(f"schedule {cluster} --config {write('c.yaml', CONFIGURATION)}", status=2).stderr
    assert "KeepLarge" in expected
    assert "--plugin FILE, or install its package" in expected


def test_a_sweep_runs_with_installed_plugins(install, tmp_path, cluster):
    install("KeepLarge = rack_plugins:KeepLarge")
    plan = {
        "inputs": [{"name": "two", "files": [cluster]}],
        "configurations": [{"name": "default"}, {"name": "large", "config": "scheduler.yaml"}],
        "seeds": "1",
    }
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    (tmp_path / "scheduler.yaml").write_text(CONFIGURATION)
    found = load_plan(tmp_path / "plan.json")
    case, configurations = found.runs(), {each.name: each for each in found.configurations}
    assert configurations["large"].packages == ("rack_plugins 1.2",)
    assert not configurations["default"].packages
    large = next(run for run in case if run.configuration == "large")
    given = (found.inputs[0], configurations["large"], found.options)
    assert not figures_of_run(large, *given).error
    other = msgspec.structs.replace(configurations["large"], packages=("rack_plugins 1.1",))
    assert other.digest != configurations["large"].digest
    error = figures_of_run(large, found.inputs[0], other, found.options).error
    assert (
        "the plugins of rack_plugins 1.1 are needed, and this worker has rack_plugins 1.2" in error
    )
