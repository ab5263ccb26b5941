"""Stories: transcripts with the inputs of a machine and its actions.

A story is text. Lines that begin with `#` are comments; the first states the rule that the
story shows. Blocks follow, separated by empty lines: commands, a line of four dashes, and the
actions of the machine. Each command has a time; in between, timers fire and calls end at their
own times.

    plugin Gate permit default/a Wait 5s      results of the scripted plugins Gate and Check,
                                              one per call, at any extension point
    plugin Gate events Node Add               Gate registers this event; all events otherwise
    api bind default/a error=conflict         the next such call fails; delay=2s: it takes 2s
    grace 30s                                 the termination time of pods on nodes
    rules classic                             the v1.16 rules
    backoff 3 8                               initial and maximum backoff in seconds
    workers 16                                victims removed in parallel; one otherwise
    expiry 30s                                assumed pods expire after this time
    gate SchedulerAsyncPreemption=false       a feature gate
    gangs                                     enables the feature gates of in-tree gangs
    coscheduling podGroupBackoffSeconds=5     enables the plugin Coscheduling with these args
    spread none                               no default spread constraints, which would
                                              disable batching

    0s  node n1 cpu=2 zone=a                  as podwright.testing.make_node
    0s  pod default/a cpu=500m priority=10    as podwright.testing.make_pod; node=n1: on this node
    0s  pod default/a started=10s             also: policy=Never, nominated=n1
    0s  change node n1 cpu=4                  updates it; also: change pod default/a priority=5
    0s  budget default/db app=db allowed=1    a budget of pods app=db with disruptionsAllowed
    0s  pod default/a group=g                 a member of the group, of either kind
    0s  group default/g min=2                 also: basic, or timeout=5 for Coscheduling
    0s  gates default/a                       sets the scheduling gates of the pod; none here
    0s  delete default/a                      without grace; also: delete node n1
    0s  terminate default/a                   with its grace period
    0s  hold_updates default/a                no updates of the pod until: deliver_updates
    0s  cycle                                 one scheduling cycle
    0s  flush_backoff                         also: flush_unschedulable
    0s  allow default/a Gate                  also: reject default/a Gate not today
    0s  wait                                  no command; time passes

Below the line are the actions in the order of the machine, then the pods whose place has
changed, by name:

    ready   default/a                         in activeQ, from another place
    backoff default/a  until=2s rejected_by=NodeResourcesFit      in backoffQ
    backoff default/a  until=2s after an error                    in the error backoffQ
    park    default/a  rejected_by=NodeResourcesFit               unschedulable
    hold    default/a  by=SchedulingGates                         gated
    wait    default/a  on=n1 for=Gate         at Permit
    assume  default/a  n1                     its binding is under way
    expire  default/a                         the assumed pod expired
    gone    default/a

`choose` is not an action: it shows the criterion that chose among several candidates of a
preemption. `PODWRIGHT_UPDATE_STORIES=1` rewrites the lines below each line of dashes.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from podwright.apimachinery.objects import encode, format_duration, parse_duration
from podwright.scheduler.framework.events import ActionType, EventHint
from podwright.scheduler.machine import (
    Action,
    Bind,
    DeletePod,
    EmitEvent,
    Event,
    ObjectDeleted,
    ObjectPut,
    PatchPodGroupStatus,
    PatchPodStatus,
    UpdateClaim,
    UpdateVolume,
)
from podwright.scheduler.preemption import Preemption
from podwright.scheduler.queueing import QueuedPod, QueueName
from podwright.testing import make_node, make_pod
from podwright.testing.parity.trace import TraceReplay

RULE = "----"
GROUPINGS = ("gangs", "coscheduling")
START = "2026-01-01T00:00:00Z"
PLUGINS = {"Gate": "StubA", "Check": "StubB"}
POINTS = {"reserve": "reserve", "permit": "permit", "pre_bind": "preBind"}


class Story(TraceReplay):
    """One story: a machine and a small API server that follow its commands."""

    def __init__(self, directives: list[list[str]]) -> None:
        self.lines: list[str] = []
        self._places: dict[str, str] = {}
        self._clock_ns = 0
        self._held: dict[str, list[Event]] = {}
        self._grouping = next((d[0] for d in directives if d[0] in GROUPINGS), "")
        super().__init__(_case_of(directives))

    def run(self, command: str) -> None:
        """Execute one command at its time."""
        at, verb, *rest = command.split()
        at_ns = parse_duration(at)
        assert at_ns >= self._clock_ns, f"{command!r} goes back in time"
        self.begin_step((at_ns - self._clock_ns) / 1_000_000_000)
        self._clock_ns = at_ns
        index = len(self.lines)
        self.do(self._step(verb, rest))
        self.lines[index:index] = self._choices()
        self.machine.validate()

    def take_output(self) -> list[str]:
        """Return the output since the last call, and the pods whose place has changed."""
        places = self._all_places()
        for name in sorted(places.keys() | self._places.keys()):
            place = places.get(name, line("gone", name))
            if place != self._places.get(name) and place:
                self.lines.append(place)
        self._places = places
        lines, self.lines = self.lines, []
        return lines

    def _step(self, verb: str, rest: list[str]) -> dict[str, Any]:
        match verb:
            case "node" | "pod" | "group" | "budget":
                return {"op": "create", "object": self._object(verb, rest)}
            case "change":
                return {"op": "update", "object": self._object(rest[0], rest[1:])}
            case "gates":
                return {"op": "update", "object": self._with_gates(rest[0], rest[1:])}
            case "delete" if rest[0] == "node":
                return {"op": "delete", "kind": "Node", "name": rest[1]}
            case "delete" | "terminate":
                return {"op": verb, "name": rest[0]}
            case "allow" | "reject":
                step = {"op": verb, "name": rest[0], "plugin": PLUGINS[rest[1]]}
                return {**step, "message": " ".join(rest[2:])}
            case "wait" | "hold_updates" | "deliver_updates":
                self._hold_or_deliver(verb, rest)
                return {"op": "tick"}
            case _:
                return {"op": verb}

    def _object(self, kind: str, rest: list[str]) -> dict[str, Any]:
        match kind:
            case "node":
                return _document(make_node(rest[0], **_fields(rest)))
            case "pod":
                return _pod(rest, self._grouping)
            case "group":
                return _group(rest, self._grouping)
            case "budget":
                return _budget(rest)
            case _:
                raise AssertionError(f"there is no {kind!r} in stories")

    def _with_gates(self, name: str, gates: list[str]) -> dict[str, Any]:
        pod = self.machine.pod(name)
        assert pod is not None, name
        spec = {**pod.raw["spec"], "schedulingGates": [{"name": gate} for gate in gates]}
        return {**pod.raw, "spec": spec}

    def _hold_or_deliver(self, verb: str, rest: list[str]) -> None:
        if verb == "hold_updates":
            self._held[rest[0]] = []
        elif verb == "deliver_updates":
            for event in self._held.pop(rest[0]):
                self._deliver(event)

    def _deliver(self, event: Event) -> None:
        if isinstance(event, ObjectPut | ObjectDeleted) and event.obj.key in self._held:
            self._held[event.obj.key].append(event)
        else:
            super()._deliver(event)

    # ---------------------------------------------------------------- output

    def _carry_out(self, action: Action) -> None:
        index = len(self.lines)
        super()._carry_out(action)
        output = self._line_of(action)
        if output:
            self.lines.insert(index, output)

    def _line_of(self, action: Action) -> str:
        match action:
            case EmitEvent(pod, _, _, reason, _, note):
                return line("event", pod, f"{reason}: {_renamed(note)}")
            case Bind(_, pod, _, node):
                return line("bind", pod, node, self._outcome(pod))
            case DeletePod(_, pod):
                return line("delete", pod, self._outcome(pod))
            case PatchPodStatus(_, pod, _, condition, nominated):
                parts = []
                if condition is not None:
                    parts.append(f"{condition.type}={condition.status} {condition.reason}")
                if nominated is not None:
                    parts.append(f"nominatedNodeName={nominated or 'none'}")
                return line("patch", pod, ", ".join(parts), self._outcome(pod))
            case PatchPodGroupStatus(_, group, condition):
                what = f"{condition.type}={condition.status} {condition.reason}"
                return line("patch", group, what, self._outcome(group))
            case UpdateVolume(_, obj) | UpdateClaim(_, obj):
                return line("update", obj.key, self._outcome(obj.key))
            case _:
                return ""

    def _choices(self) -> list[str]:
        """Return the criteria that chose between candidates of preemption."""
        found = [
            (decision.pod.key, decision.post_filter.details)
            for decision in self.decisions
            if decision.post_filter is not None
        ]
        return [
            line("choose", pod, f"{choice.candidate.node}: {choice.criterion.description}")
            for pod, preemption in found
            if isinstance(preemption, Preemption)
            and (choice := preemption.choice) is not None
            and choice.criterion is not None
        ]

    def _outcome(self, name: str) -> str:
        call = self.calls[name][-1]
        if call.get("started"):
            return "(under way)"
        return f"({call['error']})" if "error" in call else ""

    def _all_places(self) -> dict[str, str]:
        """Return the place of every pod; "" for a place that is not printed."""
        machine, queue = self.machine, self.machine.queue
        waiting, assumed = machine.waiting(), machine.assumed()
        places: dict[str, str] = {}
        for name in self.server.names("Pod"):
            queued = queue.get(name)
            if queued is not None:
                places[name] = self._queued(name, queued)
            elif name in waiting and name in assumed:
                plugins = ",".join(_renamed(plugin) for plugin in waiting[name])
                places[name] = line("wait", name, f"on={assumed[name]} for={plugins}")
            elif name in assumed:
                places[name] = line("assume", name, assumed[name])
            elif name in machine.expired():
                places[name] = line("expire", name)
            else:
                places[name] = ""
        return places

    def _queued(self, name: str, queued: QueuedPod) -> str:
        rejectors = ",".join(_renamed(plugin) for plugin in sorted(queued.rejectors))
        # The v1.16 queue does not record the rejecting plugins.
        reason = f"rejected_by={rejectors}" if rejectors else ""
        end = format_duration(self.machine.queue.backoff_end_ns(queued) - self.start_ns)
        match queued.place:
            case QueueName.UNSCHEDULABLE:
                return line("park", name, reason)
            case QueueName.GATED:
                return line("hold", name, f"by={queued.gating_plugin}")
            case QueueName.BACKOFF:
                return line("backoff", name, f"until={end}", reason)
            case QueueName.ERROR_BACKOFF:
                return line("backoff", name, f"until={end} after an error")
            case _:
                was_elsewhere = queued.attempts or self._places.get(name)
                return line("ready", name) if was_elsewhere else ""


def line(verb: str, name: str, *parts: str) -> str:
    """Write one line of output."""
    return f"{verb:<8}{name:<14} {' '.join(part for part in parts if part)}".rstrip()


def _renamed(text: str) -> str:
    for name, stub in PLUGINS.items():
        text = text.replace(stub, name)
    return text


def _case_of(directives: list[list[str]]) -> dict[str, Any]:
    """Make the case of a trace from the lines before the first block."""
    script: dict[str, Any] = {"api": [], "plugins": defaultdict(lambda: defaultdict(dict))}
    events: dict[str, list[EventHint]] = defaultdict(list)
    points: dict[str, dict[str, None]] = defaultdict(dict)
    gates: dict[str, bool] = {}
    written: dict[str, Any] = {}
    settings: list[dict[str, Any]] = []
    for directive in directives:
        match directive:
            case ["plugin", name, "events", resource, *actions]:
                hints = [EventHint(resource, ActionType.from_label(text)) for text in actions]
                events[PLUGINS[name]] += hints
            case ["plugin", name, point, pod, status, *rest]:
                stub = PLUGINS[name]
                points[POINTS[point]][stub] = None
                answers = script["plugins"][stub][point].setdefault(pod, [])
                answers.append(_answer(status, rest))
            case ["api", call, name, *rest]:
                script["api"].append({"call": call, "name": name, "times": 1, **_outcome(rest)})
            case ["spread", "none"]:
                settings.append({"name": "PodTopologySpread", "args": {"defaultingType": "List"}})
            case ["grace" | "workers" | "expiry" as key, value]:
                script |= _setting(key, value)
            case ["rules" | "backoff", *_]:
                written |= _written(directive)
            case ["gate", setting]:
                gate, _, value = setting.partition("=")
                gates[gate] = value == "true"
            case ["gangs"]:
                gates |= {"GenericWorkload": True, "GangScheduling": True}
            case ["coscheduling", *rest]:
                args = [field.partition("=") for field in rest]
                values = {key: int(value) for key, _, value in args}
                settings.append({"name": "Coscheduling", "args": values})
            case _:
                raise AssertionError(f"unknown directive {directive}")
    script["events"] = events
    plugins: dict[str, Any] = {
        point: {"enabled": [{"name": name} for name in names]} for point, names in points.items()
    }
    if any(entry["name"] == "Coscheduling" for entry in settings):
        plugins["multiPoint"] = {"enabled": [{"name": "Coscheduling"}]}
        plugins["queueSort"] = {"enabled": [{"name": "Coscheduling"}], "disabled": [{"name": "*"}]}
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        **written,
        "profiles": [
            {
                "schedulerName": "default-scheduler",
                "plugins": plugins,
                "pluginConfig": settings,
            }
        ],
    }
    return {"start": START, "objects": [], "script": script, "config": config, "gates": gates}


def _written(directive: list[str]) -> dict[str, Any]:
    """Return the top-level fields of the configuration."""
    if directive[0] == "rules":
        return {"rules": directive[1]}
    _, shortest, longest = directive
    return {"podInitialBackoffSeconds": int(shortest), "podMaxBackoffSeconds": int(longest)}


def _setting(key: str, value: str) -> dict[str, Any]:
    match key:
        case "grace":
            return {"grace_seconds": _seconds(value)}
        case "workers":
            return {"workers": int(value)}
        case _:
            return {"assumed_pod_expiry_ns": parse_duration(value)}


def _answer(status: str, rest: list[str]) -> dict[str, Any]:
    """Read the result of a scripted plugin."""
    answer: dict[str, Any] = {"status": status}
    if status == "Wait":
        answer["timeout"] = _seconds(rest.pop(0))
    if rest and rest[0].startswith("delay="):
        answer["delay"] = _seconds(rest.pop(0).removeprefix("delay="))
    if rest:
        answer["message"] = " ".join(rest)
    return answer


def _outcome(rest: list[str]) -> dict[str, Any]:
    """Read the outcome of a call."""
    fields = dict(field.partition("=")[::2] for field in rest)
    return {key: _seconds(text) if key == "delay" else text for key, text in fields.items()}


def _seconds(text: str) -> float:
    return parse_duration(text) / 1_000_000_000


def _fields(rest: list[str]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for part in rest[1:]:
        key, _, value = part.partition("=")
        fields[key] = int(value) if key in ("priority", "pods") else value
    for key in ("gates", "taints", "tolerations"):
        if key in fields:
            fields[key] = fields[key].split(",")
    for key in ("labels", "node_selector"):
        if key in fields:
            fields[key] = _labels(fields[key])
    return fields


def _labels(text: str) -> dict[str, str]:
    return dict(part.partition("=")[::2] for part in text.split(","))


def _pod(rest: list[str], grouping: str) -> dict[str, Any]:
    namespace, _, name = rest[0].partition("/")
    fields = {"scheduler": "default-scheduler", **_fields(rest)}
    group = fields.pop("group", "")
    policy = fields.pop("policy", "")
    started, nominated = fields.pop("started", ""), fields.pop("nominated", "")
    if group and grouping == "gangs":
        fields["spec"] = {"schedulingGroup": {"podGroupName": group}}
    elif group:
        fields["labels"] = {"scheduling.x-k8s.io/pod-group": group}
    elif policy:
        fields["spec"] = {"preemptionPolicy": policy}
    document = _document(make_pod(name, namespace=namespace, **fields))
    status = dict(document.get("status", {}))
    if started:
        start = datetime.fromisoformat(START) + timedelta(seconds=_seconds(started))
        status["startTime"] = start.strftime("%Y-%m-%dT%H:%M:%SZ")
    if nominated:
        status["nominatedNodeName"] = nominated
    return {**document, "status": status} if status else document


def _budget(rest: list[str]) -> dict[str, Any]:
    namespace, _, name = rest[0].partition("/")
    allowed = rest[2].removeprefix("allowed=")
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"selector": {"matchLabels": _labels(rest[1])}},
        "status": {"disruptionsAllowed": int(allowed)},
    }


def _group(rest: list[str], grouping: str) -> dict[str, Any]:
    namespace, _, name = rest[0].partition("/")
    fields = dict(part.partition("=")[::2] for part in rest[1:])
    spec: dict[str, Any]
    if grouping == "gangs":
        version = "scheduling.k8s.io/v1alpha2"
        least = fields.get("min")
        spec = {"schedulingPolicy": {"gang": {"minCount": int(least)}} if least else {"basic": {}}}
    else:
        version = "scheduling.x-k8s.io/v1alpha1"
        spec = {"minMember": int(fields["min"])}
        if "timeout" in fields:
            spec["scheduleTimeoutSeconds"] = int(fields["timeout"])
    meta = {"namespace": namespace, "name": name, "creationTimestamp": START}
    return {"apiVersion": version, "kind": "PodGroup", "metadata": meta, "spec": spec}


def _document(obj: Any) -> dict[str, Any]:
    return encode(obj)


def rerun(text: str) -> str:
    """Run a story and return its text with the present output."""
    written: list[str] = []
    head, *blocks = text.rstrip("\n").split("\n\n")
    lines = head.splitlines()
    directives: list[list[str]] = []
    if RULE in lines:
        blocks.insert(0, head)
    else:
        directives = [part.split() for part in lines if not part.startswith("#")]
        written.append(head)
    assert lines[0].startswith("#"), "a story begins with a comment that states its rule"
    story = Story(directives)
    for block in blocks:
        above = block.split(f"\n{RULE}")[0].splitlines()
        for command in above:
            if command and not command.startswith("#"):
                story.run(command)
        written.append("\n".join([*above, RULE, *story.take_output()]))
    return "\n\n".join(written) + "\n"


def stories() -> list[Path]:
    """Return the files of all stories."""
    return sorted(Path(__file__).parent.glob("*.story"))
