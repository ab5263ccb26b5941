"""The choice of scheduling rules: the command line overrides the configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from podwright.apimachinery.objects import FieldError, InputError
from podwright.cli.file_reading import read_text
from podwright.cli.options import Setup
from podwright.scheduler.config import KubeSchedulerConfiguration, Rules, parse_document


def with_rules(
    configuration: KubeSchedulerConfiguration | None, setup: Setup
) -> KubeSchedulerConfiguration | None:
    """Return the configuration with the rules that the command line selects.

    A provider or a policy implies the classic (v1.16) rules.

    Raises
    ------
    InputError
        If the options contradict each other, or the policy cannot be read or is not valid.
    """
    written = None if configuration is None else configuration.rules
    if written is not None and written.name != "classic":
        written = None
    selects_classic = bool(setup.algorithm_provider) or setup.policy is not None
    chosen = "classic" if setup.rules is None and selects_classic else setup.rules
    is_classic = chosen == "classic" or (chosen is None and written is not None)
    _check(setup, is_classic=is_classic)
    if chosen is None:
        return configuration
    rules = _with_options(written or Rules(name="classic"), setup) if is_classic else None
    return msgspec.structs.replace(configuration or KubeSchedulerConfiguration(), rules=rules)


def _with_options(rules: Rules, setup: Setup) -> Rules:
    if setup.policy is not None:
        policy = _policy(setup.policy, rules.hard_pod_affinity_symmetric_weight)
        return msgspec.structs.replace(rules, policy=policy, algorithm_provider="")
    if setup.algorithm_provider:
        provider = setup.algorithm_provider
        return msgspec.structs.replace(rules, policy=None, algorithm_provider=provider)
    return rules


def _policy(path: Path, weight: int) -> dict[str, Any]:
    """Read a policy; errors name its file."""
    from podwright.cli.console import print_warnings
    from podwright.scheduler.classic import ignored_fields, read_policy

    source = str(path)
    try:
        document = parse_document(read_text(path))
    except ValueError as error:
        raise InputError([FieldError(source=source, path="", message=str(error))]) from error
    if not isinstance(document, dict):
        message = "a policy must be an object"
        raise InputError([FieldError(source=source, path="", message=message)])
    read_policy(document, source=source, hard_pod_affinity_weight=weight)
    print_warnings(ignored_fields(document, source=source))
    return dict(document)


def _draws_nothing(setup: Setup) -> bool:
    """Return whether a seed is given that no draw uses."""
    return (
        "seed" in setup.given
        and setup.tie_rule == "first"
        and setup.preemption_offset == "zero"
        and not setup.seeds_names
    )


def _chosen_by(setup: Setup) -> str:
    """Return the option that selects the classic (v1.16) rules."""
    if setup.rules == "classic":
        return "--rules classic"
    if setup.policy is not None:
        return "--policy (v1.16 rules)"
    if setup.algorithm_provider:
        return "--algorithm-provider (v1.16 rules)"
    return "the v1.16 rules of the configuration"


def _check(setup: Setup, *, is_classic: bool) -> None:
    problems = []
    if setup.policy is not None and setup.algorithm_provider:
        problems.append(("--algorithm-provider", "has no effect with --policy"))
    if not is_classic:
        given = {
            "--algorithm-provider": setup.algorithm_provider,
            "--policy": setup.policy is not None,
            "--workers": setup.workers > 1 or "workers" in setup.given,
        }
        where = "with --rules modern" if setup.rules else "without --rules classic"
        problems += [
            (option, f"has no effect {where}: it belongs to the v1.16 rules")
            for option, is_given in given.items()
            if is_given
        ]
        if _draws_nothing(setup):
            without = "--tie-rule first and --preemption-offset zero"
            problems.append(("--seed", f"has no effect with {without}: nothing is drawn"))
    else:
        chosen_by = _chosen_by(setup)
        if setup.tie_rule != "drawn":
            problems.append(("--tie-rule", f"has no effect with {chosen_by}: nodes are drawn"))
        if "preemption_offset" in setup.given or setup.preemption_offset != "drawn":
            why = f"has no effect with {chosen_by}: every node is tried"
            problems.append(("--preemption-offset", why))
        if "timings" in setup.given:
            why = f"has no effect with {chosen_by}: its predicates and priorities are not plugins"
            problems.append(("--timings", why))
    if problems:
        raise InputError(
            [FieldError(source="options", path=option, message=why) for option, why in problems]
        )
