"""Configurations that come over HTTP."""

import pytest

from podwright.apimachinery.objects import InputError
from podwright.online.apiserver.scheduling.received_configuration import (
    called_extenders,
    check_options,
    host_of,
    read_received,
    warnings_of,
)
from podwright.scheduler.config import Extender, PartialConfiguration, read_configuration
from podwright.scheduler.framework import Plugin
from podwright.scheduler.machine import SchedulerOptions


class Own(Plugin):
    """A plugin of a user."""

    name = "Own"


KIND = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
EXTENDER = {"urlPrefix": "http://extender.example:8080/x", "filterVerb": "filter"}


def read(*extenders, hosts=(), **fields):
    """Return the errors of a configuration by path."""
    document = {**KIND, **fields, **({"extenders": list(extenders)} if extenders else {})}
    try:
        read_received(document, allowed_hosts=hosts, source="the request")
    except PartialConfiguration as error:
        return {each.path: each.message for each in error.errors if each.source == "the request"}
    return {}


@pytest.mark.parametrize(
    ("prefix", "enable_https", "host"),
    [
        ("http://a.example", False, "a.example:80"),
        ("http://a.example", True, "a.example:443"),
        ("https://a.example/x", False, "a.example:443"),
        ("http://a.example:8080/x", True, "a.example:8080"),
        ("a.example", False, ""),
        ("http://a.example:x", False, "http://a.example:x"),
    ],
)
def test_the_host_of_an_extender_has_its_port(prefix, enable_https, host):
    assert host_of(Extender(url_prefix=prefix, enable_https=enable_https)) == host


@pytest.mark.parametrize(
    ("hosts", "is_allowed"),
    [
        (["extender.example:8080"], True),
        (["extender.example"], True),
        (["extender.example:80"], False),
        (["other.example", "example:8080"], False),
        ([], False),
    ],
)
def test_only_hosts_that_were_allowed_at_the_start_are_called(hosts, is_allowed):
    errors = read(EXTENDER, hosts=hosts)
    assert (errors == {}) is is_allowed
    if not is_allowed:
        assert errors == {
            "extenders[0].urlPrefix": "extender.example:8080 is not allowed; start the server with"
            " --allow-extender extender.example:8080"
        }


def test_an_extender_without_a_host_is_not_the_empty_name():
    errors = read({**EXTENDER, "urlPrefix": "nothing"}, hosts=["a.example"])
    assert errors["extenders[0].urlPrefix"] == "Required value: must be a URL with a host"


def test_extenders_of_a_policy_are_checked_too():
    rules = {"name": "classic", "policy": {"kind": "Policy", "extenders": [EXTENDER]}}
    errors = read(rules=rules)
    assert list(errors) == ["rules.policy.extenders[0].urlPrefix"]
    assert read(rules=rules, hosts=["extender.example"]) == {}
    configuration = read_configuration({**KIND, "rules": rules}, source="test")
    assert [path for path, _ in called_extenders(configuration)] == ["rules.policy.extenders[0]"]
    assert list(called_extenders(None)) == []


@pytest.mark.parametrize("field", ["certFile", "keyFile", "caFile"])
def test_files_cannot_be_named(field):
    errors = read({**EXTENDER, "tlsConfig": {field: "/etc/passwd"}}, hosts=["extender.example"])
    assert errors == {
        f"extenders[0].tlsConfig.{field}": "a configuration that is sent over HTTP cannot name"
        f" files; use {field.removesuffix('File')}Data"
    }


def test_a_kubeconfig_cannot_be_named_and_all_errors_are_there():
    other = {**EXTENDER, "tlsConfig": {"caFile": "/x"}, "weigth": 1}
    errors = read(EXTENDER, other, clientConnection={"kubeconfig": "/x"})
    assert set(errors) == {
        "extenders[1].weigth",
        "clientConnection.kubeconfig",
        "extenders[0].urlPrefix",
        "extenders[1].tlsConfig.caFile",
        "extenders[1].urlPrefix",
    }


def test_what_can_be_read_of_a_wrong_configuration_is_kept():
    with pytest.raises(PartialConfiguration) as raised:
        read_received({**KIND, "extenders": [EXTENDER]}, allowed_hosts=(), source="x")
    assert raised.value.configuration.extenders[0].url_prefix == EXTENDER["urlPrefix"]
    errors = raised.value.errors
    with pytest.raises(InputError, match="--allow-extender") as checked:
        check_options(SchedulerOptions(configuration=raised.value.configuration), errors)
    assert [(each.path, each.message) for each in checked.value.errors] == [
        (each.path, each.message) for each in errors
    ]


def test_settings_without_effect_are_warnings():
    filters = {"disabled": [{"name": "Own"}, {"name": "Other"}]}
    profile = {"plugins": {"filter": filters}}
    configuration = read_configuration({**KIND, "profiles": [profile]}, source="test")
    options = SchedulerOptions(configuration=configuration, plugins=(Own,))
    assert warnings_of(options) == ('disabled has no effect for unknown plugins: "Other"',)
    assert warnings_of(SchedulerOptions()) == ()
