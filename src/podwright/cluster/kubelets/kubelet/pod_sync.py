"""One sync of a pod: what its containers did since the last one, and which of them start or stop.

A sync reads the pod and its record, changes the record, and collects the Events of the kubelet and
the times at which something else happens (`SyncContext`). `pod_status` makes the status of the pod
from the record. `sandbox` and `container_creation` decide what has to wait.

The order is upstream's: the sandbox with the volumes and the devices; ephemeral containers; init
containers one after another, where a sidecar only has to be started; app containers. A pod that is
deleted, or whose deadline has passed, is stopped: app containers first, then sidecars, the last one
first. While a post-start hook runs, its container is not reported as running, and no other starts.

Upstream: pkg/kubelet/kubelet.go, SyncPod; pkg/kubelet/kuberuntime/kuberuntime_manager.go
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from podwright.apimachinery.objects import SECOND_NS, Document
from podwright.cluster.kubelets.kubelet.containers.container_creation import can_create
from podwright.cluster.kubelets.kubelet.containers.container_programs import (
    CommandRun,
    ContainerPrograms,
    Execute,
)
from podwright.cluster.kubelets.kubelet.containers.container_statuses import (
    count_restart,
    restart_ns,
    should_restart,
)
from podwright.cluster.kubelets.kubelet.containers.probes import (
    FIELDS,
    ProbeType,
    count_result,
    execute_probe,
    new_probe,
    start_hook,
)
from podwright.cluster.kubelets.kubelet.containers.process import EXIT_AT_SIGTERM_NS
from podwright.cluster.kubelets.kubelet.pod_records import (
    ContainerRecord,
    Ended,
    ProbeRecord,
    RunRecord,
    container_id,
)
from podwright.cluster.kubelets.kubelet.pod_status import RETRY_NS as RESIZE_RETRY_NS, resize
from podwright.cluster.kubelets.kubelet.sandbox import SyncContext, start_sandbox
from podwright.cluster.kubelets.pod_statuses import STOP_DELAY, back_off_message, pod_text
from podwright.cluster.kubelets.stages.stage import read_delay

DEADLINE_EXCEEDED: Final = (
    "DeadlineExceeded",
    "Pod was active on the node longer than the specified deadline",
)

KILLED: Final = 137
"""The exit code of a process that SIGKILL ended."""

_GRACE_SECONDS: Final = 30
_GRACE_MIN_NS: Final = SECOND_NS
"""The least grace period of a pod that is deleted or evicted."""
_SHUTDOWN_NS: Final = 2 * SECOND_NS
"""The least time between SIGTERM and SIGKILL, also after a hook that used up the grace period."""
_ROUNDS_MAX: Final = 100


class PodSync:
    """A sync of one pod.

    Parameters
    ----------
    context : SyncContext
        The pod at one time; receives the Events, and the time of the next sync.
    seed : int
        Of the draws.
    """

    def __init__(self, context: SyncContext, *, seed: int) -> None:
        self._context = context
        self._pod = context.pod
        self._document = context.document
        self._metadata = context.metadata
        self._spec = context.spec
        self._record = context.record
        self._node = context.node
        self._now_ns = context.now_ns
        self._programs = ContainerPrograms(context, seed=seed)
        self._files = self._programs.files

    def run(self, *, is_restored: bool) -> None:
        """Advance the pod until nothing more happens at this time.

        Parameters
        ----------
        is_restored : bool
            Whether the record was just read from the status of the pod.
        """
        record = self._record
        if is_restored:
            restore_runs(self._context, self._programs)
        if self._is_finished:
            return
        self._update_containers()
        self._resize()
        self._check_deadline()
        for _ in range(_ROUNDS_MAX):
            has_ended = self._advance()
            self._update_containers()  # A sidecar has perhaps started with an old definition.
            if record.stop_ns is not None:
                self._stop_pod()
                if not record.running:
                    record.is_finished = True
                    break
                has_started = False
            else:
                has_started = self._start_containers()
                if record.is_finished:
                    break
            if not has_ended and not has_started and not self._is_overdue():
                break
        self._collect_due()

    @property
    def _is_finished(self) -> bool:
        return self._record.is_finished

    # ---------------------------------------------------------------------- the pod itself

    def _update_containers(self) -> None:
        """Add new ephemeral containers, and stop containers whose definition changed."""
        for kind, container in self._context.containers:
            known = self._record.containers.get(container["name"])
            if known is None:
                known = ContainerRecord(container["name"], kind)
                self._record.containers[known.name] = known
            run = known.running
            is_kept = kind == "app" or (kind == "sidecar" and run is not None and run.is_started)
            if (
                run is not None
                and is_kept
                and not run.is_stopping
                and run.spec.get("image") != container.get("image")
            ):
                known.must_restart = True
                message = _kill_message(known, "definition changed")
                self._stop(known, container, self._grace_ns, message)

    def _resize(self) -> None:
        """Resize the pod as its spec says, if it fits the node."""
        found = resize(self._pod, self._record, self._node)
        if self._record.resize is not None:
            self._context.sync_at(self._now_ns + RESIZE_RETRY_NS)
        if found is None:
            return
        for event in found.events:
            self._context.event(*event)
        for _, container in self._context.containers:
            known = self._record.containers[container["name"]]
            if known.name in found.restarts and known.running:
                known.must_restart = True
                message = f"Container {known.name} resize requires restart"
                self._stop(known, container, self._grace_ns, message)

    def _check_deadline(self) -> None:
        """Start to stop a pod that is deleted or has run for too long.

        A grace period that becomes shorter counts from then on.

        Upstream: pod_workers.go, calculateEffectiveGracePeriod, wasGracePeriodShortened
        """
        record, now_ns = self._record, self._now_ns
        if "deletionTimestamp" in self._metadata:
            given_ns = (self._metadata.get("deletionGracePeriodSeconds") or 0) * SECOND_NS
            grace_ns = max(given_ns, _GRACE_MIN_NS)
            if record.stop_ns is None:
                self._begin_stop(grace_ns)
                # Upstream: nothing waits to be restarted any more.
                for known in record.containers.values():
                    known.waiting = None
            elif grace_ns < record.stop_grace_ns:
                record.stop_grace_ns, record.stop_deadline_ns = grace_ns, now_ns + grace_ns
                last_ns = now_ns + max(grace_ns, _SHUTDOWN_NS)
                for _, run in record.running:
                    is_signaled = run.turn_ns is None
                    is_killed = run.exit_code == KILLED
                    if is_signaled and (is_killed or run.ends_ns is None or run.ends_ns > last_ns):
                        run.ends_ns, run.exit_code, run.reason = last_ns, KILLED, "Error"
            return
        seconds = self._spec.get("activeDeadlineSeconds")
        if seconds is None or record.stop_ns is not None:
            return
        deadline_ns = record.start_ns + int(seconds) * SECOND_NS
        if now_ns < deadline_ns:
            self._context.sync_at(deadline_ns)
            return
        record.stop = DEADLINE_EXCEEDED
        self._begin_stop(max(self._grace_ns, _GRACE_MIN_NS))
        self._context.event("Normal", *DEADLINE_EXCEEDED)

    def _begin_stop(self, grace_ns: int) -> None:
        record = self._record
        record.stop_ns, record.stop_grace_ns = self._now_ns, grace_ns
        record.stop_deadline_ns = self._now_ns + grace_ns

    def _stop_pod(self) -> None:
        """Stop all containers: the sidecars after the app containers, the last one first.

        Upstream: kuberuntime_termination_order.go. The hooks of all run at once.
        """
        deadline_ns = self._record.stop_deadline_ns
        assert deadline_ns is not None, "a pod is stopped without a deadline"
        left_ns = max(deadline_ns - self._now_ns, 0)
        specs = {container["name"]: container for _, container in self._context.containers}
        running = self._record.running
        for known, run in running:
            if not run.is_stopping:
                self._stop(known, specs.get(known.name) or run.spec, left_ns, is_ordered=True)
        waits = any(known.kind == "app" for known, _ in running)
        for run in reversed([run for known, run in running if known.kind == "sidecar"]):
            if run.turn_ns is not None and not (waits and left_ns):
                signal_ns, run.turn_ns = max(run.turn_ns, self._now_ns), None
                self._signal(run, signal_ns, deadline_ns)
            waits = True

    @property
    def _grace_ns(self) -> int:
        """The grace period of the spec. Without one, hooks before the stop are not executed."""
        seconds = self._spec.get("terminationGracePeriodSeconds")
        return int(_GRACE_SECONDS if seconds is None else seconds) * SECOND_NS

    # -------------------------------------------------------------------------- containers

    def _advance(self) -> bool:
        """Execute probes and end containers that are due; return whether one ended."""
        has_ended = False
        specs = {container["name"]: container for _, container in self._context.containers}
        for known in self._record.containers.values():
            if known.starting is not None:
                self._advance_start(known, known.starting)
        for known, run in self._record.running:
            container = specs.get(known.name) or run.spec
            self._run_process(known, run)
            if not run.is_stopping:
                self._probe(known, run, container)
            else:  # upstream stops the other probes
                self._probe_readiness(known, run, container)
            if run.ends_ns is not None and run.ends_ns <= self._now_ns:
                self._end(known, run)
                has_ended = True
        return has_ended

    def _run_process(self, known: ContainerRecord, run: RunRecord) -> None:
        """Let the process of a container do what it does until now, and deliver SIGTERM."""
        process = run.process
        assert process is not None, "a container runs without a process"
        self._programs.advance(known, run)
        if run.term_ns is not None and run.term_ns <= self._now_ns:
            run.term_ns = None
            process.terminate()
        if process.ends_ns is not None and (run.ends_ns is None or process.ends_ns < run.ends_ns):
            run.ends_ns, run.exit_code, run.reason = process.ends_ns, process.exit_code, ""

    def _executor(self, known: ContainerRecord, container: Document) -> Execute:
        """Return what executes the commands of the probes and hooks of a container."""

        def execute(command: Sequence[str]) -> CommandRun | None:
            return self._programs.execute(known, container, command)

        return execute

    def _end(self, known: ContainerRecord, run: RunRecord) -> None:
        assert run.ends_ns is not None
        reason = run.reason or ("Error" if run.exit_code else "Completed")
        message = self._programs.message(known, run)
        known.ended = Ended(
            run.exit_code, reason, message, run.started_ns, run.ends_ns, run.container_id
        )
        self._files.remove_own(known)
        known.running = known.waiting = None

    def _stop(
        self,
        known: ContainerRecord,
        container: Document,
        grace_ns: int,
        message: str = "",
        *,
        is_ordered: bool = False,
    ) -> None:
        """Start to stop a container: its hook, SIGTERM, and SIGKILL after the grace period.

        A sidecar of a pod that is stopped in order waits for its turn after its hook.

        Upstream: kuberuntime_container.go, killContainer
        """
        run, now_ns = known.running or known.starting, self._now_ns
        assert run is not None
        run.is_stopping = True
        self._context.container_event(
            known, "Normal", "Killing", message or f"Stopping container {known.name}"
        )
        signal_ns, deadline_ns = now_ns, now_ns + grace_ns
        if grace_ns:
            execute = self._executor(known, container)
            hook = start_hook("preStop", container, self._document, execute, now_ns)
            if hook.error:
                note = "PreStopHook failed"
                self._context.container_event(known, "Warning", "FailedPreStopHook", note)
            signal_ns = deadline_ns if hook.ends_ns is None else min(hook.ends_ns, deadline_ns)
        if is_ordered and known.kind == "sidecar":
            run.turn_ns = signal_ns
        else:
            self._signal(run, signal_ns, deadline_ns)

    def _signal(self, run: RunRecord, signal_ns: int, deadline_ns: int) -> None:
        """Deliver SIGTERM to a container at a time, and SIGKILL at the end of the grace period."""
        now_ns = self._now_ns
        deadline_ns = max(deadline_ns, signal_ns + _SHUTDOWN_NS)
        annotations = self._metadata.get("annotations") or {}
        least_ns = None
        if STOP_DELAY in annotations and self._record.stop_ns is not None:
            least_ns = read_delay(annotations[STOP_DELAY], now_ns)
        assert run.process is not None, "a container runs without a process"
        run.term_ns = signal_ns
        if least_ns is None and run.process.handles_sigterm:
            least_ns = signal_ns + EXIT_AT_SIGTERM_NS - now_ns
        ends_ns, exit_code = deadline_ns, KILLED
        if least_ns is not None:
            ends_ns, exit_code = min(now_ns + max(least_ns, 0), deadline_ns), 0
        if run.ends_ns is None or ends_ns < run.ends_ns:
            run.ends_ns, run.exit_code = ends_ns, exit_code

    # ------------------------------------------------------------------------------ probes

    def _probe(self, known: ContainerRecord, run: RunRecord, container: Document) -> None:
        if not run.is_started:
            self._execute("startup", known, run, container)
            if run.startup is not None and not run.startup.is_success:
                return
            self._begin_probes(run, container)
        self._probe_readiness(known, run, container)
        self._execute("liveness", known, run, container)

    def _probe_readiness(self, known: ContainerRecord, run: RunRecord, container: Document) -> None:
        if run.readiness is not None:
            self._execute("readiness", known, run, container)
            run.is_ready = run.readiness.is_success

    def _begin_startup(self, run: RunRecord, container: Document) -> None:
        run.startup = new_probe("startup", container, run.started_ns, self._now_ns)
        if run.startup is None:
            self._begin_probes(run, container)

    def _begin_probes(self, run: RunRecord, container: Document) -> None:
        """Start the probes of a container that has started."""
        run.is_started = True
        run.readiness = new_probe("readiness", container, run.started_ns, self._now_ns)
        run.is_ready = run.readiness is None
        run.liveness = new_probe("liveness", container, run.started_ns, self._now_ns)

    def _execute(
        self, probe_type: ProbeType, known: ContainerRecord, run: RunRecord, container: Document
    ) -> None:
        """Execute a probe that is due."""
        state: ProbeRecord | None = getattr(run, probe_type)
        if state is None:
            return
        probe = container[FIELDS[probe_type]]
        execute = self._executor(known, container)
        if state.next_ns is None:
            # An annotation may have changed the result.
            if execute_probe(probe_type, container, self._document, execute).is_success:
                return
        elif state.next_ns > self._now_ns:
            return
        result = execute_probe(probe_type, container, self._document, execute)
        if result.error:
            title = probe_type.capitalize()
            note = f"{title} probe errored and resulted in unknown state: {result.error}"
            self._context.container_event(known, "Warning", "Unhealthy", note)
            state.next_ns = self._now_ns + int(probe.get("periodSeconds") or 10) * SECOND_NS
            return
        if not result.is_success:
            note = f"{probe_type.capitalize()} probe failed: {result.output}"
            self._context.container_event(known, "Warning", "Unhealthy", note)
        count_result(state, result, probe, self._now_ns)
        is_failed = not result.is_success and state.failures >= int(
            probe.get("failureThreshold") or 3
        )
        if is_failed and probe_type != "readiness":
            grace = probe.get("terminationGracePeriodSeconds")
            policy = container.get("restartPolicy") or self._spec.get("restartPolicy")
            # Upstream: its rules do not count, and neither does its exit code.
            known.must_restart = policy != "Never"
            message = _kill_message(known, f"failed {probe_type} probe")
            grace_ns = self._grace_ns if grace is None else int(grace) * SECOND_NS
            self._stop(known, container, grace_ns, message)

    # ------------------------------------------------------------------------------- start

    def _start_containers(self) -> bool:
        """Start what can be started; return whether something has started."""
        record = self._record
        if not record.has_sandbox and not start_sandbox(self._context):
            return False
        is_starting = record.is_starting
        if not is_starting and self._is_completed():
            self._finish()
            return False
        reached = self._reached_init()
        has_app = any(known.kind == "app" for known, _ in record.running)
        is_blocked = has_started = False
        for index, (kind, container) in enumerate(self._context.containers):
            if is_starting:
                return has_started
            known = record.containers[container["name"]]
            if is_blocked and not has_app:
                continue
            if kind == "init":
                if has_app or index < reached or known.has_succeeded:
                    continue
                is_blocked = True
                has_started |= known.running is None and self._start_init(known, container)
            elif kind == "sidecar":
                has_started |= known.running is None and self._start(known, container)
                is_up = known.running is not None and known.running.is_started
                is_blocked = index >= reached and not is_up
            else:
                has_started |= known.running is None and self._start_app(known, container)
            is_starting = known.starting is not None
        return has_started

    def _reached_init(self) -> int:
        """Return the index of the last init container that was started; -1 if none was.

        Upstream: kuberuntime_container.go, computeInitContainerActions. Those before it count as
        initialized; sidecars among them are started again, and nothing waits for them.
        """
        reached = -1
        for index, (kind, container) in enumerate(self._context.containers):
            known = self._record.containers[container["name"]]
            is_started = known.running or known.ended or known.starting
            if kind in ("init", "sidecar") and is_started is not None:
                reached = index
        return reached

    def _start_init(self, known: ContainerRecord, container: Document) -> bool:
        ended = known.ended
        if ended is not None and not self._should_restart(known, container, ended.exit_code):
            self._finish()
            return False
        return self._start(known, container)

    def _start_app(self, known: ContainerRecord, container: Document) -> bool:
        if known.ended is not None and not self._should_restart(
            known, container, known.ended.exit_code
        ):
            known.waiting = None
            return False
        return self._start(known, container)

    def _is_completed(self) -> bool:
        """Whether no app container runs, and none starts again."""
        for kind, container in self._context.containers:
            known = self._record.containers[container["name"]]
            if kind != "app":
                continue
            if known.running is not None or known.ended is None:
                return False
            if self._should_restart(known, container, known.ended.exit_code):
                return False
        return True

    def _finish(self) -> None:
        """End the pod: stop what still runs, such as sidecars."""
        record = self._record
        for known in record.containers.values():
            known.waiting = None
        if not record.running:
            record.is_finished = True
            return
        self._begin_stop(self._grace_ns)
        self._stop_pod()

    def _should_restart(self, known: ContainerRecord, container: Document, exit_code: int) -> bool:
        return known.must_restart or should_restart(known.kind, container, self._spec, exit_code)

    def _start(self, known: ContainerRecord, container: Document) -> bool:
        """Start a container; return False if it has to wait."""
        now_ns = self._now_ns
        back_off_key = (container.get("image"), self._record.allocated.get(known.name))
        if known.back_off_key != back_off_key:
            # Upstream: kuberuntime/helpers.go, GetBackoffKey
            known.back_off_key, known.back_off_ns = back_off_key, 0
        if known.ended is not None:
            due_ns = restart_ns(known)
            if now_ns < due_ns:
                known.must_restart = False
                if not self._should_restart(known, container, known.ended.exit_code):
                    return False
                self._wait_for_restart(known)
                self._context.sync_at(due_ns)
                return False
        if now_ns < known.retry_ns:
            self._context.sync_at(known.retry_ns)
            return False
        if not can_create(self._context, known, container):
            return False
        self._run_container(known, container)
        return True

    def _wait_for_restart(self, known: ContainerRecord) -> None:
        pod = pod_text(self._metadata)
        text = back_off_message(known.back_off_ns // SECOND_NS, known.name, self._metadata)
        if known.waiting == ("CrashLoopBackOff", text):
            return
        known.waiting = ("CrashLoopBackOff", text)
        note = f"Back-off restarting failed container {known.name} in pod {pod}"
        self._context.container_event(known, "Warning", "BackOff", note)

    def _run_container(self, known: ContainerRecord, container: Document) -> None:
        """Start a container and its post-start hook."""
        record, now_ns = self._record, self._now_ns
        restart_count = known.restart_count + (known.ended is not None)
        count_restart(known, now_ns)
        identity = container_id(record.uid, known.name, restart_count)
        known.starting = run = RunRecord(now_ns, identity, container)
        run.process = self._programs.start(known, container, run)
        self._run_process(known, run)
        execute = self._executor(known, container)
        run.post_start = start_hook("postStart", container, self._document, execute, now_ns)
        known.must_restart = False
        self._context.container_event(known, "Normal", "Created", "Container created")
        self._context.container_event(known, "Normal", "Started", "Container started")
        self._advance_start(known, run)

    def _advance_start(self, known: ContainerRecord, run: RunRecord) -> None:
        """Let a container run if its post-start hook has succeeded; stop it if the hook failed.

        A pod that is stopped meanwhile interrupts the hook.
        """
        self._run_process(known, run)
        hook = run.post_start
        assert hook is not None, "a container starts without the state of its hook"
        is_over = hook.ends_ns is not None and hook.ends_ns <= self._now_ns
        is_interrupted = self._record.stop_ns is not None
        if not run.is_stopping and ((is_over and hook.error) or (is_interrupted and not is_over)):
            self._context.container_event(
                known, "Warning", "FailedPostStartHook", "PostStartHook failed"
            )
            if not is_interrupted:
                self._stop(known, run.spec, self._grace_ns, "FailedPostStartHook")
        if run.is_stopping and not is_interrupted:
            assert run.ends_ns is not None, "a container that is stopped ends"
            if run.ends_ns <= self._now_ns:
                self._set_running(known, run)
                self._end(known, run)
                known.waiting = ("PostStartHookError", hook.error)
        elif is_over or is_interrupted:
            self._set_running(known, run)
            if not run.is_stopping:
                self._begin_startup(run, run.spec)

    @staticmethod
    def _set_running(known: ContainerRecord, run: RunRecord) -> None:
        known.restart_count += known.ended is not None
        known.last, known.ended = known.ended, None
        known.running, known.starting, known.waiting = run, None, None

    # ---------------------------------------------------------------------------- next sync

    def _is_overdue(self) -> bool:
        return any(
            due_ns <= self._now_ns for _, run in self._record.running for due_ns in _due_times(run)
        )

    def _collect_due(self) -> None:
        """Collect the times at which hooks and containers end, or are probed."""
        for known in self._record.containers.values():
            start = known.starting
            if start is None or start.post_start is None:
                continue
            due_ns = start.ends_ns if start.is_stopping else start.post_start.ends_ns
            if due_ns is not None:
                self._context.sync_at(due_ns)
            if start.process is not None and start.process.wake_ns is not None:
                self._context.sync_at(start.process.wake_ns)
        for _, run in self._record.running:
            if run.turn_ns is not None and self._record.stop_deadline_ns is not None:
                self._context.sync_at(self._record.stop_deadline_ns)
            for due_ns in _due_times(run):
                self._context.sync_at(due_ns)
            probes = [run.readiness, run.liveness] if run.is_started else [run.startup]
            for probe in [run.readiness] if run.is_stopping else probes:
                if probe is not None and probe.next_ns is not None:
                    self._context.sync_at(probe.next_ns)


def _kill_message(known: ContainerRecord, why: str) -> str:
    """Return the note of the Event about a container that is stopped, and perhaps started again."""
    if known.kind in ("init", "sidecar"):
        return f"Init container {known.name} {why}"
    suffix = ", will be restarted" if known.must_restart else ""
    return f"Container {known.name} {why}{suffix}"


def _due_times(run: RunRecord) -> list[int]:
    """Return the times at which a container ends, continues or receives SIGTERM."""
    wake_ns = run.process.wake_ns if run.process is not None else None
    return [each for each in (run.ends_ns, wake_ns, run.term_ns) if each is not None]


# The processes of containers that already run, after a restart of the server.


def restore_runs(context: SyncContext, programs: ContainerPrograms) -> None:
    """Start the processes of the running containers of a record again, as of when they started.

    A script is executed from its start, and so writes its files again; the files of other
    containers are those of now, so it may take another way. Nothing is reported, as nothing starts.
    """
    now_ns = context.now_ns
    programs.is_silent = True
    for _, container in context.containers:
        known = context.record.containers[container["name"]]
        run = known.running
        if run is None:
            continue
        run.process = programs.start(known, container, run)
        programs.advance(known, run)
        started_ns = run.started_ns
        run.startup = new_probe("startup", container, started_ns, now_ns)
        run.readiness = new_probe("readiness", container, started_ns, now_ns)
        if run.readiness is not None:
            run.readiness.is_success = run.is_ready
        run.liveness = new_probe("liveness", container, started_ns, now_ns)
    programs.is_silent = False
