"""Configurations are read strictly, and every problem has its path."""

import json

import pytest

from podwright.apimachinery.objects.errors import InputError
from podwright.scheduler.config import (
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    KubeSchedulerConfiguration,
    NodeAffinityArgs,
    PartialConfiguration,
    has_more_documents,
    read_configuration,
)

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def test_an_empty_configuration_has_the_defaults_of_the_structs():
    assert read_configuration(HEAD, source="c.yaml") == KubeSchedulerConfiguration()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            HEAD.replace("kubescheduler.config.k8s.io/v1", "a/b/c"),
            "unexpected GroupVersion string: a/b/c",
            id="an apiVersion with two slashes",
        ),
        pytest.param(
            "{apiVersion: a, kind: b}",
            "line 1, column 2: couldn't get version/kind; json parse error: invalid character 'a'"
            " looking for beginning of object key string",
            id="a brace begins JSON, not a flow mapping",
        ),
        pytest.param(
            '{"parallelism":7,}',
            "line 1, column 18: couldn't get version/kind; json parse error: invalid character '}'"
            " looking for beginning of object key string",
            id="a trailing comma",
        ),
    ],
)
def test_what_is_not_a_configuration(text, message):
    with pytest.raises(InputError) as caught:
        read_configuration(text, source="c.yaml")
    (error,) = caught.value.errors
    assert error.message == message


@pytest.mark.parametrize("rest", ["...\nfoo: 1\n", "--- }\n", "...\n- a\n", "%YAML 9.1\n---\n"])
def test_nothing_is_read_after_the_first_document(rest):
    assert read_configuration(HEAD + rest, source="c") == KubeSchedulerConfiguration()


def test_text_after_the_end_of_a_document_is_more():
    assert has_more_documents(HEAD + "...\nfoo: 1\n")
    assert not has_more_documents(HEAD + "...\n")


def test_yaml_json_and_documents_read_alike():
    yaml = HEAD + "parallelism: 4\nleaderElection:\n  leaseDuration: 1m\n"
    json = (
        '{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration",\n'
        '\t"parallelism":4,"leaderElection":{"leaseDuration":"60s"}}'
    )
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "parallelism": 4,
        "leaderElection": {"leaseDuration": "1m0s"},
    }
    read = [read_configuration(d, source="c") for d in (yaml, json, json.encode(), document)]
    assert read == [read[0]] * 4
    assert read[0].parallelism == 4
    assert read[0].leader_election.lease_duration_ns == 60_000_000_000


def test_nulls_are_absent():
    text = HEAD + "parallelism: null\nprofiles:\n- schedulerName: a\n  plugins:\n"
    configuration = read_configuration(text, source="c")
    assert configuration.parallelism == 16
    assert configuration.profiles[0].plugins is None


def test_arguments_of_in_tree_plugins_have_their_type():
    text = HEAD + (
        "profiles:\n- pluginConfig:\n"
        "  - name: DefaultPreemption\n    args: {minCandidateNodesPercentage: 0}\n"
        "  - name: DynamicResources\n"
        "  - name: NodeAffinity\n    args:\n      kind: NodeAffinityArgs\n"
        "      apiVersion: kubescheduler.config.k8s.io/v1\n"
        "      addedAffinity:\n        preferredDuringSchedulingIgnoredDuringExecution:\n"
        "        - {weight: 1, preference: {matchFields: [{key: metadata.name, operator: In}]}}\n"
        "  - name: MyPlugin\n    args: {anything: [goes]}\n"
    )
    args = [e.args for e in read_configuration(text, source="c").profiles[0].plugin_config]
    assert args[0] == DefaultPreemptionArgs(min_candidate_nodes_percentage=0)
    assert args[1] == DynamicResourcesArgs()
    assert isinstance(args[2], NodeAffinityArgs)
    assert args[3] == {"anything": ["goes"]}


@pytest.mark.parametrize(
    ("body", "messages"),
    [
        pytest.param("paralellism: 4",
                     ['paralellism: unknown field "paralellism"; did you mean "parallelism"?'],
                     id="an unknown key, with the nearest one"),
        pytest.param("parallelism: 4\nparallelism: 5",
                     ['parallelism: duplicate field "parallelism"'],
                     id="a repeated key"),
        pytest.param("profiles:\n- plugins:\n    score:\n      enabled:\n      - {name: A, nme: B}",
                     ['profiles[0].plugins.score.enabled[0].nme: unknown field "nme"; '
                      'did you mean "name"?'],
                     id="deep inside"),
        pytest.param("profiles: {}", ["profiles: Invalid value: {}: must be a list"],
                     id="not a list"),
        pytest.param("leaderElection: true",
                     ["leaderElection: Invalid value: true: must be an object"],
                     id="not an object"),
        pytest.param("parallelism: '4'\nenableProfiling: 1\ndelayCacheUntilActive: x",
                     ['parallelism: Invalid value: "4": must be an integer',
                      "enableProfiling: Invalid value: 1: must be true or false",
                      'delayCacheUntilActive: Invalid value: "x": must be true or false'],
                     id="several wrong types at once"),
        pytest.param("parallelism: true",
                     ["parallelism: Invalid value: true: must be an integer"],
                     id="a boolean is no integer"),
        pytest.param("parallelism: 3000000000",
                     ["parallelism: Invalid value: 3000000000: "
                      "must be between -2147483648 and 2147483647"],
                     id="does not fit in 32 bits"),
        pytest.param("leaderElection: {leaseDuration: 15, retryPeriod: 2x}",
                     ['leaderElection.leaseDuration: Invalid value: 15: '
                      'must be a duration such as "15s"',
                      'leaderElection.retryPeriod: Invalid value: "2x": '
                      'time: unknown unit "x" in duration "2x"'],
                     id="durations have a unit"),
        pytest.param("extenders: [{urlPrefix: u, tlsConfig: {caData: '?'}}]",
                     ["extenders[0].tlsConfig.caData: Invalid value: must be base64"],
                     id="certificates are base64"),
        pytest.param("profiles:\n- pluginConfig:\n  - name: InterPodAffinity\n"
                     "    args: {kind: NodeAffinityArgs}",
                     ["profiles[0].pluginConfig[0].args: args for plugin InterPodAffinity were "
                      "not of type InterPodAffinityArgs.kubescheduler.config.k8s.io, "
                      "got NodeAffinityArgs.kubescheduler.config.k8s.io"],
                     id="arguments of another kind"),
        pytest.param("profiles:\n- pluginConfig:\n  - name: InterPodAffinity\n"
                     "    args: {apiVersion: kubescheduler.config.k8s.io/v1beta3}",
                     ['profiles[0].pluginConfig[0].args.apiVersion: no kind '
                      '"InterPodAffinityArgs" is registered for version '
                      '"kubescheduler.config.k8s.io/v1beta3"'],
                     id="arguments of an older version"),
        pytest.param("profiles:\n- pluginConfig:\n  - name: NodeAffinity\n"
                     "    args: {apiVersion: a/b/c}",
                     ["profiles[0].pluginConfig[0].args.apiVersion: "
                      "unexpected GroupVersion string: a/b/c"],
                     id="arguments of an apiVersion with two slashes"),
        pytest.param("profiles:\n- pluginConfig:\n  - name: InterPodAffinity\n"
                     "    args: {hardPodAffinityWeight: 1, hardPodAffinityWeight: 2, x: 1}",
                     ["profiles[0].pluginConfig[0].args.hardPodAffinityWeight: "
                      'duplicate field "hardPodAffinityWeight"',
                      'profiles[0].pluginConfig[0].args.x: unknown field "x"; known here:'
                      " hardPodAffinityWeight, ignorePreferredTermsOfExistingPods"],
                     id="arguments are strict too"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(body, messages):
    with pytest.raises(InputError) as caught:
        read_configuration(HEAD + body, source="c.yaml")
    assert str(caught.value).splitlines() == [f"c.yaml: {message}" for message in messages]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "must be a KubeSchedulerConfiguration, not an empty document",
                     id="an empty document"),
        pytest.param("[1]", "must be a KubeSchedulerConfiguration, not a list", id="a list"),
        pytest.param("kind: KubeSchedulerConfiguration",
                     "apiVersion: Required value: "
                     'must be "kubescheduler.config.k8s.io/v1"',
                     id="no apiVersion"),
        pytest.param("apiVersion: kubescheduler.config.k8s.io/v1",
                     'kind: Required value: must be "KubeSchedulerConfiguration"', id="no kind"),
        pytest.param("apiVersion: kubescheduler.config.k8s.io/v1beta3\n"
                     "kind: KubeSchedulerConfiguration",
                     'no kind "KubeSchedulerConfiguration" is registered for version '
                     '"kubescheduler.config.k8s.io/v1beta3"; podwright reads '
                     'KubeSchedulerConfiguration of "kubescheduler.config.k8s.io/v1", as '
                     "kube-scheduler does since 1.29: change apiVersion, and check the rest",
                     id="an older version"),
        pytest.param("apiVersion: example.com/v1\nkind: KubeSchedulerConfiguration",
                     'no kind "KubeSchedulerConfiguration" is registered for version '
                     '"example.com/v1"; podwright reads KubeSchedulerConfiguration of '
                     '"kubescheduler.config.k8s.io/v1"',
                     id="the kind of another group"),
        pytest.param("apiVersion: v1\nkind: ConfigMap\ndata:\n  readme: text\n"
                     "  config.yaml: 'kind: KubeSchedulerConfiguration'",
                     'no kind "ConfigMap" is registered for version "v1"; podwright reads '
                     'KubeSchedulerConfiguration of "kubescheduler.config.k8s.io/v1": give the '
                     "text of data.config.yaml as a separate file",
                     id="the ConfigMap of a configuration"),
        pytest.param("apiVersion: v1\nkind: ConfigMap\ndata: {readme: text}",
                     'no kind "ConfigMap" is registered for version "v1"; podwright reads '
                     'KubeSchedulerConfiguration of "kubescheduler.config.k8s.io/v1"',
                     id="any other ConfigMap"),
        pytest.param("apiVersion: v1\nkind: Policy",
                     'no kind "Policy" is registered for version "v1"; podwright reads '
                     'KubeSchedulerConfiguration of "kubescheduler.config.k8s.io/v1": a Policy is '
                     "for the v1.16 rules, with --policy or rules.policy",
                     id="a Policy"),
        pytest.param("apiVersion: v1\nkind: ConfigMap",
                     'no kind "ConfigMap" is registered for version "v1"; podwright reads '
                     'KubeSchedulerConfiguration of "kubescheduler.config.k8s.io/v1"',
                     id="a ConfigMap without data"),
        pytest.param("apiVersion: v1\nkind: Secret\n"
                     "data: {config.yaml: 'kind: KubeSchedulerConfiguration'}",
                     'no kind "Secret" is registered for version "v1"; podwright reads '
                     'KubeSchedulerConfiguration of "kubescheduler.config.k8s.io/v1"',
                     id="a Secret, whose data are encoded"),
        pytest.param('{"apiVersion": "a", "apiVersion"', None, id="neither JSON nor YAML"),
        pytest.param("a: 1\n---\nb: 2", None, id="two documents"),
    ],
)  # fmt: skip
def test_other_documents_are_refused(text, message):
    with pytest.raises(InputError) as caught:
        read_configuration(text, source="c.yaml")
    if message is not None:
        assert str(caught.value).splitlines() == [f"c.yaml: {message}"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("a: 1\nb: [", "line 3, column 1: while parsing a flow node", id="where"),
        pytest.param("a: 2024-01-01: b", "line 1, column 14: mapping values", id="a colon"),
        pytest.param("[" * 2_000, "exceeded maximum nesting depth", id="no end of brackets"),
        pytest.param(b"\xff", "codec can't decode byte 0xff", id="not UTF-8"),
    ],
)
def test_a_syntax_error_says_where(text, message):
    with pytest.raises(InputError, match=message):
        read_configuration(text, source="c.yaml")


def test_dates_stay_text():
    text = HEAD + "profiles: [{schedulerName: 2024-01-01}]"
    profile = read_configuration(text, source="c.yaml").profiles[0]
    assert profile.scheduler_name == "2024-01-01"


@pytest.mark.parametrize(
    ("written", "parallelism"),
    [
        pytest.param("1_000", 1000, id="underscores"),
        pytest.param("010", 8, id="octal of YAML 1.1"),
        pytest.param("0o10", 8, id="octal of YAML 1.2"),
        pytest.param("08", 8, id="a leading zero that is not octal"),
        pytest.param("0x10", 16, id="hexadecimal"),
        pytest.param("-0b101", -5, id="binary"),
        pytest.param("2.0", 2, id="a whole float"),
        pytest.param("1e2", 100, id="an exponent without a point"),
        pytest.param("+5", 5, id="a sign"),
    ],
)
def test_numbers_of_yaml_are_those_of_kube_scheduler(written, parallelism):
    assert (
        read_configuration(f"{HEAD}parallelism: {written}", source="c").parallelism == parallelism
    )


@pytest.mark.parametrize("written", ["1:30", "2.5", "1e40", "'8'", ".nan", "2026-01-01", "yes"])
def test_what_is_not_an_integer_is_rejected(written):
    with pytest.raises(InputError, match="parallelism: Invalid value"):
        read_configuration(f"{HEAD}parallelism: {written}", source="c")


@pytest.mark.parametrize("written", ["y", "Yes", "on", "TRUE"])
def test_booleans_of_yaml_are_those_of_kube_scheduler(written):
    text = f"{HEAD}enableProfiling: {written}"
    assert read_configuration(text, source="c").enable_profiling is True


def test_a_float_of_json_is_not_an_integer():
    document = {"apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration", "parallelism": 2.0}  # fmt: skip
    with pytest.raises(InputError, match="must be an integer"):
        read_configuration(json.dumps(document), source="c")


def test_the_first_document_is_read():
    text = f"{HEAD}parallelism: 3\n---\nparallelism: [\n"
    assert read_configuration(text, source="c").parallelism == 3
    assert has_more_documents(text)
    assert not has_more_documents(f"# comment\n---\n{HEAD}")
    with pytest.raises(InputError):
        read_configuration('{"kind": "KubeSchedulerConfiguration"} {"a": 1}', source="c")


@pytest.mark.parametrize("text", ["abc", "2026-13-45"])
def test_a_timestamp_that_cannot_be_read_is_an_error(text):
    with pytest.raises(InputError, match=f"line 3.*cannot decode !!str `{text}`"):
        read_configuration(f"{HEAD}parallelism: !!timestamp {text}\n", source="c.yaml")


@pytest.mark.parametrize(
    ("field", "least", "greatest"),
    [
        ("parallelism", -(2**31), 2**31 - 1),
        ("podMaxBackoffSeconds", -(2**63), 2**63 - 1),
    ],
)
def test_integers_are_bounded_as_in_go(field, least, greatest):
    for value in (least, greatest):
        read_configuration(f"{HEAD}{field}: {value}", source="c")
    for value in (least - 1, greatest + 1):
        with pytest.raises(InputError, match=f"must be between {least} and {greatest}$"):
            read_configuration(f"{HEAD}{field}: {value}", source="c")


def test_a_null_duration_is_rejected_as_in_go():
    with pytest.raises(InputError, match=r"leaderElection\.leaseDuration: Invalid value: null"):
        read_configuration(f"{HEAD}leaderElection: {{leaseDuration: null}}", source="c")


def test_what_can_be_decoded_comes_with_the_errors():
    text = HEAD + "parallelism: 3\nprofiles: [{schedulerName: 5}, {schedulerName: b}]"
    with pytest.raises(PartialConfiguration) as caught:
        read_configuration(text, source="c")
    configuration = caught.value.configuration
    assert configuration.parallelism == 3
    assert [profile.scheduler_name for profile in configuration.profiles] == [None, "b"]


def test_the_internal_version_has_no_defaults():
    text = HEAD.replace("/v1", "/__internal")
    with pytest.raises(InputError) as caught:
        read_configuration(text, source="c")
    paths = [error.path for error in caught.value.errors]
    assert paths == ["parallelism", "profiles", "podInitialBackoffSeconds"]
