"""The binding cycle: from a chosen node to a bound pod, or back to the queue.

Theory of operation
-------------------
Each pod that was assumed on a node has one `Binding`, which is at one stage at a time:

    start ─► NOMINATING ─► PERMIT ─► PRE_BIND ─► BIND ─► (bound)
                │            │          │          │
                └────────────┴──────────┴──────────┴──► failed: unreserve, forget, retry

*NOMINATING* waits for the patch of the pod's nominatedNodeName, which announces the node to
other components; it is skipped unless PreBind or Permit will take time. *PERMIT* waits for the
plugins that returned Wait. After it the pod can no longer become unschedulable, so its attempt
ends in the queue. Without the gate NominatedNodeNameForExpectation there is no pre-flight and
no patch. *PRE_BIND* and *BIND* call one plugin after the other; a plugin that returns `Pending`
is resumed when its calls are answered or its delay is over.

A stage that need not wait ends at once: a pod without anything to wait for goes from `start` to
the Bind action within one event.

A failure calls Unreserve in reverse order, frees the node, moves pods that may fit there now,
and passes the pod to `failure_handling`. A pod that is preempted at PERMIT or in PRE_BIND fails
in the same way.

A bound pod stays assumed until the API server confirms it. If the confirmation may be lost, an
expiry can be set: the pod is then forgotten that long after its binding ended. No pod is moved
in the queue by that; the pod counts again, or is queued again, when it is next seen.

Upstream: pkg/scheduler/schedule_one.go, `bindingCycle`, `handleBindingCycleError`;
pkg/scheduler/backend/cache/cache.go, `finishBinding`, `cleanupAssumedPods`
"""

from __future__ import annotations

from collections.abc import Callable

from podwright.apimachinery.objects import NamespacedName
from podwright.scheduler.config import ExtenderReply
from podwright.scheduler.framework import (
    ASSIGNED_POD_DELETE,
    BIND_BY_API,
    Answer,
    ApiCall,
    Binding as BoundByExtender,
    CallError,
    ClaimUpdate,
    Code,
    ExtendedClaimPatch,
    Pending,
    Plugin,
    PodBinding,
    PodMetadataPatch,
    Progress,
    ResourceClaimWrite,
    Status,
    VolumeUpdate,
    bind_steps,
    is_bound_by,
)
from podwright.scheduler.machine.actions import (
    Bind,
    CallExtender,
    EmitEvent,
    PatchExtendedClaim,
    PatchPodMetadata,
    UpdateClaim,
    UpdateVolume,
    WriteResourceClaim,
)
from podwright.scheduler.machine.cycles.binding import Binding, BindingStage
from podwright.scheduler.machine.cycles.failure import Failure, failed, refused
from podwright.scheduler.machine.cycles.failure_handling import handle_failure
from podwright.scheduler.machine.cycles.plugin_calls import (
    BOUND,
    ExtensionPath,
    binding_path,
    call_or_resume,
    call_plugin,
    notify_plugin,
    notify_pod_ended,
    with_point,
)
from podwright.scheduler.machine.cycles.waiting import WaitingPod
from podwright.scheduler.machine.events import CallDone
from podwright.scheduler.machine.reporting import patch_status, shorten
from podwright.scheduler.machine.state import State, Timer


class BindingCycles:
    """Moves binding cycles from stage to stage.

    Parameters
    ----------
    bind_failed : callable
        Describes an error of a Bind plugin, or of an extender that binds.
    announces_nodes : bool
        Feature gate NominatedNodeNameForExpectation: the pod's nominatedNodeName is patched if
        its binding will take time.
    assumed_pod_expiry_ns : int
        How long a bound pod stays assumed without confirmation by the API server; 0: for ever.
    """

    def __init__(
        self,
        state: State,
        *,
        bind_failed: Callable[[Status], Failure],
        announces_nodes: bool = True,
        assumed_pod_expiry_ns: int = 0,
    ) -> None:
        self._state = state
        self._bind_failed = bind_failed
        self._announces_nodes = announces_nodes
        self._assumed_pod_expiry_ns = assumed_pod_expiry_ns

    # ------------------------------------------------------------ called by other parts

    def start(self, binding: Binding) -> None:
        """Start the binding cycle of a pod that passed Reserve, and passed or waits at Permit."""
        state = self._state
        state.bindings[binding.number] = binding
        state.bindings_by_uid[binding.uid] = binding
        if not self._announces_nodes:
            # Without pre-flight, PreBind plugins count as having something to do.
            binding.is_cancellable = True
            self._pass_permit(binding)
            return
        has_work = False
        if binding.plugins.pre_bind:
            status = self._pre_flight(binding)
            if not status.is_success and not status.is_skip:
                self._fail(binding, failed(status), "PreBindPreFlight", Code.ERROR)
                return
            has_work = status.is_success
        if has_work or binding.uid in state.waiting:
            binding.is_cancellable = has_work
            call = patch_status(state, binding.pod, nominated_node=binding.node)
            if call is not None:
                binding.stage = BindingStage.NOMINATING
                binding.call_numbers.append(call)
                state.calls[call] = binding
                return
        self._pass_permit(binding)

    def call_done(self, binding: Binding, done: CallDone) -> None:
        """Handle the answer to a call; continue if it is the last one of the plugin."""
        if (
            done.error is None
            and binding.stage is BindingStage.BIND
            and binding.plugins.binds_simply
            and len(binding.call_numbers) == 1
        ):
            # Fast path: nearly all calls are bindings by DefaultBinder.
            self._bound(binding)
            return
        match binding.stage:
            case BindingStage.NOMINATING:
                # Nothing depends on the patch, so its failure is ignored, as upstream does.
                binding.call_numbers.clear()
                self._pass_permit(binding)
            case BindingStage.PRE_BIND | BindingStage.BIND:
                binding.answers[done.call] = Answer(done.error, done.obj)
                if len(binding.answers) == len(binding.call_numbers):
                    self._continue(binding)
            case BindingStage.STARTING | BindingStage.PERMIT:
                raise AssertionError(f"pod {binding.pod.key} at {binding.stage} got {done}")

    def awaits(self, timer: Timer) -> bool:
        """Tell whether a pod still waits for a timer; the others are outdated."""
        state = self._state
        if timer.plugin:
            waiting = state.waiting.get(timer.uid)
            return waiting is not None and waiting.number == timer.number
        binding = state.bindings.get(timer.number) or state.assumed.get(timer.uid)
        return binding is not None and binding.timer == timer.counter

    def timer_fired(self, timer: Timer) -> None:
        """Continue what waits for a timer, unless the timer is outdated."""
        state = self._state
        if not self.awaits(timer):
            return
        if timer.plugin:
            waiting = state.waiting[timer.uid]
            if waiting.time_out(timer.plugin):
                self._decided(waiting)
            return
        binding = state.bindings.get(timer.number)
        if binding is None:
            # The confirmation of a bound pod did not arrive. Upstream checks once a second; here
            # the pod is forgotten exactly at its expiry.
            forget(state, state.assumed[timer.uid])
            state.expired.add(timer.uid)
        elif not binding.call_numbers:
            self._continue(binding)

    def allow(self, uid: str, plugin: str) -> None:
        """Allow a waiting pod on behalf of a plugin."""
        waiting = self._state.waiting.get(uid)
        if waiting is not None and waiting.allow(plugin):
            self._decided(waiting)

    def reject(self, uid: str, plugin: str, message: str) -> bool:
        """Reject a waiting pod; returns whether the pod waits."""
        waiting = self._state.waiting.get(uid)
        if waiting is None:
            return False
        if waiting.reject(plugin, message):
            self._decided(waiting)
        return True

    def preempt(self, uid: str, plugin: str) -> bool:
        """Cancel the binding cycle of a pod without the API server; returns whether it worked."""
        waiting = self._state.waiting.get(uid)
        if waiting is not None:
            if not waiting.preempt(plugin):
                return False
            self._decided(waiting)
            return True
        binding = self._state.bindings_by_uid.get(uid)
        if (
            binding is None
            or binding.stage is not BindingStage.PRE_BIND
            or not binding.is_cancellable
        ):
            return False
        if not binding.cancelled:
            binding.cancelled = f"preempted by {plugin}"
            self._state.ready.append(binding)
        return True

    def _decided(self, waiting: WaitingPod) -> None:
        """Schedule the waiting binding cycle to continue at the end of this event."""
        binding = self._state.bindings_by_uid.get(waiting.uid)
        if binding is not None and binding.stage is BindingStage.PERMIT:
            self._state.ready.append(binding)

    def resume(self, binding: Binding) -> None:
        """Continue a binding cycle that was allowed, rejected or cancelled."""
        if binding.stage is BindingStage.PERMIT:
            self._pass_permit(binding)
            return
        assert binding.cancelled, f"pod {binding.pod.key} at {binding.stage} waits for nothing"
        plugin = self._plugins_of(binding)[binding.plugin_index]
        status = Status.error(binding.cancelled).by(plugin.name)
        self._fail(binding, failed(with_point(status, "PreBind")), "PreBind", Code.ERROR)

    # ------------------------------------------------------------ stage by stage

    def _pre_flight(self, binding: Binding) -> Status:
        """Run PreBindPreFlight: call the PreBind plugins for whether they have work.

        Returns
        -------
        Status
            SUCCESS: at least one has. SKIP: none has. Otherwise an error.
        """
        skipped: set[str] = set()
        has_work = False
        for plugin in binding.plugins.pre_bind:
            status = call_plugin(plugin, "pre_bind_pre_flight", binding.cycle, binding.node)
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
                binding.stage = BindingStage.PERMIT
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
        # No later failure is unschedulable, so the events since the pop are no longer needed.
        # Upstream: schedule_one.go, bindingCycle
        state.queue.done(binding.queued, state.now_ns)
        if binding.plugins.only_binds:
            binding.stage = BindingStage.BIND
            self._run_bind_plugins(binding, None)
            return
        binding.stage = BindingStage.PRE_BIND
        self._run_plugins(binding, None)

    def _plugins_of(self, binding: Binding) -> tuple[Plugin, ...]:
        return (
            binding.plugins.pre_bind
            if binding.stage is BindingStage.PRE_BIND
            else binding.plugins.bind
        )

    def _run_plugins(self, binding: Binding, progress: Progress | None) -> None:
        """Call PreBind and Bind plugins in order, until one has to wait or all are done."""
        if binding.stage is BindingStage.PRE_BIND:
            plugins = binding.plugins.pre_bind
            while binding.plugin_index < len(plugins):
                plugin = plugins[binding.plugin_index]
                if plugin.name not in binding.skipped:
                    answer = call_or_resume(
                        plugin, "pre_bind", binding.cycle, binding.node, progress
                    )
                    progress = None
                    if isinstance(answer, Pending):
                        self._wait(binding, answer)
                        return
                    if not answer.is_success:
                        failure = failed(with_point(answer, "PreBind"))
                        self._fail(binding, failure, "PreBind", answer.code)
                        return
                binding.plugin_index += 1
            binding.stage = BindingStage.BIND
            binding.plugin_index = 0
            if binding.plugins.binders and is_bound_by(binding.plugins.binders, binding.pod):
                binding.steps = bind_steps(binding.plugins.binders, binding.pod, binding.node)
                self._call_binders(binding, None)
                return
        self._run_bind_plugins(binding, progress)

    def _call_binders(self, binding: Binding, reply: ExtenderReply | None) -> None:
        """Call the extenders that bind the pod; Bind plugins follow if none of them binds it."""
        state, steps = self._state, binding.steps
        assert steps is not None, f"pod {binding.pod.key}: no extender was called"
        try:
            request = next(steps) if reply is None else steps.send(reply)
        except StopIteration as end:
            binding.steps = None
            outcome: BoundByExtender = end.value
            if not outcome.by_extender:
                self._run_bind_plugins(binding, None)
            elif outcome.error:
                # No Bind plugin was called.
                error = Status.error(outcome.error)
                self._fail(binding, self._bind_failed(error), "PreBind", Code.SUCCESS)
            else:
                self._bound(binding)
            return
        call = state.next_call()
        state.calls[call] = binding
        binding.call_numbers = [call]
        state.actions.append(CallExtender(call, request))

    def extender_replied(self, binding: Binding, reply: ExtenderReply) -> None:
        """Handle the reply of an extender that binds."""
        binding.call_numbers.clear()
        self._call_binders(binding, reply)

    def _run_bind_plugins(self, binding: Binding, progress: Progress | None) -> None:
        plugins = binding.plugins.bind
        while binding.plugin_index < len(plugins):
            plugin = plugins[binding.plugin_index]
            answer = call_or_resume(plugin, "bind", binding.cycle, binding.node, progress)
            progress = None
            if isinstance(answer, Pending):
                self._wait(binding, answer)
                return
            if not answer.is_skip:
                if answer.is_success:
                    self._bound(binding)
                else:
                    self._fail(binding, self._bind_failed(answer), "Bind", answer.code)
                return
            binding.plugin_index += 1
        status = Status.error("every Bind plugin skipped the pod")
        self._fail(binding, self._bind_failed(status), "Bind", Code.SKIP)

    def _wait(self, binding: Binding, pending: Pending) -> None:
        """Make the calls that a plugin requests, and set the timer that resumes it."""
        state = self._state
        if pending is BIND_BY_API:
            # Fast path: nearly all pods are bound by DefaultBinder.
            number = state.next_call()
            state.actions.append(Bind(number, binding.queued.key, binding.uid, binding.node))
            binding.call_numbers.append(number)
            state.calls[number] = binding
            return
        for call in pending.calls:
            number = self._request(binding, call)
            binding.call_numbers.append(number)
            state.calls[number] = binding
        if pending.delay_ns is not None:
            due_ns = state.now_ns + int(pending.delay_ns)
            binding.timer = state.timers.add(due_ns, binding.number, binding.uid)
        elif not pending.calls:
            name = self._plugins_of(binding)[binding.plugin_index].name
            status = Status.error(f'plugin "{name}" waits for nothing')
            point = "PreBind" if binding.stage is BindingStage.PRE_BIND else "Bind"
            self._fail(binding, failed(status), point, Code.ERROR)

    def _request(self, binding: Binding, call: ApiCall) -> int:
        return request_call(self._state, call, binding.queued.key, binding.uid, binding.node)

    def _continue(self, binding: Binding) -> None:
        if binding.cancelled:
            return
        answers = tuple([binding.answers[call] for call in binding.call_numbers])
        binding.call_numbers.clear()
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
        version = pod.metadata.resource_version
        state.metrics.scheduled(profile, binding.queued, binding.started_ns, state.now_ns, path)
        note = shorten(f"Successfully assigned {key} to {binding.node}")
        # As `emit` does, but with the key at hand: reading it from the pod costs time.
        state.actions.append(
            EmitEvent(
                key, binding.uid, "Normal", "Scheduled", "Binding", note, profile, "", version
            )
        )
        for plugin in binding.plugins.post_bind:
            notify_plugin(plugin, "post_bind", binding.cycle, binding.node, state.on_ignored)
        if state.releasing:
            newest = state.pods.get(key)
            if newest is None or newest.metadata.uid != binding.uid:
                # It ended before its binding was confirmed; see `EventHandlers`.
                notify_pod_ended(state.releasing, binding.assumed_pod, state.on_ignored)
        if self._assumed_pod_expiry_ns and state.assumed.get(binding.uid) is binding:
            due_ns = state.now_ns + self._assumed_pod_expiry_ns
            binding.timer = state.timers.add(due_ns, binding.number, binding.uid)

    def _end(self, binding: Binding) -> None:
        state = self._state
        del state.bindings[binding.number]
        if state.bindings_by_uid.get(binding.uid) is binding:
            del state.bindings_by_uid[binding.uid]
        for call in binding.call_numbers:
            state.calls.pop(call, None)

    def _fail(self, binding: Binding, failure: Failure, point: str, code: Code) -> None:
        """End a binding cycle with a failure: unreserve, forget, requeue.

        Parameters
        ----------
        point : str
            The last extension point that was called.
        code : Code
            What it returned.
        """
        state, queued = self._state, binding.queued
        self._end(binding)
        for plugin in binding.plugins.unreserve:
            notify_plugin(plugin, "unreserve", binding.cycle, binding.node, state.on_ignored)
        forgotten = forget(state, binding)
        # Upstream moves pods after the failure handler only if this pod was rejected.
        # Upstream: schedule_one.go, handleBindingCycleError
        if forgotten and not failure.is_rejected:
            self._move_pods_for_freed_room(binding, spare="")
        path = self._path(binding, point, code)
        handle_failure(
            state, queued, binding.pod, failure, started_ns=binding.started_ns, path=path
        )
        if forgotten and failure.is_rejected:
            # After the failure, and not for the pod itself: its own removal must not count as
            # an event that may make it schedulable.
            self._move_pods_for_freed_room(binding, spare=binding.uid)

    def _path(self, binding: Binding, last: str, code: Code) -> ExtensionPath:
        """Return the extension points up to `last`, which returned `code`."""
        return binding_path(
            last,
            code,
            has_waited=binding.waits_since_ns >= 0,
            has_work=binding.is_cancellable,
            has_pre_flight=self._announces_nodes,
        )

    def _move_pods_for_freed_room(self, binding: Binding, *, spare: str) -> None:
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
        False if the API server has confirmed the pod: then it stays on its node.
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
    """Report whether a call failed; NotFound is not a failure, since the object is gone already."""
    return error is not None and not error.is_not_found


# The calls of plugins to the API server, as actions.


def request_call(
    state: State, call: ApiCall, pod: NamespacedName = "", uid: str = "", node: str = ""
) -> int:
    """Request a call, and return its number.

    Parameters
    ----------
    pod, uid, node : str
        The pod of the plugin and the node chosen for it, if there are any.
    """
    number = state.next_call()
    match call:
        case PodBinding():
            state.actions.append(Bind(number, pod, uid, node))
        case VolumeUpdate(volume):
            state.actions.append(UpdateVolume(number, volume))
        case ClaimUpdate(claim):
            state.actions.append(UpdateClaim(number, claim))
        case ResourceClaimWrite(operation, resource_claim, pod_uid):
            state.actions.append(WriteResourceClaim(number, operation, resource_claim, pod_uid))
        case ExtendedClaimPatch(claim_name, mappings):
            state.actions.append(PatchExtendedClaim(number, pod, uid, claim_name, mappings))
        case PodMetadataPatch(annotations=annotations, labels=labels):
            state.actions.append(PatchPodMetadata(number, pod, uid, annotations, labels))
    return number
