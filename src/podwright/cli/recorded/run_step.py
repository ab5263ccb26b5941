"""`podwright run step`: a prompt whose commands step through the events of a run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import typer

from podwright.apimachinery.objects import (
    Condition,
    Object,
    Pod,
    PodwrightError,
    shortest_time_text,
)
from podwright.cli.console import announce_compilation, print_paragraph, print_table, write
from podwright.cli.decisions.explanation_output import print_view
from podwright.cli.inputs import find_key, load_plugins
from podwright.cli.recorded.options import RunStepOptions
from podwright.cli.recorded.recorded_run import RecordedRun, open_for_command
from podwright.cli.recorded.run_show import MomentView, queue_sizes_text
from podwright.scheduler.assembly import UnknownPod
from podwright.scheduler.machine import (
    Action,
    Bind,
    CallDone,
    CallExtender,
    CycleDue,
    DeletePod,
    EmitEvent,
    ExtenderReplied,
    FlushBackoff,
    FlushUnschedulable,
    ObjectDeleted,
    ObjectPut,
    PatchExtendedClaim,
    PatchPodGroupStatus,
    PatchPodMetadata,
    PatchPodStatus,
    PodActivated,
    PodAllowed,
    PodRejected,
    TimerFired,
    UpdateClaim,
    UpdateVolume,
    WakeAt,
    WriteResourceClaim,
)
from podwright.simulation.recording import Moment, Stepper, find_cycle, recorded_view

_PROMPT = "step> "
_NODES_SHOWN = 5
_HELP = (
    ("n, empty line", "step to the next event; n 10: ten events forward"),
    ("b, p", "step to the previous event; b 10: ten events back"),
    ("c, C", "go to the next cycle, to the previous cycle"),
    ("/ POD", "go to the next event of a pod; / alone: of the same pod"),
    ("g NUMBER, g TIME", "go to an event or a time: g 42, g 10m, g 2026-01-01T00:10:00Z"),
    ("e, e POD", "explain this cycle, or the latest cycle of a pod up to here"),
    ("s, S", "show the queue, or the cluster and the queue"),
    ("?, h", "list the commands"),
    ("q, Ctrl-D", "quit"),
)


def run_step(options: RunStepOptions) -> None:
    """Read and execute commands until the input ends or a command quits."""
    run = RecordedRun(options.run, load_plugins(options.setup.plugins))
    announce_compilation()
    with open_for_command(run):
        prompt = Prompt(run)
        if options.at:
            prompt.go(options.at)
        else:
            prompt.show()
        for line in _lines():
            if not prompt.do(line):
                return


def _lines() -> Iterator[str]:
    """Yield the lines of the input; those of a pipe are echoed after the prompt."""
    if not sys.stdin.isatty():
        for line in sys.stdin:
            write(f"{_PROMPT}{line.strip()}".rstrip())
            yield line
            sys.stdout.flush()
        return
    import readline  # noqa: F401 - its import enables line editing and history for input()

    while True:
        try:
            yield input(_PROMPT)
        except (EOFError, KeyboardInterrupt):
            write("")
            return


class Prompt:
    """Executes the commands of `podwright run step`.

    Parameters
    ----------
    run : RecordedRun
    """

    def __init__(self, run: RecordedRun) -> None:
        self._run = run
        self._stepper = Stepper(run.log, plugins=run.plugins)
        self._pod = ""

    def do(self, line: str) -> bool:
        """Execute one command; return False if it quits."""
        word, _, rest = line.strip().partition(" ")
        if word.startswith("/") and len(word) > 1:
            word, rest = "/", line.strip()[1:]
        if word in ("q", "quit", "exit"):
            return False
        try:
            self._do(word, rest.strip())
        except (PodwrightError, typer.BadParameter) as error:
            write(str(error))
        return True

    def _do(self, word: str, rest: str) -> None:
        match word:
            case "" | "n" | "next":
                self._move(self._stepper.forward, rest, "end of the run")
            case "b" | "p" | "back":
                self._move(self._stepper.back, rest, "start of the run")
            case "c" | "cycle":
                self._move(self._stepper.next_cycle, rest, "no further cycle")
            case "C":
                self._move(self._stepper.previous_cycle, rest, "no earlier cycle")
            case "/":
                self._find(rest)
            case "g" | "go":
                self.go(rest)
            case "e" | "explain":
                self._explain(rest)
            case "s" | "queue":
                self._shown().print_queue(None)
            case "S" | "show":
                self._shown().print(is_wide=False)
            case "?" | "h" | "help":
                print_table(("COMMAND", "DOES"), _HELP)
            case _:
                write(f'unknown command "{word}"; ? lists the commands')

    def _move(self, move: Callable[[], bool], count: str, at_end: str) -> None:
        if count and not count.isdecimal():
            write(f'invalid count "{count}"')
            return
        moves = int(count or "1")
        has_moved = False
        for _ in range(moves):
            if not move():
                write(at_end)
                break
            has_moved = True
        if has_moved:
            self.show()

    def _find(self, text: str) -> None:
        if text:
            self._pod = self._key(text)
        if not self._pod:
            write("specify a pod: / POD")
        elif self._stepper.next_about(self._pod):
            self.show()
        else:
            write(f"no further event of pod {self._pod}")

    def _key(self, text: str) -> str:
        """Return the key of a pod: one with an attempt, an existing one, or one created later."""
        machine_pods = (obj.key for obj in self._stepper.machine.objects() if isinstance(obj, Pod))
        known = dict.fromkeys((*self._stepper.cycles.pods, *machine_pods))
        try:
            return find_key(text, known, where="at this time or with an attempt in this run")
        except UnknownPod:
            # The pod may be created later and have no attempt.
            name = text if "/" in text else f"default/{text}"
            for entry in self._run.log.entries(self._stepper.position):
                if isinstance(entry.event, ObjectPut) and entry.event.obj.key == name:
                    return name
            raise

    def go(self, text: str) -> None:
        """Go to the event of a number, or to a time."""
        if text.isdecimal():
            number = int(text)
            if number > len(self._run.log):
                write(f"the run has {len(self._run.log)} events")
            self._stepper.go_to(number)
        elif text:
            self._stepper.go_to_time(self._run.moment(text))
        else:
            write("specify an event or a time: g NUMBER or g TIME")
            return
        self.show()

    def _explain(self, text: str) -> None:
        position, moment = self._stepper.position, self._stepper.moment
        here = () if moment is None else moment.entry.pods
        key = self._key(text) if text else next(iter(here), "")
        if not key:
            write("no cycle ended with this event: c goes to the next cycle, e POD explains a pod")
            return
        attempt = self._stepper.attempt_of(key)
        if not attempt:
            write(f"pod {key} has no scheduling attempt up to event {position}")
            return
        past = find_cycle(
            self._run.log, key, attempt, plugins=self._run.plugins, cycles=self._stepper.cycles
        )
        run = self._run
        view = recorded_view(past, run.log, start_ns=run.start_ns, end_ns=run.end_ns)
        print_view(view, shown=_NODES_SHOWN, output="table")

    def _shown(self) -> MomentView:
        moment, position = self._stepper.moment, self._stepper.position
        now_ns = self._run.start_ns if moment is None else moment.entry.now_ns
        return MomentView(self._run, self._stepper.machine, now_ns, position)

    def show(self) -> None:
        """Print the event, its actions, and the sizes of the queue after it."""
        position, moment = self._stepper.position, self._stepper.moment
        count = len(self._run.log)
        if moment is None:
            write(f"before the first of {count} events; n steps forward, ? lists the commands")
            return
        write(f"event {position} of {count}, {self._run.describe(moment.entry.now_ns)}")
        attempts = [f" (attempt {self._stepper.attempt_of(pod)})" for pod in moment.entry.pods[:1]]
        print_paragraph(describe_event(moment) + "".join(attempts), indent=2, hanging=2)
        for action in moment.actions:
            print_paragraph(f"-> {describe_action(action)}", indent=2, hanging=3)
        pods, nodes = moment.placed_count, moment.node_count
        print_paragraph(
            f"queue: {queue_sizes_text(moment.sizes)}; {pods} pod{'s' * (pods != 1)} on"
            f" {nodes} node{'s' * (nodes != 1)}",
            indent=2,
        )


# Text of the machine's events and actions, for `podwright run step`.


def describe_event(moment: Moment) -> str:  # noqa: PLR0911 - one return for each kind
    """Return a description of a recorded event."""
    match moment.entry.event:
        case ObjectPut(obj):
            return _put(obj, is_new=moment.is_new)
        case ObjectDeleted(obj):
            return f"{_named(obj)} deleted"
        case CycleDue():
            pods = ", ".join(moment.entry.pods)
            return (
                f"scheduling cycle for {pods}" if pods else "scheduling cycle due, none completed"
            )
        case TimerFired():
            return "timer fired"
        case FlushBackoff():
            return "flush of backoffQ: pods whose backoff has completed become active"
        case FlushUnschedulable():
            return "flush of unschedulable pods: pods parked for too long become active or back off"
        case CallDone(call, error):
            result = "done" if error is None else f"failed: {error.message}"
            return f"result of {_call_text(call, moment.request)}: {result}"
        case ExtenderReplied(call, reply):
            result = "replied" if not reply.error else f"failed: {reply.error}"
            pods = ", ".join(moment.entry.pods)
            ended = f"; completes the cycle for {pods}" if pods else ""
            return f"result of {_call_text(call, moment.request)}: {result}{ended}"
        case PodActivated(pod):
            return f"pod {pod} moved to the active queue by hand"
        case PodAllowed(pod, plugin):
            return f"{plugin} allows waiting pod {pod}"
        case PodRejected(pod, plugin, message):
            return f"{plugin} rejects waiting pod {pod}: {message}"


_CLAIM_OPERATIONS = {
    "create": "create",
    "update": "update",
    "updateStatus": "update the status of",
    "release": "remove the pod from",
    "delete": "delete",
}


def describe_action(action: Action) -> str:  # noqa: PLR0911 - one return for each kind
    """Return a description of an action of the machine."""
    match action:
        case Bind(_, pod, _, node):
            return f"bind pod {pod} to {node}"
        case PatchPodStatus(_, pod, _, condition, nominated_node):
            return f"set the status of pod {pod}: {_status(condition, nominated_node)}"
        case PatchPodGroupStatus(_, group, condition):
            return f"set the status of pod group {group}: {_status(condition, None)}"
        case DeletePod(_, pod):
            return f"delete pod {pod}"
        case UpdateVolume(_, obj) | UpdateClaim(_, obj):
            return f"update {_named(obj)}"
        case WriteResourceClaim(_, operation, resource_claim):
            return f"{_CLAIM_OPERATIONS[operation]} {_named(resource_claim)}"
        case PatchExtendedClaim(_, pod, _, claim_name):
            return f"set the claim for extended resources of pod {pod}: {claim_name}"
        case PatchPodMetadata(_, pod, _, annotations, labels):
            return f"set metadata of pod {pod}: {', '.join([*annotations, *labels])}"
        case CallExtender(_, request):
            return f"call {request.verb} of extenders[{request.extender}]"
        case EmitEvent():
            return f"{action.type} Event {action.reason} of pod {action.pod}: {action.note}"
        case WakeAt(due_ns):
            return f"wake at {shortest_time_text(due_ns)}"


def _put(obj: Object, *, is_new: bool | None) -> str:
    if not isinstance(obj, Pod):
        return f"{_named(obj)} added or updated"
    facts: list[str] = [obj.status.phase or "Pending"]
    if obj.spec.node_name:
        facts.append(f"on {obj.spec.node_name}")
    if obj.status.nominated_node_name:
        facts.append(f"nominated to {obj.status.nominated_node_name}")
    if obj.metadata.deletion_timestamp:
        facts.append("terminating")
    done = {True: "added", False: "updated", None: "added or updated"}[is_new]
    return f"{_named(obj)} {done}: {', '.join(facts)}"


def _named(obj: Object) -> str:
    kind = obj.kind
    word = kind.lower() if kind in ("Pod", "Node", "Namespace") else kind
    return f"{word} {obj.key}"


def _call_text(call: int, action: Action | None) -> str:
    return f"call {call}" if action is None else f'"{describe_action(action)}"'


def _status(condition: Condition | None, nominated_node: str | None) -> str:
    parts = []
    if condition is not None:
        reason = f" ({condition.reason})" if condition.reason else ""
        parts.append(f"{condition.type} is {condition.status}{reason}")
    if nominated_node is not None:
        parts.append(f"nominated to {nominated_node}" if nominated_node else "nomination cleared")
    return ", ".join(parts) or "no change"
