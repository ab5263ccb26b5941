"""What the v1.16 rules do not allow, and TLS settings of extenders that cannot be loaded."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.scheduler.config import (
    Extender,
    ExtenderTLSConfig,
    KubeSchedulerConfiguration,
    effective,
    effective_document,
    read_configuration,
    tls_errors,
)
from podwright.scheduler.config.validation import validate_rules

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
NO_SETTINGS = 'rules: settings of the v1.16 rules, but not "name: classic"'
NO_PLUGINS = "the v1.16 rules have predicates and priorities, not plugins: see rules.policy"


def read(body: str) -> KubeSchedulerConfiguration:
    return read_configuration(HEAD + body, source="c.yaml")


@pytest.mark.parametrize(
    ("body", "messages"),
    [
        pytest.param("", [], id="no rules"),
        pytest.param("rules: modern", [], id="the present ones"),
        pytest.param("rules: {algorithmProvider: a}", [NO_SETTINGS], id="a provider"),
        pytest.param("rules: {backoffFlushPeriod: 2s}", [NO_SETTINGS], id="a period"),
        pytest.param("rules: classic", [], id="those of v1.16"),
        pytest.param("rules: {name: classic, algorithmProvider: a}", [], id="their provider"),
        pytest.param("rules: {name: classic, policy: {}}", [], id="their policy"),
        pytest.param(
            "rules: {name: classic, policy: {}, algorithmProvider: a}",
            ["rules.algorithmProvider: a policy is used instead of a provider"],
            id="a provider beside a policy, even an empty one",
        ),
        pytest.param(
            "rules: classic\nprofiles: [{schedulerName: a}, {schedulerName: b,"
            " plugins: {score: {enabled: [{name: A}]}}, pluginConfig: [{name: A}]}]",
            [f"profiles[1].plugins: {NO_PLUGINS}", f"profiles[1].pluginConfig: {NO_PLUGINS}"],
            id="plugins and their arguments",
        ),
        pytest.param(
            "rules: classic\nprofiles: [{plugins: {}, pluginConfig: []}]", [], id="no plugins"
        ),
        pytest.param(
            "rules: classic\nextenders: [{urlPrefix: u}]",
            ["extenders: the v1.16 rules read extenders from rules.policy"],
            id="extenders",
        ),
        pytest.param(
            "rules: {name: classic, backoffFlushPeriod: 0s, unschedulableFlushPeriod: -1s,"
            " maxUnschedulableDuration: -90s}",
            [
                'rules.backoffFlushPeriod: Invalid value: "0s": must be greater than zero',
                'rules.unschedulableFlushPeriod: Invalid value: "-1s": must be greater than zero',
                'rules.maxUnschedulableDuration: Invalid value: "-1m30s": must be greater than'
                " zero",
            ],
            id="periods that are not positive",
        ),
        pytest.param(
            "rules: {name: classic, backoffFlushPeriod: 1ns, unschedulableFlushPeriod: 1ns,"
            " maxUnschedulableDuration: 1ns}",
            [],
            id="the shortest periods",
        ),
    ],
)
def test_what_the_chosen_rules_allow(body: str, messages: list[str]) -> None:
    assert [str(error) for error in validate_rules(read(body))] == messages


def test_profiles_of_the_older_rules_are_shown_by_their_names_only() -> None:
    body = "profiles: [{schedulerName: a}, {schedulerName: b}]\n"
    classic = effective_document(effective(read(f"{body}rules: classic")))
    assert classic["profiles"] == [{"schedulerName": "a"}, {"schedulerName": "b"}]
    modern: Any = effective_document(effective(read(body)))
    assert [each.keys() for each in modern["profiles"]] == [
        {"pluginConfig", "plugins", "schedulerName"}
    ] * 2


# ------------------------------------------------------------------------------ extenders

CA, CERT, KEY = (f"-----BEGIN {name}-----".encode() for name in ("CA", "CERTIFICATE", "KEY"))
FILES = {"ca": CA, "cert": CERT, "key": KEY, "text": b"x", "empty": b""}


def read_file(name: str) -> bytes:
    if name not in FILES:
        raise FileNotFoundError(2, "No such file or directory", name)
    return FILES[name]


@pytest.mark.parametrize(
    ("settings", "enables_https", "message"),
    [
        pytest.param({}, False, None, id="nothing is set"),
        pytest.param({}, True, None, id="HTTPS without an authority does not verify"),
        pytest.param({"insecure": True}, False, None, id="nothing is verified"),
        pytest.param({"server_name": "s"}, False, None, id="a name"),
        pytest.param({"ca_file": "ca"}, True, None, id="an authority in a file"),
        pytest.param({"ca_data": CA}, True, None, id="an authority"),
        pytest.param(
            {"ca_file": "ca", "cert_file": "cert", "key_file": "key"}, True, None, id="all files"
        ),
        pytest.param({"cert_data": CERT, "key_data": KEY}, True, None, id="a client"),
        pytest.param(
            {"cert_data": b"x", "key_data": KEY}, True,
            "tls: failed to find any PEM data in certificate input", id="data without PEM",
        ),
        pytest.param({"cert_data": CERT, "key_file": "key"}, False, None, id="a key in a file"),
        pytest.param(
            {"ca_data": CA, "insecure": True}, True,
            "specifying a root certificates file with the insecure flag is not allowed",
            id="an authority that is not used",
        ),
        pytest.param(
            {"ca_file": "ca", "insecure": True}, False,
            "specifying a root certificates file with the insecure flag is not allowed",
            id="the file of an authority that is not used",
        ),
        pytest.param(
            {"ca_file": "none"}, True, "open none: no such file or directory", id="no file"
        ),
        pytest.param(
            {"cert_file": "cert", "key_file": "none"}, True,
            "open none: no such file or directory", id="no file of the key",
        ),
        pytest.param({"ca_file": "none", "ca_data": CA}, True, None, id="data win over a file"),
        pytest.param(
            {"ca_file": "text"}, True,
            "unable to load root certificates: unable to parse bytes as PEM block",
            id="an authority that is not PEM",
        ),
        pytest.param({"ca_file": "empty"}, True, None, id="an empty file has no authority"),
        pytest.param(
            {"cert_file": "text", "key_file": "key"}, True,
            "tls: failed to find any PEM data in certificate input", id="no certificate",
        ),
        pytest.param(
            {"cert_file": "text", "key_file": "key"}, False,
            "tls: failed to find any PEM data in certificate input",
            id="no certificate, also without HTTPS",
        ),
        pytest.param(
            {"cert_file": "cert", "key_data": b"x"}, True,
            "tls: failed to find any PEM data in key input", id="no key",
        ),
        pytest.param({"cert_file": "text"}, True, None, id="a certificate without a key"),
        pytest.param({"key_data": b"x"}, True, None, id="a key without a certificate"),
        pytest.param({"cert_file": "none"}, False, None, id="half a client is not loaded"),
        pytest.param(
            {"cert_file": "none"}, True, "open none: no such file or directory",
            id="half a client beside HTTPS is",
        ),
    ],
)  # fmt: skip
def test_tls_settings_are_loaded_as_at_the_start(
    settings: dict[str, Any], enables_https: bool, message: str | None
) -> None:
    tls = ExtenderTLSConfig(**settings)
    extenders = (Extender(), Extender(enable_https=enables_https, tls_config=tls))
    expected = (
        [] if message is None else [f"extenders[1].tlsConfig: couldn't build extenders: {message}"]
    )
    assert [str(error) for error in tls_errors(extenders, read_file)] == expected


def test_an_error_without_a_reason_is_shown_as_it_is() -> None:
    def failing(name: str) -> bytes:
        raise OSError(f"{name} IS AWAY")

    tls = ExtenderTLSConfig(ca_file="a")
    (error,) = tls_errors((Extender(tls_config=tls),), failing)
    assert error.message.endswith(": a is away")


def test_the_rules_of_v1_16_have_its_defaults() -> None:
    rules = read("rules: classic").rules
    assert rules is not None
    assert (rules.name, rules.algorithm_provider, rules.policy) == ("classic", "", None)
    assert rules.hard_pod_affinity_symmetric_weight == 1
    assert (rules.non_preempting_priority, rules.balanced_allocation) == (False, "1.16")
    periods_ns = rules.backoff_flush_period_ns, rules.unschedulable_flush_period_ns
    assert periods_ns == (1_000_000_000, 30_000_000_000)
    assert rules.max_unschedulable_duration_ns == 60_000_000_000
    text = "rules: {name: classic, unschedulableFlushPeriod: 5s, backoffFlushPeriod: 2s}"
    given = read(text).rules
    assert given is not None
    assert given.unschedulable_flush_period_ns == 5_000_000_000
    assert given.backoff_flush_period_ns == 2_000_000_000
