"""The binding cycle: from a chosen node to a bound pod, or back to the queue.

Theory of operation
-------------------
Each pod that was given a node has one `Binding`, which is at one stage at a time:

    start ─► NOMINATING ─► PERMIT ─► PRE_BIND ─► BIND ─► (bound)
                │            │          │          │
                └────────────┴──────────┴──────────┴──► failed: unreserve, forget, retry

*NOMINATING* waits for the patch that tells others where the pod is going; it is left out
unless PreBind or Permit will take time. *PERMIT* waits for the plugins that hold the pod.
After it the pod can no longer be called unschedulable, so the queue is told that its attempt
is over. Without the gate NominatedNodeNameForExpectation nobody is asked beforehand and nothing
is told. *PRE_BIND* and *BIND* ask one plugin after the other; one that answers `Pending` is
asked again when its calls are answered or its time has come.

A stage that need not wait is passed at once: a pod without anything to wait for goes from
`start` to the Bind action within one event.

A failure takes back what Reserve set aside, in reverse order, frees the node, wakes pods
that may fit there now, and hands the pod to `failure`. A pod that is preempted while it
waits at PERMIT or in PRE_BIND fails in the same way.

A bound pod stays assumed until the API server's word comes. If that word may be lost, an
expiry can be set: the pod is then forgotten that long after its binding has ended. Nobody is
told and nobody is woken; the pod counts again, or is queued again, when it is next seen.

Upstream: pkg/scheduler/schedule_one.go, `bindingCycle`, `handleBindingCycleError`;
pkg/scheduler/backend/cache/cache.go, `finishBinding`, `cleanupAssumedPods`
"""

from __future__ import annotations

import enum

from podwright.config import ExtenderReply
from podwright.framework import (
    ASSIGNED_POD_DELETE,
    BIND_BY_API,
    Answer,
    ApiCall,
    CallError,
    ClaimUpdate,
    Code,
    Cycle,
    Pending,
    Plugin,
    PodBinding,
    Progress,
    Status,
    Steps,
    VolumeUpdate,
    bind_steps,
    is_bound_by,
)
from podwright.framework import Binding as BoundByExtender
from podwright.machine.actions import Bind, CallExtender, EmitEvent, UpdateClaim, UpdateVolume
from podwright.machine.events import CallDone
from podwright.machine.extension_path import BOUND, ExtensionPath, placing_path
from podwright.machine.failure import Failure, failed, handle_failure, refused
from podwright.machine.plugin_calls import ask, ask_patiently, tell, worded
from podwright.machine.profiles import Placing
from podwright.machine.reporting import patch_status, shorten
from podwright.machine.state import State
from podwright.machine.timers import Timer
from podwright.machine.waiting import WaitingPod
from podwright.objects import Pod, with_node_name
from podwright.queueing import QueuedPod


class Stage(enum.Enum):
    """What a binding cycle is waiting for."""

    STARTING = "starting"
    NOMINATING = "nominating"
    PERMIT = "permit"
    PRE_BIND = "pre_bind"
    BIND = "bind"


class Binding:
    """One pod on its way to its node.

    Attributes
    ----------
    number : int
        Counts binding cycles.
    queued : QueuedPod
        The pod as the queue lent it.
    pod : Pod
        The version that was scheduled; it has no node name yet.
    node : str
    cycle : Cycle
        What plugins remember of this pod.
    placing : Placing
        Who takes part.
    plugin_index : int
        Which PreBind or Bind plugin's turn it is.
    skipped : frozenset of str
        PreBind plugins that said beforehand that they have nothing to do.
    is_cancellable : bool
        The pod is in PreBind and may be preempted without the API server.
    asked : list of int
        The calls that are not all answered.
    answers : dict of int to Answer
    timer : int
        The counter of the timer that is waited for, that of the expiry once the pod is bound;
        0: none.
    started_ns : int
        When the attempt began.
    waits_since_ns : int
        When it came to wait for Permit plugins; -1: it did not.
    steps : generator or None
        Extenders that are being asked to bind the pod.
    """

    __slots__ = (
        "answers",
        "asked",
        "cancelled",
        "cycle",
        "is_cancellable",
        "node",
        "number",
        "placing",
        "plugin_index",
        "pod",
        "queued",
        "skipped",
        "stage",
        "started_ns",
        "steps",
        "timer",
        "uid",
        "waits_since_ns",
    )

    def __init__(
        self, number: int, queued: QueuedPod, node: str, cycle: Cycle, placing: Placing
    ) -> None:
        self.number = number
        self.queued = queued
        self.pod: Pod = queued.pod
        self.uid = queued.uid
        self.node = node
        self.cycle = cycle
        self.placing = placing
        self.stage = Stage.STARTING
        self.plugin_index = 0
        self.skipped: frozenset[str] = frozenset()
        self.is_cancellable = False
        self.cancelled = ""
        self.asked: list[int] = []
        self.answers: dict[int, Answer] = {}
        self.timer = 0
        self.steps: Steps[BoundByExtender] | None = None
        self.started_ns = 0
        self.waits_since_ns = -1

    @property
    def assumed_pod(self) -> Pod:
        """The pod as it will be once it is bound."""
        return with_node_name(self.pod, self.node)


class BindingCycles:
    """Moves binding cycles from stage to stage.

    Parameters
    ----------
    announces_nodes : bool
        Feature gate NominatedNodeNameForExpectation: others are told where a pod is going if
        that will take time.
    assumed_pod_expiry_ns : int
        How long a bound pod counts on its node without the API server's word; 0: for ever.
    """

    def __init__(
        self, state: State, *, announces_nodes: bool = True, assumed_pod_expiry_ns: int = 0
    ) -> None:
        self._state = state
        self._announces_nodes = announces_nodes
        self._assumed_pod_expiry_ns = assumed_pod_expiry_ns

    # ------------------------------------------------------------ from outside

    def start(self, binding: Binding) -> None:
        """Begin with a pod that was reserved and permitted, or waits for that."""
        state = self._state
        state.bindings[binding.number] = binding
        state.bindings_by_uid[binding.uid] = binding
        if not self._announces_nodes:
            # Who was not asked beforehand counts as having something to do.
            binding.is_cancellable = True
            self._pass_permit(binding)
            return
        has_work = False
        if binding.placing.pre_bind:
            status = self._pre_flight(binding)
            if not status.is_success and not status.is_skip:
                self._fail(binding, failed(status), "PreBindPreFlight", Code.ERROR)
                return
            has_work = status.is_success
        if has_work or binding.uid in state.waiting:
            binding.is_cancellable = has_work
            call = patch_status(state, binding.pod, nominated_node=binding.node)
            if call is not None:
                binding.stage = Stage.NOMINATING
                binding.asked.append(call)
                state.calls[call] = binding
                return
        self._pass_permit(binding)

    def call_done(self, binding: Binding, done: CallDone) -> None:
        """Take an answer; go on if it is the last one that was waited for."""
        if (
            done.error is None
            and binding.stage is Stage.BIND
            and binding.placing.binds_simply
            and len(binding.asked) == 1
        ):
            # Nearly all calls are of this kind.
            self._bound(binding)
            return
        match binding.stage:
            case Stage.NOMINATING:
                # Nobody depends on the patch; a failed one changes nothing.
                binding.asked.clear()
                self._pass_permit(binding)
            case Stage.PRE_BIND | Stage.BIND:
                binding.answers[done.call] = Answer(done.error, done.obj)
                if len(binding.answers) == len(binding.asked):
                    self._go_on(binding)
            case Stage.STARTING | Stage.PERMIT:
                raise AssertionError(f"pod {binding.pod.key} at {binding.stage} got {done}")

    def timer_fired(self, timer: Timer) -> None:
        """Look whether a timer still matters, and go on if so."""
        state = self._state
        if timer.plugin:
            waiting = state.waiting.get(timer.uid)
            if waiting is None or waiting.number != timer.number:
                return
            if waiting.time_out(timer.plugin):
                self._decided(waiting)
            return
        binding = state.bindings.get(timer.number)
        if binding is None:
            self._expire(timer)
        elif binding.timer == timer.counter and not binding.asked:
            self._go_on(binding)

    def _expire(self, timer: Timer) -> None:
        """Forget a pod that was bound and has not been seen with its node since.

        Notes
        -----
        Upstream looks once a second; here the pod goes when its time is up.
        """
        state = self._state
        binding = state.assumed.get(timer.uid)
        # The timer may be an old one of the same binding cycle, or of an earlier one.
        if binding is None or (binding.number, binding.timer) != (timer.number, timer.counter):
            return
        forget(state, binding)
        state.expired.add(timer.uid)

    def allow(self, uid: str, plugin: str) -> None:
        """Let a waiting pod go, as far as a plugin is concerned."""
        waiting = self._state.waiting.get(uid)
        if waiting is not None and waiting.allow(plugin):
            self._decided(waiting)

    def reject(self, uid: str, plugin: str, message: str) -> bool:
        """Refuse a waiting pod; returns whether the pod waits."""
        waiting = self._state.waiting.get(uid)
        if waiting is None:
            return False
        if waiting.reject(plugin, message):
            self._decided(waiting)
        return True

    def preempt(self, uid: str, plugin: str) -> bool:
        """End a pod's way to its node without the API server; returns whether that worked."""
        waiting = self._state.waiting.get(uid)
        if waiting is not None:
            if not waiting.preempt(plugin):
                return False
            self._decided(waiting)
            return True
        binding = self._state.bindings_by_uid.get(uid)
        if binding is None or binding.stage is not Stage.PRE_BIND or not binding.is_cancellable:
            return False
        if not binding.cancelled:
            binding.cancelled = f"preempted by {plugin}"
            self._state.ready.append(binding)
        return True

    def _decided(self, waiting: WaitingPod) -> None:
        """Let the binding cycle that waits, if there is one, go on at the end of this event."""
        binding = self._state.bindings_by_uid.get(waiting.uid)
        if binding is not None and binding.stage is Stage.PERMIT:
            self._state.ready.append(binding)

    def resume(self, binding: Binding) -> None:
        """Go on with a binding cycle that was decided or cancelled."""
        if binding.stage is Stage.PERMIT:
            self._pass_permit(binding)
        elif binding.cancelled:
            plugin = self._plugins_of(binding)[binding.plugin_index]
            status = Status.error(binding.cancelled).by(plugin.name)
            self._fail(binding, failed(worded(status, "PreBind")), "PreBind", Code.ERROR)

    # ------------------------------------------------------------ stage by stage

    def _pre_flight(self, binding: Binding) -> Status:
        """Ask the PreBind plugins whether they will have something to do.

        Returns
        -------
        Status
            SUCCESS: at least one will. SKIP: none. Otherwise an error.
        """
        skipped: set[str] = set()
        has_work = False
        for plugin in binding.placing.pre_bind:
            status = ask(plugin, "pre_bind_pre_flight", binding.cycle, binding.node)
            if status.is_success:
                has_work = True
            elif status.is_skip:
                skipped.add(plugin.name)
            elif status.is_rejection or status.code.label == "Wait":
                return Status.error(
                    f'PreBindPreFlight {plugin.name} returned "{status.code.label}", which is '
                    "unsupported. It is supposed to return Success, Skip, or Error status"
                )
            else:
                return Status.error(f'running PreBindPreFlight "{plugin.name}": {status.message}')
        binding.skipped = frozenset(skipped)
        return Status.OK if has_work else Status.SKIPPED

    def _pass_permit(self, binding: Binding) -> None:
        state = self._state
        waiting = state.waiting.get(binding.uid)
        if waiting is not None:
            verdict = waiting.verdict
            if binding.waits_since_ns < 0:
                binding.waits_since_ns = state.now_ns
            if verdict is None:
                binding.stage = Stage.PERMIT
                return
            del state.waiting[binding.uid]
            waited_ns = state.now_ns - binding.waits_since_ns
            state.metrics.permit_waited(verdict.code.label, waited_ns)
            if not verdict.is_success:
                status = Status.error(f"waiting on permit for pod: {verdict.message}")
                failure = refused(verdict) if verdict.is_rejection else failed(status)
                if self._announces_nodes:
                    code = Code.SUCCESS if binding.is_cancellable else Code.SKIP
                    self._fail(binding, failure, "PreBindPreFlight", code)
                else:
                    self._fail(binding, failure, "Permit", Code.WAIT)
                return
        state.queue.done(binding.queued, state.now_ns)
        if binding.placing.only_binds:
            binding.stage = Stage.BIND
            self._run_bind_plugins(binding, None)
            return
        binding.stage = Stage.PRE_BIND
        self._run_plugins(binding, None)

    def _plugins_of(self, binding: Binding) -> tuple[Plugin, ...]:
        return binding.placing.pre_bind if binding.stage is Stage.PRE_BIND else binding.placing.bind

    def _run_plugins(self, binding: Binding, progress: Progress | None) -> None:
        """Ask PreBind and Bind plugins in order, until one has to wait or all are done."""
        if binding.stage is Stage.PRE_BIND:
            plugins = binding.placing.pre_bind
            while binding.plugin_index < len(plugins):
                plugin = plugins[binding.plugin_index]
                if plugin.name not in binding.skipped:
                    answer = ask_patiently(
                        plugin, "pre_bind", binding.cycle, binding.node, progress
                    )
                    progress = None
                    if isinstance(answer, Pending):
                        self._wait(binding, answer)
                        return
                    if not answer.is_success:
                        failure = failed(worded(answer, "PreBind"))
                        self._fail(binding, failure, "PreBind", answer.code)
                        return
                binding.plugin_index += 1
            binding.stage = Stage.BIND
            binding.plugin_index = 0
            if binding.placing.binders and is_bound_by(binding.placing.binders, binding.pod):
                binding.steps = bind_steps(binding.placing.binders, binding.pod, binding.node)
                self._ask_binders(binding, None)
                return
        self._run_bind_plugins(binding, progress)

    def _ask_binders(self, binding: Binding, reply: ExtenderReply | None) -> None:
        """Let extenders bind the pod; the plugins do if none of them does."""
        state, steps = self._state, binding.steps
        assert steps is not None, f"pod {binding.pod.key}: no extender was asked"
        try:
            request = next(steps) if reply is None else steps.send(reply)
        except StopIteration as end:
            binding.steps = None
            outcome: BoundByExtender = end.value
            if not outcome.by_extender:
                self._run_bind_plugins(binding, None)
            elif outcome.error:
                # No Bind plugin was asked.
                error = Status.error(outcome.error)
                self._fail(binding, failed(error), "PreBind", Code.SUCCESS)
            else:
                self._bound(binding)
            return
        call = state.next_call()
        state.calls[call] = binding
        binding.asked = [call]
        state.actions.append(CallExtender(call, request))

    def extender_replied(self, binding: Binding, reply: ExtenderReply) -> None:
        """Take an extender's answer about binding."""
        binding.asked.clear()
        self._ask_binders(binding, reply)

    def _run_bind_plugins(self, binding: Binding, progress: Progress | None) -> None:
        plugins = binding.placing.bind
        while binding.plugin_index < len(plugins):
            plugin = plugins[binding.plugin_index]
            answer = ask_patiently(plugin, "bind", binding.cycle, binding.node, progress)
            progress = None
            if isinstance(answer, Pending):
                self._wait(binding, answer)
                return
            if not answer.is_skip:
                if answer.is_success:
                    self._bound(binding)
                else:
                    self._fail(binding, failed(worded(answer, "Bind")), "Bind", answer.code)
                return
            binding.plugin_index += 1
        status = Status.error("every Bind plugin skipped the pod")
        self._fail(binding, failed(status), "Bind", Code.SKIP)

    def _wait(self, binding: Binding, pending: Pending) -> None:
        """Make the calls that a plugin wants, and remember when to ask it again."""
        state = self._state
        if pending is BIND_BY_API:
            # Nearly all pods are bound so.
            number = state.next_call()
            state.actions.append(Bind(number, binding.queued.key, binding.uid, binding.node))
            binding.asked.append(number)
            state.calls[number] = binding
            return
        for call in pending.calls:
            number = self._make(binding, call)
            binding.asked.append(number)
            state.calls[number] = binding
        if pending.delay_ns is not None:
            due_ns = state.now_ns + pending.delay_ns
            binding.timer = state.timers.add(due_ns, binding.number, binding.uid)
        elif not pending.calls:
            name = self._plugins_of(binding)[binding.plugin_index].name
            status = Status.error(f'plugin "{name}" waits for nothing')
            point = "PreBind" if binding.stage is Stage.PRE_BIND else "Bind"
            self._fail(binding, failed(status), point, Code.ERROR)

    def _make(self, binding: Binding, call: ApiCall) -> int:
        state = self._state
        number = state.next_call()
        match call:
            case PodBinding():
                state.actions.append(Bind(number, binding.queued.key, binding.uid, binding.node))
            case VolumeUpdate(volume):
                state.actions.append(UpdateVolume(number, volume))
            case ClaimUpdate(claim):
                state.actions.append(UpdateClaim(number, claim))
        return number

    def _go_on(self, binding: Binding) -> None:
        if binding.cancelled:
            return
        answers = tuple([binding.answers[call] for call in binding.asked])
        binding.asked.clear()
        binding.answers.clear()
        binding.timer = 0
        progress = Progress(now_ns=self._state.now_ns, answers=answers)
        self._run_plugins(binding, progress)

    # ------------------------------------------------------------ how it ends

    def _bound(self, binding: Binding) -> None:
        state, pod = self._state, binding.pod
        self._end(binding)
        is_plain = binding.waits_since_ns < 0 and not binding.is_cancellable
        path = BOUND if is_plain else self._path(binding, "PostBind", Code.SUCCESS)
        profile, key = pod.spec.scheduler_name, binding.queued.key
        state.metrics.scheduled(profile, binding.queued, binding.started_ns, state.now_ns, path)
        note = shorten(f"Successfully assigned {key} to {binding.node}")
        # What `emit` does, without asking the pod for its name.
        state.actions.append(
            EmitEvent(key, binding.uid, "Normal", "Scheduled", "Binding", note, profile)
        )
        for plugin in binding.placing.post_bind:
            tell(plugin, "post_bind", binding.cycle, binding.node)
        if self._assumed_pod_expiry_ns and state.assumed.get(binding.uid) is binding:
            due_ns = state.now_ns + self._assumed_pod_expiry_ns
            binding.timer = state.timers.add(due_ns, binding.number, binding.uid)

    def _end(self, binding: Binding) -> None:
        state = self._state
        del state.bindings[binding.number]
        if state.bindings_by_uid.get(binding.uid) is binding:
            del state.bindings_by_uid[binding.uid]
        for call in binding.asked:
            state.calls.pop(call, None)

    def _fail(self, binding: Binding, failure: Failure, point: str, code: Code) -> None:
        """Take everything back.

        Parameters
        ----------
        point : str
            The last extension point that was asked.
        code : Code
            What it answered.
        """
        state, queued = self._state, binding.queued
        self._end(binding)
        for plugin in binding.placing.unreserve:
            tell(plugin, "unreserve", binding.cycle, binding.node)
        forgotten = forget(state, binding)
        if forgotten and not failure.is_rejected:
            self._tell_that_room_is_free(binding, spare="")
        path = self._path(binding, point, code)
        handle_failure(
            state, queued, binding.pod, failure, started_ns=binding.started_ns, path=path
        )
        if forgotten and failure.is_rejected:
            # After the failure, and not for the pod itself: it would take its own departure
            # for a change that helps.
            self._tell_that_room_is_free(binding, spare=binding.uid)

    def _path(self, binding: Binding, last: str, code: Code) -> ExtensionPath:
        """Return the extension points up to `last`, which answered `code`."""
        return placing_path(
            last,
            code,
            has_waited=binding.waits_since_ns >= 0,
            has_work=binding.is_cancellable,
            has_pre_flight=self._announces_nodes,
        )

    def _tell_that_room_is_free(self, binding: Binding, *, spare: str) -> None:
        state = self._state
        state.queue.move(
            ASSIGNED_POD_DELETE,
            state.now_ns,
            old=binding.assumed_pod,
            pre_check=(lambda pod: pod.metadata.uid != spare) if spare else None,
        )


def forget(state: State, binding: Binding) -> bool:
    """Stop counting an assumed pod on its node.

    Returns
    -------
    bool
        False if the API server has confirmed the pod meanwhile: then it counts by right.
    """
    if state.assumed.get(binding.uid) is binding:
        del state.assumed[binding.uid]
        key = binding.queued.key
        placed = state.cluster.pods.get(key)
        # A pod of the same name may have taken its place, also on a node that is not known yet.
        if placed is None:
            state.cluster.forget_pod_on_missing_node(key, binding.uid)
        elif placed.pod.metadata.uid == binding.uid:
            state.cluster.remove(key)
        if state.groups.is_used:
            state.groups.mark(binding.pod, is_scheduled=False)
        return True
    placed = state.cluster.pods.get(binding.queued.key)
    return placed is None or placed.pod.metadata.uid != binding.uid


def call_failed(error: CallError | None) -> bool:
    """Tell whether a call failed in a way that matters: what is gone need not be removed."""
    return error is not None and not error.is_not_found
