"""The agreement of two schedulers as a document: of `podwright shadow -o json` and over HTTP."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from podwright.simulation.shadow.findings import Agreement, Finding, agreement


class AgreementCounts(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How often the two schedulers agree.

    Attributes
    ----------
    total, agreed, explained, unexplained : int
    explained_by : dict of str to int
        The explained ones, by their reasons joined with a plus sign.
    """

    total: int
    agreed: int
    explained: int
    unexplained: int
    explained_by: dict[str, int]


class FailedAttempts(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Attempts that found no node.

    Attributes
    ----------
    total : int
    same_message : int
        Those that failed for the same reasons in podwright.
    """

    total: int
    same_message: int


class PluginScores(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The weighted scores of a plugin, for the chosen node and for podwright's."""

    plugin: str
    node: int
    our_node: int


class Difference(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A binding or preemption that differs from podwright's decision; see `Finding`."""

    what: str
    line: int
    pod: str
    node: str
    our_node: str
    outcome: str
    reasons: tuple[str, ...]
    explanation: str
    rejection: str
    scores: tuple[PluginScores, ...]
    victims: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    our_victims: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET


class ShadowReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The agreement of a scheduler with podwright.

    Attributes
    ----------
    bindings, preemptions : AgreementCounts
    failed_attempts : FailedAttempts
        Only the scheduler's log has them.
    differences : tuple of Difference
        In the order of the decisions.
    """

    bindings: AgreementCounts
    preemptions: AgreementCounts
    failed_attempts: FailedAttempts
    differences: tuple[Difference, ...]


def report_of(
    findings: Iterable[Finding], *, failed_count: int = 0, same_message_count: int = 0
) -> ShadowReport:
    """Summarize findings.

    Parameters
    ----------
    findings : iterable of Finding
    failed_count, same_message_count : int
        See `Shadow`.
    """
    listed = list(findings)
    return ShadowReport(
        bindings=counts_of(agreement(one for one in listed if one.what == "binding")),
        preemptions=counts_of(agreement(one for one in listed if one.what == "preemption")),
        failed_attempts=FailedAttempts(total=failed_count, same_message=same_message_count),
        differences=tuple(difference_of(one) for one in listed if one.outcome != "agreed"),
    )


def counts_of(counted: Agreement) -> AgreementCounts:
    """Return counts as a part of the document."""
    return AgreementCounts(
        total=counted.total,
        agreed=counted.agreed,
        explained=counted.explained,
        unexplained=counted.unexplained,
        explained_by=counted.by_reason,
    )


def difference_of(finding: Finding) -> Difference:
    """Return a finding as a part of the document."""
    is_preemption = finding.what == "preemption"
    return Difference(
        what=finding.what,
        line=finding.line,
        pod=finding.pod,
        node=finding.node,
        our_node=finding.best,
        outcome=finding.outcome,
        reasons=finding.reasons,
        explanation=finding.explanation,
        rejection=finding.rejection,
        scores=tuple(
            PluginScores(plugin=one.plugin, node=one.chosen, our_node=one.best)
            for one in finding.scores
        ),
        victims=finding.victims if is_preemption else msgspec.UNSET,
        our_victims=finding.our_victims if is_preemption else msgspec.UNSET,
    )
