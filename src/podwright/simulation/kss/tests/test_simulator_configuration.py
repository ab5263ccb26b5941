"""The configuration of kube-scheduler-simulator, from a file and the environment."""

from __future__ import annotations

import pytest

from podwright.apimachinery.objects import InputError
from podwright.simulation.kss import read_simulator_configuration

TEXT = """
apiVersion: kube-scheduler-simulator-config/v1alpha1
kind: SimulatorConfiguration
port: 1212
etcdURL: "http://127.0.0.1:2379"
corsAllowedOriginList: ["http://localhost:3000"]
kubeConfig: /kubeconfig.yaml
kubeApiServerUrl: "http://127.0.0.1:3131"
"""


def read(text: str = TEXT, **environment: str):
    return read_simulator_configuration(text, environment, source="config.yaml")


def test_a_file_with_its_defaults():
    found = read()
    assert (found.port, found.kube_api_server_url) == (1212, "http://127.0.0.1:3131")
    assert found.cors_allowed_origin_list == ("http://localhost:3000",)
    assert not found.resource_sync_enabled


def test_the_environment_overrides_the_file():
    found = read(
        PORT="1300",
        KUBE_APISERVER_URL="http://127.0.0.1:9000",
        KUBE_SCHEDULER_CONFIG_PATH="/scheduler.yaml",
        CORS_ALLOWED_ORIGIN_LIST="http://a.example, http://b.example",
        REPLAYER_ENABLED="t",
        RECORD_FILE_PATH="/record.jsonl",
    )
    assert (found.port, found.kube_api_server_url) == (1300, "http://127.0.0.1:9000")
    assert found.cors_allowed_origin_list == ("http://a.example", "http://b.example")
    assert (found.kube_scheduler_config_path, found.record_file_path) == (
        "/scheduler.yaml",
        "/record.jsonl",
    )
    assert found.replay_enabled


@pytest.mark.parametrize(
    ("name", "text"),
    [("PORT", "many"), ("CORS_ALLOWED_ORIGIN_LIST", "http://a.example, nonsense")],
)
def test_a_wrong_value_of_the_environment_leaves_that_of_the_file(name, text):
    assert read(**{name: text}) == read()


def test_a_switch_of_the_environment_that_is_not_true_is_off():
    assert not read(TEXT + "replayEnabled: true\n", REPLAYER_ENABLED="yes").replay_enabled


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("port: 0", "config.yaml: port: Required value"),
        ("prot: 1", 'config.yaml: prot: unknown field "prot"; did you mean '),
        ("corsAllowedOriginList: [nonsense]", "corsAllowedOriginList[0]: Invalid value"),
        (
            "kind: Other",
            "must be a SimulatorConfiguration of kube-scheduler-simulator-config/v1alpha1, not "
            "Other of kube-scheduler-simulator-config/v1alpha1",
        ),
        ("etcdURL: ''", "config.yaml: etcdURL: Required value"),
        ("kubeApiServerUrl: ''", "config.yaml: kubeApiServerUrl: Required value"),
        (
            "externalImportEnabled: true\nkubeConfig: ''",
            "kubeConfig: Required value: with external",
        ),
        (
            "replayEnabled: true\nresourceSyncEnabled: true",
            "config.yaml: resourceSyncEnabled: resourceSyncEnabled and replayEnabled cannot",
        ),
        (
            "externalImportEnabled: true\nreplayEnabled: true",
            "externalImportEnabled and replayEnabled cannot be used simultaneously",
        ),
        ("resourceSyncEnabled: true\nkubeConfig: ''", "kubeConfig: Required value"),
        (
            "externalImportEnabled: true\nreplayEnabled: true\nkubeConfig: ''",
            "kubeConfig: Required value: with externalImportEnabled",
        ),
        (
            "resourceImportLabelSelector: {matchLabels: {a b: c}}",
            "resourceImportLabelSelector: key: Invalid value",
        ),
        ("port: [", "line 8, column 1"),
        # What is left out is as empty as in Go.
        ("# port", "config.yaml: port: Required value"),
        ("# etcdURL", "config.yaml: etcdURL: Required value"),
        ("# kubeApiServerUrl", "config.yaml: kubeApiServerUrl: Required value"),
    ],
)
def test_a_wrong_file_is_an_error_with_its_place(change, message):
    lines = [line for line in TEXT.splitlines() if line.split(":")[0] not in change]
    with pytest.raises(InputError) as caught:
        read("\n".join([*lines, *change.splitlines()]))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("kubeApiHost", "127.0.0.1", "the loopback address"),
        ("kubeApiPort", "1", "--port"),
        ("externalSchedulerEnabled", "true", "--no-scheduler"),
    ],
)
def test_keys_without_effect_have_a_reason(key, value, reason):
    assert list(read().without_effect) == ["etcdURL"]
    found = read(f"{TEXT}{key}: {value}\n").without_effect
    assert list(found) == ["etcdURL", key]
    assert reason in found[key]


@pytest.mark.parametrize("text", ["[]", "text", "- a"])
def test_a_file_that_is_no_mapping_is_an_error(text):
    with pytest.raises(InputError, match=r"^config\.yaml: must be a SimulatorConfiguration$"):
        read(text)


@pytest.mark.parametrize(
    ("origin", "is_url"),
    [("http://a.example", True), ("/path", True), ("a.example", False), ("", False)],
)
def test_origins_are_urls(origin, is_url):
    text = TEXT.replace("http://localhost:3000", origin)
    if is_url:
        assert read(text).cors_allowed_origin_list == (origin,)
    else:
        with pytest.raises(InputError, match=r"corsAllowedOriginList\[0\]"):
            read(text)


@pytest.mark.parametrize(
    ("name", "field", "value", "expected"),
    [
        ("PORT", "port", "+80", 80),
        ("PORT", "port", "++80", 1212),
        ("PORT", "port", "9" * 5_000, 1212),
        ("PORT", "port", "", 1212),
        ("KUBE_SCHEDULER_SIMULATOR_ETCD_URL", "etcd_url", "http://e", "http://e"),
        ("KUBE_APISERVER_URL", "kube_api_server_url", "", "http://127.0.0.1:3131"),
        ("EXTERNAL_IMPORT_ENABLED", "external_import_enabled", "true", True),
        ("EXTERNAL_IMPORT_ENABLED", "external_import_enabled", "0", False),
        ("RESOURCE_SYNC_ENABLED", "resource_sync_enabled", "1", True),
        ("REPLAYER_ENABLED", "replay_enabled", "false", False),
    ],
)
def test_each_variable_of_the_environment_has_its_field(name, field, value, expected):
    found = read(**{name: value})
    assert getattr(found, field) == expected
    others = [each for each in found.__struct_fields__ if each != field]
    assert [getattr(found, each) for each in others] == [getattr(read(), each) for each in others]


@pytest.mark.parametrize(
    ("labels", "selector"),
    [("", ""), ("resourceImportLabelSelector: {matchLabels: {b: x, a: z}}\n", "a=z,b=x")],
)
def test_the_selector_of_imported_objects_is_that_of_a_query(labels, selector):
    assert read(TEXT + labels).selector == selector
