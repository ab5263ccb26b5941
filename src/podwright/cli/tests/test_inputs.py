"""Names of pods and nodes on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from podwright.apimachinery.objects import InputError
from podwright.cli.decisions.explanation_output import node_list
from podwright.cli.inputs import (
    Inputs,
    UnknownNode,
    extender_caller,
    find_key,
    find_node,
    has_no_workload,
    load_plugins,
    read_config_file,
    read_inputs,
    require_objects,
    scheduler_options,
    warn_of_kinds,
    warn_of_uncounted_gpus,
    without_classic_rules,
)
from podwright.cli.options import Setup
from podwright.cli.tests.served import command
from podwright.scheduler.assembly import UnknownPod
from podwright.scheduler.config import (
    DEFAULT_GATES,
    KubeSchedulerConfiguration,
    Rules,
    read_configuration,
)
from podwright.scheduler.framework import Plugin, TieRule
from podwright.scheduler.machine import SchedulerOptions
from podwright.simulation.files import LoadedObjects, load_bytes

NODE = b"{apiVersion: v1, kind: Node, metadata: {name: n}}"
PLUGIN = """
import podwright as pw

class Beside(pw.Plugin):
    name = "Beside"
"""
KEYS = ("default/web", "shop/web", "shop/cart", "lab/cart", "lab/model")


@pytest.mark.parametrize(
    ("text", "namespace", "found"),
    [
        ("web", "", "default/web"),
        ("pod/web", "", "default/web"),
        ("pods/model", "", "lab/model"),
        ("po/model", "lab", "lab/model"),
        ("model", "", "lab/model"),
        ("shop/web", "", "shop/web"),
        ("shop/web", "shop", "shop/web"),
        ("web", "shop", "shop/web"),
    ],
)
def test_a_pod_is_found_by_its_name(text, namespace, found):
    assert find_key(text, KEYS, namespace=namespace) == found
    assert find_key(text, iter(KEYS), namespace=namespace) == found


@pytest.mark.parametrize(
    ("text", "namespace", "error"),
    [
        ("cart", "", '"cart" is in several namespaces: shop/cart, lab/cart'),
        ("shop/web", "lab", '"shop/web" is not in namespace "lab"'),
        ("modle", "", 'no pod "modle" in these files; did you mean lab/model?'),
        (
            "web",
            "lab",
            'no pod "web" in namespace "lab" in these files; did you mean default/web or shop/web?',
        ),
        (
            "none/web",
            "",
            'no pod "none/web" in these files; did you mean default/web or shop/web?',
        ),
        ("lab/modle", "lab", 'no pod "lab/modle" in these files; did you mean lab/model?'),
        ("lab/mod", "", 'no pod "lab/mod" in these files; did you mean lab/model?'),
        ("labb/modelling", "", 'no pod "labb/modelling" in these files; did you mean lab/model?'),
        ("zzzzz", "", 'no pod "zzzzz" in these files'),
        ("zz/zzzzz", "", 'no pod "zz/zzzzz" in these files'),
    ],
)
def test_a_pod_that_is_not_there_is_an_error(text, namespace, error):
    with pytest.raises(UnknownPod) as caught:
        find_key(text, KEYS, namespace=namespace)
    assert str(caught.value) == error


def test_what_is_not_there_and_where_it_was_looked_for_are_named():
    with pytest.raises(UnknownPod) as caught:
        find_key("zz", KEYS, what="job", where="in this cluster")
    assert str(caught.value) == 'no job "zz" in this cluster'
    keys = [f"a{number}/web" for number in range(5)]
    with pytest.raises(UnknownPod) as caught:
        find_key("weg", keys)
    assert str(caught.value) == (
        'no pod "weg" in these files; did you mean a0/web or a1/web or a2/web?'
    )


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("nodes/gpu1", "; did you mean gpu-1 or gpu-2?"),
        ("node/gpu-3", "; did you mean gpu-2 or gpu-1?"),
        ("other", ""),
    ],
)
def test_a_node_that_is_not_there_is_an_error(text, hint):
    with pytest.raises(UnknownNode) as caught:
        find_node(text, iter(["gpu-1", "gpu-2", "large"]), where="here")
    assert str(caught.value) == f'no node "{text}" here{hint}'


def configured(text: str) -> KubeSchedulerConfiguration:
    head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    return read_configuration(f"{head}{text}", source="c.yaml")


def given(configuration: KubeSchedulerConfiguration | None = None) -> Inputs:
    return Inputs(LoadedObjects(), configuration, [], DEFAULT_GATES, "c.yaml", {})


def test_the_options_of_a_scheduler_are_those_of_the_command_line():
    configuration = configured("parallelism: 3\n")
    setup = Setup(seed=7, tie_rule="heap", preemption_offset="zero")
    assert scheduler_options(given(configuration), setup) == SchedulerOptions(
        configuration=configuration, plugins=(), gates=DEFAULT_GATES, seed=7,
        tie_rule=TieRule.HEAP, draws_preemption_offset=False, source="c.yaml",
    )  # fmt: skip
    plain = scheduler_options(given(), Setup())
    assert (plain.seed, plain.tie_rule, plain.draws_preemption_offset) == (0, TieRule.DRAWN, True)


EXTENDERS = "extenders: [{urlPrefix: 'http://a', filterVerb: filter}]\n"


@pytest.mark.parametrize(
    ("configuration", "is_called"),
    [(None, False), (configured(""), False), (configured(EXTENDERS), True)],
)
def test_extenders_are_called_where_a_configuration_has_some(configuration, is_called):
    assert (extender_caller(configuration, "c.yaml") is not None) is is_called


def test_the_modern_rules_replace_those_that_a_configuration_selects():
    classic = msgspec.structs.replace(configured("parallelism: 3\n"), rules=Rules())
    found = without_classic_rules(given(classic)).configuration
    assert found == configured("parallelism: 3\n")
    assert without_classic_rules(given()).configuration == KubeSchedulerConfiguration()


def test_files_without_objects_are_errors_each():
    nothing = LoadedObjects()
    require_objects(nothing, [])
    require_objects(load_bytes([("a.yaml", NODE)]), ["a.yaml", "b.yaml"])
    with pytest.raises(InputError) as caught:
        require_objects(nothing, ["a.yaml", "b.yaml"])
    assert caught.value.texts == [f"{name}: contains no objects" for name in ("a.yaml", "b.yaml")]


CUSTOM = b"""
{apiVersion: example.com/v1, kind: Odd, metadata: {name: a}}
---
{apiVersion: metrics.k8s.io/v1beta1, kind: PodMetrics, metadata: {name: a}}
---
{apiVersion: example.com/v1, kind: Other, metadata: {name: a}}
"""


def test_objects_of_custom_kinds_without_an_effect_are_named(capsys):
    loaded = load_bytes([("a.yaml", CUSTOM)], validate="ignore")
    warn_of_kinds(loaded, {("example.com", "Other")})
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("warning: a.yaml")
    assert line.endswith(
        ": Odd (example.com/v1) is not a known kind, which only custom plugins read"
    )
    warn_of_kinds(loaded)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith(
        ": Odd (example.com/v1) and Other (example.com/v1) are not known kinds, which only custom"
        " plugins read"
    )


@pytest.mark.parametrize(
    ("gpus", "setup", "plugins", "is_warned"),
    [
        ("1", Setup(), (), True),
        ("1", Setup(openb_gpus="count"), (), False),
        ("1", Setup(), (Plugin,), False),
        ("0", Setup(), (), False),
    ],
    ids=["not counted", "a resource", "a plugin may read them", "no GPUs"],
)
def test_gpus_that_nothing_counts_are_a_warning(gpus, setup, plugins, is_warned, capsys):
    table = f"name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1000,1024,{gpus},500\n"
    loaded = load_bytes([("pods.csv", table.encode())])
    inputs = Inputs(loaded, None, list(plugins), DEFAULT_GATES, "", {})
    warn_of_uncounted_gpus(inputs, setup)
    text = "--openb-gpus of schedule, simulate and convert makes them a resource"
    assert (text in capsys.readouterr().err) == is_warned


def test_only_the_first_document_of_a_configuration_is_read(tmp_path, capsys):
    file = tmp_path / "c.yaml"
    head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    file.write_text(f"{head}parallelism: 3\n---\n{head}parallelism: 4\n")
    assert read_config_file(file).parallelism == 3
    assert capsys.readouterr().err == f"warning: {file}: only the first document is read\n"
    file.write_text(f"{head}parallelism: 3\n")
    assert read_config_file(file).parallelism == 3
    assert capsys.readouterr().err == ""


def test_the_errors_of_all_plugin_files_come_together(tmp_path):
    for name, text in (("a.py", "1 +"), ("b.py", "raise KeyError"), ("c.py", PLUGIN)):
        (tmp_path / name).write_text(text)
    files = [tmp_path / name for name in ("a.py", "none.py", "b.py", "c.py")]
    with pytest.raises(InputError) as caught:
        load_plugins(files)
    assert [str(each.source).partition(":")[0] for each in caught.value.errors] == [
        str(file) for file in files[:3]
    ]
    (found,) = load_plugins(files[3:])
    assert found.name == "Beside"


def test_a_plugin_without_an_extension_point_is_a_warning(tmp_path, capsys):
    file = tmp_path / "idle.py"
    file.write_text("import podwright as pw\nclass Idle(pw.Plugin):\n    name = 'Idle'\n")
    (found,) = load_plugins([file])
    assert found.name == "Idle"
    assert capsys.readouterr().err == "warning: no extension point is implemented by Idle\n"


MISSING = b"""
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {priorityClassName: gone, containers: [{name: c, image: i}]}
"""


@pytest.mark.parametrize("validate", ["strict", "warn", "ignore"])
def test_a_class_that_no_file_has_is_an_error_a_warning_or_nothing(tmp_path, capsys, validate):
    file = tmp_path / "a.yaml"
    file.write_bytes(NODE + b"\n---" + MISSING)
    setup = Setup(validate=validate)
    if validate == "strict":
        with pytest.raises(InputError) as caught:
            read_inputs([str(file)], setup)
        (text,) = caught.value.texts
    else:
        assert len(read_inputs([str(file)], setup).loaded.sourced) == 2
        text = capsys.readouterr().err.removeprefix("warning: ")
    assert ("gone" in text) is (validate != "ignore")


@pytest.mark.parametrize("is_served", [False, True])
@pytest.mark.parametrize(
    ("gate", "is_decisive"), [("OpportunisticBatching", False), ("DRAConsumableCapacity", True)]
)
def test_a_gate_of_what_does_not_run_is_a_warning(tmp_path, capsys, is_served, gate, is_decisive):
    file = tmp_path / "a.yaml"
    file.write_bytes(NODE)
    setup = Setup(feature_gates=f"{gate}=false")
    read_inputs([str(file)], setup, is_served=is_served)
    is_warned = "no effect here" in capsys.readouterr().err
    assert is_warned is not (is_served or is_decisive)


@pytest.mark.parametrize(("has_both", "is_idle"), [(False, True), (True, False)])
def test_a_gate_has_an_effect_where_the_modern_rules_are_used_besides_the_classic_ones(
    tmp_path, capsys, has_both, is_idle
):
    file = tmp_path / "a.yaml"
    file.write_bytes(NODE)
    setup = Setup(feature_gates="DRAConsumableCapacity=false", rules="classic")
    read_inputs([str(file)], setup, has_both=has_both)
    assert ("no effect here" in capsys.readouterr().err) is is_idle


def test_long_lists_of_names_are_cut_unless_all_are_shown():
    names = [f"n{number}" for number in range(13)]
    assert node_list(names[:12], 5) == ", ".join(names[:12])
    assert node_list(names, 5) == f"{', '.join(names[:12])} and 1 more (-o wide)"
    assert node_list(names, None) == ", ".join(names)


@pytest.mark.parametrize("text", ["n1", "node/n1", "nodes/n1"])
def test_a_node_is_found_by_its_name(text):
    assert find_node(text, iter(["n0", "n1"])) == "n1"


@pytest.mark.parametrize(
    ("kind", "api_version", "is_none"),
    [
        ("Node", "v1", True),
        ("Service", "v1", True),
        ("Pod", "v1", False),
        ("Deployment", "apps/v1", False),
        ("CronJob", "batch/v1", False),
    ],
)
def test_pods_and_what_makes_pods_are_workloads(kind, api_version, is_none):
    document = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}}
    loaded = load_bytes([("a.json", json.dumps(document).encode())], validate="ignore")
    assert has_no_workload(loaded) is is_none


def test_the_calls_of_plugins_are_timed_on_request(tmp_path):
    file = tmp_path / "cluster.yaml"
    file.write_text(
        "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n"
        'status: {allocatable: {cpu: "1", pods: "3"}}\n---\n'
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"
        "spec: {containers: [{name: m, image: i}]}\n"
    )
    printed, _, status = command(f"simulate {file} --until 1m --timings")
    assert status == 0
    heads = ["PLUGIN", "POINT", "CALLS", "ERRORS", "TOTAL", "MEAN", "LONGEST", "LONGEST-POD"]
    assert printed.split("Calls of plugins:\n")[1].splitlines()[0].split() == heads
    found = json.loads(command(f"simulate {file} --until 1m --timings -o json")[0])
    names = {(each["plugin"], each["point"]) for each in found["timings"]}
    assert ("NodeResourcesFit", "PreFilter") in names
    assert "timings" not in json.loads(command(f"simulate {file} --until 1m -o json")[0])
    wide, _, _ = command(f"simulate {file} --until 1m --timings -o wide")
    assert wide.split("Calls of plugins:\n")[1].split()[0] == "PROFILE"


INSTALLED = """
import podwright as pw

class Installed(pw.Plugin):
    name = "Installed"

    def filter(self, cycle, node):
        return pw.Status()
"""


def test_a_run_names_the_packages_of_its_installed_plugins(tmp_path, monkeypatch):
    info = tmp_path / "packages" / "demo-1.2.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: demo\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(
        "[podwright.plugins]\nInstalled = demo_plugin:Installed\n"
    )
    (info.parent / "demo_plugin.py").write_text(INSTALLED)
    monkeypatch.syspath_prepend(info.parent)
    monkeypatch.chdir(tmp_path)
    Path("a.yaml").write_bytes(
        NODE + b"\n---\n" + MISSING.replace(b"priorityClassName: gone, ", b"")
    )
    head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    enabled = "profiles: [{plugins: {filter: {enabled: [{name: Installed}]}}}]\n"
    for text, packages in (("", None), (enabled, {"Installed": "demo 1.2"})):
        Path("c.yaml").write_text(head + text)
        out = "with" if text else "without"
        line = f"simulate a.yaml -c c.yaml --until 1m --out {out} --no-tables --exit-zero -o name"
        assert command(line)[2] == 0
        manifest = json.loads(Path(out, "manifest.json").read_bytes())
        assert manifest["options"].get("packages") == packages
