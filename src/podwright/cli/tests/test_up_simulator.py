"""The options of a SimulatorConfiguration, together with those of the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from podwright.apimachinery.objects import InputError
from podwright.cli.clusters.options import SelectionOptions
from podwright.cli.serving.up_options import (
    InputOptions,
    KssOptions,
    SchedulingOptions,
    ServingOptions,
    UpOptions,
)
from podwright.cli.serving.up_simulator import with_simulator_file

HEAD = """
apiVersion: kube-scheduler-simulator-config/v1alpha1
kind: SimulatorConfiguration
port: 1212
etcdURL: "http://127.0.0.1:2379"
kubeApiServerUrl: "http://127.0.0.1:3131"
"""
MORE = """
kubeConfig: {kubeconfig}
resourceImportLabelSelector:
  matchLabels: {{team: a}}
  matchExpressions: [{{key: tier, operator: In, values: [web, api]}}]
"""
NO_INPUTS = InputOptions()


@pytest.fixture(autouse=True)
def _without_variables(monkeypatch):
    for name in ("EXTERNAL_IMPORT_ENABLED", "RESOURCE_SYNC_ENABLED", "PORT"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def read(tmp_path):
    """Return a function that reads a configuration with a kubeconfig that exists."""
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.touch()

    def read(more, inputs=NO_INPUTS):
        file = tmp_path / "config.yaml"
        file.write_text(HEAD + MORE.format(kubeconfig=kubeconfig) + more)
        return with_simulator_file(UpOptions(inputs=inputs), file), str(kubeconfig)

    return read


@pytest.mark.parametrize(
    ("switch", "options"),
    [
        ("externalImportEnabled", ("imported", "sync")),
        ("resourceSyncEnabled", ("sync", "imported")),
    ],
)
def test_the_switches_are_the_options_import_and_sync_with_the_selector(
    read, capfd, switch, options
):
    found, kubeconfig = read(f"{switch}: true\n")
    used, unused = options
    assert getattr(found.inputs, used) == kubeconfig
    assert not getattr(found.inputs, unused)
    assert found.inputs.selection.selector == "team=a,tier in (api,web)"
    assert found.serving.port == 3131
    assert "kubeConfig" not in capfd.readouterr().err


def test_a_record_is_replayed_after_the_given_events_if_that_is_enabled(read, capfd):
    given = InputOptions(events=(Path("given.jsonl"),))
    found, _ = read("replayEnabled: true\nrecordFilePath: record.json\n", given)
    assert found.inputs.events == (Path("given.jsonl"), Path("record.json"))
    assert "recordFilePath" not in capfd.readouterr().err
    found, _ = read("recordFilePath: record.json\n", given)
    assert found.inputs.events == (Path("given.jsonl"),)
    assert "recordFilePath has no effect: replayEnabled is false" in capfd.readouterr().err


def test_options_of_the_command_line_come_first(read, capfd):
    given = InputOptions(sync="cluster:prod", selection=SelectionOptions(selector="app=web"))
    found, _ = read("externalImportEnabled: true\n", given)
    assert found.inputs == given
    assert "externalImportEnabled has no effect: --sync is given" in capfd.readouterr().err


def test_what_is_not_used_is_named(read, capfd):
    found, _ = read("")
    assert found.inputs == NO_INPUTS
    printed = capfd.readouterr().err
    assert "kubeConfig has no effect: nothing is imported or followed" in printed
    assert "resourceImportLabelSelector has no effect" in printed


def test_the_scheduler_has_the_configuration_of_the_file_unless_another_is_given(tmp_path):
    file = tmp_path / "config.yaml"
    file.write_text(HEAD + "kubeSchedulerConfigPath: scheduler.yaml\n")
    found = with_simulator_file(UpOptions(), file)
    assert found.scheduling.configs == (Path("scheduler.yaml"),)
    given = UpOptions(scheduling=SchedulingOptions(configs=(Path("own.yaml"),)))
    assert with_simulator_file(given, file).scheduling.configs == (Path("own.yaml"),)


@pytest.mark.parametrize("switch", ["externalImportEnabled", "resourceSyncEnabled"])
def test_a_cluster_cannot_be_read_without_its_kubeconfig(tmp_path, switch):
    file = tmp_path / "config.yaml"
    file.write_text(HEAD + f"kubeConfig: none\n{switch}: true\n")
    with pytest.raises(InputError) as caught:
        with_simulator_file(UpOptions(), file)
    assert list(map(str, caught.value.errors)) == [f'{file}: kubeConfig: "none" is not a file']


@pytest.mark.parametrize(
    ("given", "port"),
    [
        pytest.param(UpOptions(), 3131, id="that of the file"),
        pytest.param(
            UpOptions(serving=ServingOptions(port=8080), given=frozenset({"port"})),
            8080,
            id="that of the command line",
        ),
    ],
)
def test_the_cluster_has_the_port_of_its_address(tmp_path, given, port):
    file = tmp_path / "config.yaml"
    file.write_text(HEAD)
    assert with_simulator_file(given, file).serving.port == port


@pytest.mark.parametrize(("given", "port"), [(None, 1212), (4000, 4000)])
def test_the_simulator_has_its_port_and_all_allowed_origins(tmp_path, given, port):
    file = tmp_path / "config.yaml"
    file.write_text(HEAD + 'corsAllowedOriginList: ["http://a"]\n')
    options = UpOptions(kss=KssOptions(kss_port=given, cors_origin=("http://b",)))
    found = with_simulator_file(options, file).kss
    assert (found.kss_port, found.cors_origin) == (port, ("http://b", "http://a"))
