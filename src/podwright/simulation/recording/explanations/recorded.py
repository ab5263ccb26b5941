"""Explanation of an attempt in a decision log, with what it led to."""

from __future__ import annotations

from podwright.apimachinery.objects import shortest_time_text
from podwright.scheduler.advice import nearest_nodes, rejection_groups
from podwright.scheduler.config import Gates, format_duration
from podwright.scheduler.framework import rejection_details
from podwright.simulation.recording.explanations.document_structs import (
    ExplanationView,
    OutcomeDocument,
    RecordedAttempt,
    RecordedOutcome,
)
from podwright.simulation.recording.explanations.explain import PastCycle
from podwright.simulation.recording.explanations.outcome import (
    AttemptOutcome,
    OutcomeKind,
    find_outcome,
)
from podwright.simulation.recording.explanations.past_advice import past_advice
from podwright.simulation.recording.folders.tables import camel_case
from podwright.simulation.recording.log.decision_log import DecisionLog

QUEUE_LABELS = {"error_backoff": "backoff after an error", "in_flight": "in flight"}
"""The printed names of the subqueues of the scheduling queue that are not printed as they are."""


def recorded_view(
    past: PastCycle, log: DecisionLog, *, start_ns: int, end_ns: int
) -> ExplanationView:
    """Explain a recorded cycle, and replay the events after it to find its outcome.

    Parameters
    ----------
    past : PastCycle
        Its machine is changed.
    log : DecisionLog
        Of the cycle.
    start_ns, end_ns : int
        Start and end of the run; of one that continues, the current time.
    """
    setup, cluster = log.setup, past.machine.cluster
    explanation = past.explain()
    # Before the replay continues: these read the cluster as it was in the cycle.
    gates = Gates(setup.gates)
    details = rejection_details(past.runner.profile, cluster, past.pod)
    near = nearest_nodes(explanation, cluster, limit=None, gates=gates, details=details)
    advice = past_advice(
        past,
        explanation,
        gates=gates,
        custom_plugins={plugin.name for plugin in setup.plugins},
    )
    reasons = rejection_groups(explanation, cluster, gates=gates)
    outcome = find_outcome(past)
    return ExplanationView(
        explanation=explanation,
        reasons=reasons,
        advice=advice,
        near=near,
        seed=setup.seed,
        tie_rule=setup.tie_rule,
        past=_recorded_outcome(past, log, outcome, start_ns=start_ns, end_ns=end_ns),
    )


def _recorded_outcome(
    past: PastCycle, log: DecisionLog, after: AttemptOutcome, *, start_ns: int, end_ns: int
) -> RecordedOutcome:
    began_ns, count, number = past.entry.now_ns, len(past.ends), past.attempt
    next_ns = log.time_of(past.ends[number]) if number < count else None
    since_start = format_duration(began_ns - start_ns)
    then = _then(after, began_ns)
    if next_ns is not None:
        then += f"; attempt {number + 1} followed {_later(next_ns - began_ns)}"
    elif after.kind is OutcomeKind.QUEUED:
        then += f"; no further attempt before the end of the run, {_later(end_ns - began_ns)}"
    document = RecordedAttempt(
        event=past.end + 1,
        time=shortest_time_text(began_ns),
        since_start=since_start,
        attempt=number,
        attempts=count,
        then=OutcomeDocument(
            outcome=after.kind.value,
            time=shortest_time_text(after.now_ns),
            node=after.node or None,
            error=after.error or None,
            queue=camel_case(after.place) or None,
            waits_for=list(after.waits_for),
            backoff_end=None
            if after.backoff_end_ns < 0
            else shortest_time_text(after.backoff_end_ns),
            nominated_node=after.nominated_node or None,
        ),
        next_attempt=None if next_ns is None else shortest_time_text(next_ns),
    )
    time = f"{since_start} into the run ({shortest_time_text(began_ns)})"
    text = f"{number} of {count}, {time}, event {past.end + 1}"
    return RecordedOutcome(when=text, then=then, document=document)


def _then(after: AttemptOutcome, began_ns: int) -> str:
    later = _later(after.now_ns - began_ns)
    match after.kind:
        case OutcomeKind.BOUND:
            return f"bound to {after.node} {later}"
        case OutcomeKind.GONE:
            return f"the pod was deleted {later}"
        case OutcomeKind.BINDING:
            where = f" to {after.node}" if after.node else ""
            return f"binding{where} had not completed {later}"
        case OutcomeKind.QUEUED:
            return _requeued(after, began_ns)


def _requeued(after: AttemptOutcome, began_ns: int) -> str:
    text = f"requeued as {QUEUE_LABELS.get(after.place, after.place)}"
    if after.error:
        text = f"the attempt on {after.node} failed: {after.error}; {text}"
    if after.waits_for:
        text += f", waiting for {', '.join(after.waits_for)}"
    if after.backoff_end_ns > began_ns:
        text += f", with a backoff of {format_duration(after.backoff_end_ns - began_ns)}"
    if after.nominated_node:
        text += f", nominated to {after.nominated_node}"
    return text


def _later(duration_ns: int) -> str:
    return f"{format_duration(duration_ns)} later" if duration_ns else "immediately"
