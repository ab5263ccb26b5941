"""What a comparison with a real scheduler found, as values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec

from podwright.objects import NamespacedName

Outcome: TypeAlias = Literal["agreed", "explained", "unexplained"]

Reason: TypeAlias = Literal["sampling", "image counts", "delay"]
"""What explains a difference.

- sampling: the real scheduler stopped looking after enough feasible nodes. There is a node at
  which the search may have begun such that the chosen node is the best of those that it found
  (and it looked at as many nodes as the scheduler's log says, if there is one).
- image counts: the chosen node is the best if each node is scored with the image counts of the
  time when it was last copied (`images`).
- delay: the chosen node is the best in a state that the scheduler may have seen instead,
  because a change was on its way to it or to the recorder for no longer than delays of this
  record are known to be.
"""


class ScoreDifference(msgspec.Struct, frozen=True):
    """A score plugin that does not give both nodes the same.

    Attributes
    ----------
    plugin : str
    chosen, best : int
        Weighted scores of the node that the real scheduler chose, and of our best one.
    """

    plugin: str
    chosen: int
    best: int


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One binding or preemption of the real scheduler, beside ours.

    Attributes
    ----------
    what : str
        binding or preemption.
    line : int
        The line of the record that shows it, or 0 if none does.
    pod : str
        "namespace/name".
    node : str
        What the real scheduler chose.
    outcome : str
    reasons : tuple of str
        What explains the difference, if something does.
    explanation : str
        In a sentence; "" if there is no difference.
    best : str
        Our best node, or the first of them; "" if there is none.
    rejection : str
        Why the chosen node is not feasible for us, or why no node is; "" if it is.
    scores : tuple of ScoreDifference
        Where our best node gets more or less than the chosen one.
    victims, our_victims : tuple of str
        Of a preemption: who had to leave the chosen node, and who would have had to with us.
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
        Explained ones by their reasons, joined with a plus sign.
    """

    total: int = 0
    agreed: int = 0
    explained: int = 0
    unexplained: int = 0
    by_reason: dict[str, int] = {}


def agreement(findings: Iterable[Finding]) -> Agreement:
    """Count findings."""
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
