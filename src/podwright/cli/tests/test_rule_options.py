"""Which rules the command line and the configuration select, and what they do not combine with."""

from __future__ import annotations

import msgspec
import pytest

from podwright.apimachinery.objects import InputError
from podwright.cli.options import Setup
from podwright.cli.rule_options import with_rules
from podwright.scheduler.config import KubeSchedulerConfiguration, Rules

MODERN = KubeSchedulerConfiguration(rules=Rules(name="modern"), pod_max_backoff_seconds=77)
POLICY = {"kind": "Policy", "apiVersion": "v1", "priorities": []}
OLD = Rules(
    name="classic",
    algorithm_provider="ClusterAutoscalerProvider",
    hard_pod_affinity_symmetric_weight=7,
    non_preempting_priority=True,
)
CLASSIC = KubeSchedulerConfiguration(rules=OLD, pod_max_backoff_seconds=77)


def changed(rules: Rules, **fields: object) -> Rules:
    return msgspec.structs.replace(rules, **fields)


@pytest.fixture(params=["policy.json"])
def policy(request, tmp_path):
    path = tmp_path / request.param
    path.write_bytes(msgspec.json.encode(POLICY))
    return path


@pytest.mark.parametrize(("configuration", "options", "rules"), [
    pytest.param(MODERN, {}, MODERN.rules, id="those of the configuration"),
    pytest.param(CLASSIC, {}, OLD, id="v1.16 of the configuration"),
    pytest.param(MODERN, {"rules": "modern"}, None, id="modern as both say"),
    pytest.param(CLASSIC, {"rules": "modern"}, None, id="modern in spite of the configuration"),
    pytest.param(MODERN, {"rules": "classic"}, Rules(name="classic"), id="classic"),
    pytest.param(CLASSIC, {"rules": "classic"}, OLD, id="classic with its settings"),
    pytest.param(CLASSIC, {"algorithm_provider": "DefaultProvider"},
                 changed(OLD, algorithm_provider="DefaultProvider"), id="another provider"),
    pytest.param(MODERN, {"algorithm_provider": "DefaultProvider"},
                 Rules(name="classic", algorithm_provider="DefaultProvider"), id="a provider"),
    pytest.param(CLASSIC, {"policy": True}, changed(OLD, policy=POLICY, algorithm_provider=""),
                 id="a policy instead of the provider"),
    pytest.param(CLASSIC, {"workers": 4, "given": frozenset({"workers"})}, OLD,
                 id="threads of the rules of the configuration"),
])  # fmt: skip
def test_the_command_line_overrides_the_rules_of_a_configuration(
    configuration, options, rules, policy
):
    options = options | ({"policy": policy} if "policy" in options else {})
    found = with_rules(configuration, Setup(**options))
    assert found == msgspec.structs.replace(configuration, rules=rules)


def test_a_policy_is_replaced_by_a_provider_of_the_command_line():
    given = KubeSchedulerConfiguration(rules=Rules(name="classic", policy=POLICY))
    found = with_rules(given, Setup(algorithm_provider="DefaultProvider"))
    assert found is not None
    assert found.rules == Rules(name="classic", algorithm_provider="DefaultProvider")


def test_without_a_configuration_and_rules_there_is_still_none():
    assert with_rules(None, Setup()) is None
    assert with_rules(None, Setup(rules="modern")) == KubeSchedulerConfiguration()
    classic = KubeSchedulerConfiguration(rules=Rules(name="classic"))
    assert with_rules(None, Setup(rules="classic")) == classic


PROVIDER = "DefaultProvider"
NODES_DRAWN = "nodes are drawn"
EVERY_NODE = "every node is tried"
NO_PLUGINS = "its predicates and priorities are not plugins"


def idle_in_modern(*options: str, where: str = "without --rules classic") -> list[str]:
    why = f"has no effect {where}: it belongs to the v1.16 rules"
    return [f"options: {option}: {why}" for option in options]


def idle_with(chosen_by: str) -> list[str]:
    return [
        f"options: --tie-rule: has no effect with {chosen_by}: nodes are drawn",
        f"options: --preemption-offset: has no effect with {chosen_by}: every node is tried",
        f"options: --timings: has no effect with {chosen_by}: its predicates and priorities are"
        " not plugins",
    ]


ALL_MODERN = {
    "tie_rule": "heap",
    "preemption_offset": "zero",
    "given": frozenset({"timings", "seed", "preemption_offset"}),
}
FIRST = {"tie_rule": "first", "preemption_offset": "zero"}
NOTHING_DRAWN = [
    "options: --seed: has no effect with --tie-rule first and --preemption-offset zero: nothing is"
    " drawn"
]


@pytest.mark.parametrize(("configuration", "options", "errors"), [
    (None, {"workers": 2}, idle_in_modern("--workers")),
    (MODERN, {"workers": 1, "given": frozenset({"workers"})}, idle_in_modern("--workers")),
    (CLASSIC, {"rules": "modern", "workers": 2, "algorithm_provider": PROVIDER, "policy": True},
     ["options: --algorithm-provider: has no effect with --policy",
      *idle_in_modern("--algorithm-provider", "--policy", "--workers",
                      where="with --rules modern")]),
    (None, FIRST | {"given": frozenset({"seed"})}, NOTHING_DRAWN),
    (None, {"rules": "classic"} | ALL_MODERN, idle_with("--rules classic")),
    (None, {"policy": True} | ALL_MODERN, idle_with("--policy (v1.16 rules)")),
    (None, {"algorithm_provider": PROVIDER} | ALL_MODERN,
     idle_with("--algorithm-provider (v1.16 rules)")),
    (CLASSIC, ALL_MODERN, idle_with("the v1.16 rules of the configuration")),
    (CLASSIC, {"given": frozenset({"preemption_offset"})},
     idle_with("the v1.16 rules of the configuration")[1:2]),
])  # fmt: skip
def test_options_without_an_effect_are_errors(configuration, options, errors, policy):
    options = options | ({"policy": policy} if "policy" in options else {})
    with pytest.raises(InputError) as caught:
        with_rules(configuration, Setup(**options))
    assert caught.value.texts == errors


@pytest.mark.parametrize("options", [
    ALL_MODERN,
    FIRST,
    FIRST | {"given": frozenset({"seed"}), "seeds_names": True},
    {"tie_rule": "first", "given": frozenset({"seed"})},
    {"preemption_offset": "zero", "given": frozenset({"seed"})},
])  # fmt: skip
def test_options_that_have_an_effect_are_not(options):
    assert with_rules(MODERN, Setup(**options)) == MODERN


@pytest.mark.parametrize(("text", "error"), [
    ("[]", ": a policy must be an object"),
    ("{", ": line 1, column 2: "),
    ('{"kind": "Policy", "apiVersion": "v1", "hardPodAffinitySymmetricWeight": 101}',
     ": hardPodAffinitySymmetricWeight: "),
    ('{"kind": "Policy", "apiVersion": "v1", "priorities": [{"name": "None", "weight": 1}]}',
     ": priorities[0]"),
])  # fmt: skip
def test_the_errors_of_a_policy_name_its_file(text, error, policy):
    policy.write_text(text)
    with pytest.raises(InputError) as caught:
        with_rules(None, Setup(policy=policy))
    (found,) = caught.value.texts
    assert found.startswith(f"{policy}{error}")
