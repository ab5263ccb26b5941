"""The findings of a comparison with a real scheduler."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec

from podwright.apimachinery.objects import NamespacedName

Outcome: TypeAlias = Literal["agreed", "explained", "unexplained"]

Reason: TypeAlias = Literal["sampling", "image counts", "delay"]
"""The reasons that can explain a difference.

- sampling: the real scheduler stopped searching after enough feasible nodes. There is a start
  node from which the search finds the chosen node as the best one (and evaluates as many nodes
  as the scheduler's log says, if there is one).
- image counts: the chosen node is the best if each node is scored with the image counts of the
  last copy of the node (`images`).
- delay: the chosen node is the best in another state that the scheduler may have observed,
  because a change reached the scheduler or the recorder late, within the delays that are known
  for this record.
"""


class ScoreDifference(msgspec.Struct, frozen=True):
    """A score plugin whose scores of the two nodes differ.

    Attributes
    ----------
    plugin : str
    chosen, best : int
        The weighted scores of the node that the real scheduler chose and of podwright's best node.
    """

    plugin: str
    chosen: int
    best: int


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One binding or preemption of the real scheduler, compared with podwright's decision.

    Attributes
    ----------
    what : str
        binding or preemption.
    line : int
        The line of the record that shows it; 0 if there is none.
    pod : str
        "namespace/name".
    node : str
        The node that the real scheduler chose.
    outcome : str
    reasons : tuple of str
        The reasons that explain the difference; empty if none do.
    explanation : str
        The explanation as a sentence; "" if there is no difference.
    best : str
        Podwright's best node, the first one of several; "" if there is none.
    rejection : str
        Why podwright rejects the chosen node, or all nodes; "" if it does not.
    scores : tuple of ScoreDifference
        The score plugins whose scores of the best and the chosen node differ.
    victims, our_victims : tuple of str
        Of a preemption: the victims on the chosen node that the real scheduler and podwright
        select.
    """

    what: Literal["binding", "preemption"]
    line: int
    pod: NamespacedName
    node: str
    outcome: Outcome
    reasons: tuple[Reason, ...] = ()
    explanation: str = ""
    best: str = ""
    rejection: str = ""
    scores: tuple[ScoreDifference, ...] = ()
    victims: tuple[NamespacedName, ...] = ()
    our_victims: tuple[NamespacedName, ...] = ()


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """How often the two schedulers agree.

    Attributes
    ----------
    total, agreed, explained, unexplained : int
    by_reason : dict of str to int
        The explained ones, by their reasons joined with a plus sign.
    """

    total: int = 0
    agreed: int = 0
    explained: int = 0
    unexplained: int = 0
    by_reason: dict[str, int] = {}


def agreement(findings: Iterable[Finding]) -> Agreement:
    """Count findings by outcome and reasons."""
    outcomes: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for finding in findings:
        outcomes[finding.outcome] += 1
        if finding.reasons:
            reasons[" + ".join(finding.reasons)] += 1
    return Agreement(
        total=outcomes.total(),
        agreed=outcomes["agreed"],
        explained=outcomes["explained"],
        unexplained=outcomes["unexplained"],
        by_reason=dict(sorted(reasons.items())),
    )


def sum_of(one: Agreement, other: Agreement) -> Agreement:
    """Add the counts of two sets of findings."""
    reasons = Counter(one.by_reason) + Counter(other.by_reason)
    return Agreement(
        total=one.total + other.total,
        agreed=one.agreed + other.agreed,
        explained=one.explained + other.explained,
        unexplained=one.unexplained + other.unexplained,
        by_reason=dict(sorted(reasons.items())),
    )
