"""What `check_plugin` reports: checks, findings and notes."""

from __future__ import annotations

import msgspec

from podwright._html import facts, paragraphs, section, table
from podwright.apimachinery.objects import PodwrightError

CHECKS = {
    "names": "the class has extension points, and no misspelt ones",
    "answers": "every extension point returns a value of the right type",
    "forms": "the forms per node and as columns agree",
    "inputs": "inputs are not changed",
    "repeatable": "two calls return equal results",
    "reasons": "every rejection has a reason",
    "range": "scores are integers from 0 to 100 after normalizing",
    "settings": "settings survive a round trip",
    "pod_key": "pods with equal pod_key have equal results",
    "reads": "cached results are valid after every change (the declared reads are complete)",
    "events": "the events registered can undo each rejection",
    "cycle": "whole cycles run from PreEnqueue to PostBind, with Unreserve",
}
"""The checks, in report order."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One violation of the contract.

    Parameters
    ----------
    check : str
        A key of `CHECKS`.
    message : str
        The violation, with the pod and the node.
    """

    check: str
    message: str


class PluginReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result of checking a plugin.

    Parameters
    ----------
    plugin : str
    checked : tuple of str
        Keys of `CHECKS`.
    left_out : dict of str to str
        The checks that were skipped, and why.
    findings : tuple of Finding
        Empty if the plugin keeps its contract.
    notes : tuple of str
        What the check did not exercise, and declarations that are missing or have no effect.
    """

    plugin: str
    checked: tuple[str, ...]
    left_out: dict[str, str] = {}
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()

    def _repr_html_(self) -> str:
        found = [(finding.check, finding.message) for finding in self.findings]
        return section(
            f"{self.plugin}: {len(self.checked)} checks, {len(self.findings)} findings",
            table(("Check", "Finding"), found),
            facts({f"{check} was not checked": why for check, why in self.left_out.items()}),
            paragraphs(self.notes),
        )

    def __str__(self) -> str:
        lines = [f"{self.plugin}: {len(self.checked)} checks, {len(self.findings)} findings"]
        lines += [f"  {f.check} ({CHECKS[f.check]}): {f.message}" for f in self.findings]
        lines += [f"  {check} was not checked: {why}" for check, why in self.left_out.items()]
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join(lines)


class PluginCheckFailed(PodwrightError, AssertionError):  # noqa: N818 - the name says what happened
    """A plugin breaks its contract.

    Attributes
    ----------
    report : PluginReport
    """

    def __init__(self, report: PluginReport) -> None:
        super().__init__(str(report))
        self.report = report
