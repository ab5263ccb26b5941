"""The programs of the containers of a pod: what they do, and what their probes and hooks execute.

Of these, the first that applies decides: annotations of the pod; what a file of images declares for
the command; the command itself, if all of it can be interpreted; what a file of images declares
for all else. Anything else runs until it is stopped, and probes and hooks succeed. An Event of the
pod says so, once per image.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from itertools import count
from typing import Final

import msgspec

from podwright.apimachinery.objects import DELAY_STREAM, Document, draw, parse_duration
from podwright.cluster.kubelets.kubelet.containers.container_creation import read_image
from podwright.cluster.kubelets.kubelet.containers.container_files import (
    MESSAGE_PATH,
    ContainerFiles,
)
from podwright.cluster.kubelets.kubelet.containers.process import Process, Program
from podwright.cluster.kubelets.kubelet.image_behaviors import ContainerRole, DeclaredRun
from podwright.cluster.kubelets.kubelet.pod_records import ContainerRecord, RunRecord
from podwright.cluster.kubelets.kubelet.references import (
    CONFIG_MAP,
    SECRET,
    ObjectReader,
    data_of,
    field_of,
    resource_of,
)
from podwright.cluster.kubelets.kubelet.sandbox import SyncContext
from podwright.cluster.kubelets.kubelet.shell import Facts, NotSimulatedError, Script
from podwright.cluster.kubelets.pod_statuses import RUN_DELAY, RUN_JITTER, read_exit_code
from podwright.cluster.kubelets.stages.stage import delay_between

_RANDOM_BITS: Final = 15
_DRAW_BITS: Final = 31
_REFERENCE: Final = re.compile(r"\$(?:\$|\(([A-Za-z_][\w.-]*)\))")
_MESSAGE_MAX: Final = 4096
_LOG_MESSAGE_MAX: Final = 2048
_LOG_LINES_MAX: Final = 80
_HOSTNAME_MAX: Final = 63
_CLUSTER_DOMAIN: Final = "cluster.local"
_COMMAND_STEPS_MAX: Final = 10_000
_COUNTER_MASK: Final = (1 << 64) - 1
_UNDECLARED: Final = Program()


class CommandRun(msgspec.Struct, frozen=True):
    """The run of a command of a probe or a hook.

    Attributes
    ----------
    duration_ns : int, optional
        None if it does not end by itself.
    exit_code : int
    output : str
    reads_files : bool
        Whether another run may have another result.
    """

    duration_ns: int | None
    exit_code: int
    output: str
    reads_files: bool


class ContainerPrograms:
    """The programs of the containers of one pod, during one sync.

    Parameters
    ----------
    context : SyncContext
    seed : int
        Of the draws.

    Attributes
    ----------
    is_silent : bool
        Whether no Event says what is not simulated.
    """

    def __init__(self, context: SyncContext, *, seed: int) -> None:
        self._context = context
        self._pod = context.document
        self._seed = seed
        self.is_silent = False
        self._facts: dict[str, str] = {}
        node = context.node
        self.files = ContainerFiles(context.record, node.files, self._pod, node.reader, self._facts)

    def start(self, known: ContainerRecord, container: Document, run: RunRecord) -> Process:
        """Start the process of a container.

        Raises
        ------
        ValueError
            The annotations cannot be read.
        """
        annotations = self._pod["metadata"].get("annotations") or {}
        if known.kind == "app" and RUN_DELAY in annotations:
            duration_ns = _annotated_duration(annotations, self._seed, _counter_of(run))
            return Process(run.started_ns, Program(duration_ns, read_exit_code(annotations)))
        command, arguments = container.get("command") or [], container.get("args") or []
        declared = self._declared(known, container, [*command, *arguments])
        if declared is not None:
            return Process(run.started_ns, _program(declared))
        other = self._declared(known, container, None)
        program = _UNDECLARED if other is None else _program(other)
        try:
            words = self._command_line(container, command, arguments)
            script = Script(words, self._facts_of(known, container, _counter_of(run)))
        except NotSimulatedError as error:
            if other is None or not other.is_of_image:
                self._report(known, container, str(error), program)
            return Process(run.started_ns, program)
        return Process(run.started_ns, program, script)

    def advance(self, known: ContainerRecord, run: RunRecord) -> None:
        """Execute the script of a container until now."""
        process = run.process
        assert process is not None, "a container runs without a process"
        if process.wake_ns is None:
            return
        self._read_facts()
        process.advance(self._context.now_ns)
        if process.failure:
            self._report(known, run.spec, process.failure, process.program)

    def execute(
        self, known: ContainerRecord, container: Document, command: Sequence[str]
    ) -> CommandRun | None:
        """Execute the command of a probe or a hook at once; None if it is not simulated.

        It finds the files as they are now, also after it has slept.
        """
        try:
            facts = self._facts_of(known, container, 0)
            script = Script(command, facts)
            steps = script.steps()
            for _ in range(_COMMAND_STEPS_MAX):
                try:
                    if next(steps) is None:
                        break
                except StopIteration as end:
                    duration_ns, status = script.elapsed_ns, end.value
                    return CommandRun(duration_ns, status, script.output, script.reads > 0)
            return CommandRun(None, 0, script.output, script.reads > 0)
        except NotSimulatedError as error:
            self._report(known, container, str(error), None)
            return None

    def message(self, known: ContainerRecord, run: RunRecord) -> str:
        """Return the termination message: the end of the file, or of the log after an error.

        Upstream: pkg/kubelet/kuberuntime/kuberuntime_container.go, getTerminationMessage
        """
        process, container = run.process, run.spec
        assert process is not None, "a container ends without a process"
        self._read_facts()
        path = container.get("terminationMessagePath") or MESSAGE_PATH
        written = self.files.of(known, container).message(path)
        if written:
            return written[-_MESSAGE_MAX:]
        script = process.script
        if script is None:
            return process.program.message if process.ends_ns == run.ends_ns else ""
        policy = container.get("terminationMessagePolicy")
        if run.exit_code and policy == "FallbackToLogsOnError":
            lines = script.output.splitlines(keepends=True)[-_LOG_LINES_MAX:]
            return "".join(lines)[-_LOG_MESSAGE_MAX:]
        return ""

    # ------------------------------------------------------------------------------ declared

    def _declared(
        self, known: ContainerRecord, container: Document, words: Sequence[str] | None
    ) -> DeclaredRun | None:
        text, name = _image_names(container)
        role: ContainerRole = "init" if known.kind == "init" else "app"
        owners = self._pod["metadata"].get("ownerReferences") or ()
        if known.kind == "app" and any(
            owner.get("kind") == "Job" and owner.get("controller") for owner in owners
        ):
            role = "job"
        return self._context.node.behaviors.run(
            text, name, role, words, has_command=bool(container.get("command"))
        )

    def _report(
        self, known: ContainerRecord, container: Document, what: str, program: Program | None
    ) -> None:
        """Record the Event that something of an image is not simulated, once."""
        text, name = _image_names(container)
        if self.is_silent or not self._context.node.behaviors.is_first(name):
            return
        if program is None:
            end = "the probe or hook succeeds"
        elif program.duration_ns is None:
            end = "the container runs until it is stopped"
        else:
            seconds = program.duration_ns / 1e9
            end = f"the container ends after {seconds:g}s with exit code {program.exit_code}"
        note = f"Not simulated in image {text}: {what}; {end}. See podwright up --images."
        self._context.container_event(known, "Normal", "NotSimulated", note)

    # ------------------------------------------------------------------------------- scripts

    def _command_line(
        self, container: Document, command: Sequence[str], arguments: Sequence[str]
    ) -> list[str]:
        if not command:
            text, name = _image_names(container)
            behaviors = self._context.node.behaviors
            if not arguments:
                raise NotSimulatedError("the program of the image")
            if behaviors.value(text, name, lambda entry: entry.has_entrypoint) is not False:
                raise NotSimulatedError("the program of the image with these arguments")
        variables = self._variables(container)
        return [_replaced(text, variables) for text in (*command, *arguments)]

    def _facts_of(self, known: ContainerRecord, container: Document, counter: int) -> Facts:
        variables = self._variables(container)
        text, name = _image_names(container)
        behaviors = self._context.node.behaviors
        draws = count()

        def next_random() -> int:
            return draw(self._seed, DELAY_STREAM, (counter + next(draws)) & _COUNTER_MASK) >> (
                _DRAW_BITS - _RANDOM_BITS
            )

        return Facts(
            variables=variables,
            files=self.files.of(known, container, lambda each: _replaced(each, variables)),
            directory=container.get("workingDir"),
            dialect=behaviors.value(text, name, lambda entry: entry.shell) or "",
            hostname=self._facts["hostname"],
            next_random=next_random,
        )

    def _variables(self, container: Document) -> dict[str, str | None]:
        """Return the environment of a container; None for values that are not known.

        Upstream: pkg/kubelet/kubelet_pods.go, makeEnvironmentVariables
        """
        self._read_facts()
        namespace = self._context.pod.namespace
        reader = self._context.node.reader
        found: dict[str, str | None] = {"HOSTNAME": self._facts["hostname"]}
        for source in container.get("envFrom") or ():
            prefix = source.get("prefix") or ""
            for kind, field in ((CONFIG_MAP, "configMapRef"), (SECRET, "secretRef")):
                if source.get(field):
                    key = f"{namespace}/{source[field].get('name') or ''}"
                    obj = reader.get(kind, key) if reader is not None else None
                    data = data_of(obj) if obj is not None else {}
                    found |= {f"{prefix}{name}": value for name, value in data.items()}
        for entry in container.get("env") or ():
            source = entry.get("valueFrom") or {}
            if "value" in entry or not source:
                found[entry["name"]] = _replaced(entry.get("value") or "", found)
            else:
                found |= self._sourced(entry["name"], source, container, reader)
        return found

    def _read_facts(self) -> None:
        """Read what the kubelet knows, which includes the address once there is a sandbox."""
        self._facts.update(_fields_of_kubelet(self._context))

    def _sourced(
        self, name: str, source: Document, container: Document, reader: ObjectReader | None
    ) -> dict[str, str | None]:
        if "fieldRef" in source:
            return {name: field_of(self._pod, source["fieldRef"]["fieldPath"], self._facts)}
        if "resourceFieldRef" in source:
            return {name: resource_of(self._pod, container, source["resourceFieldRef"])}
        namespace = self._context.pod.namespace
        for kind, field in ((CONFIG_MAP, "configMapKeyRef"), (SECRET, "secretKeyRef")):
            if field in source:
                reference = source[field]
                obj = None
                if reader is not None:
                    obj = reader.get(kind, f"{namespace}/{reference.get('name') or ''}")
                data = data_of(obj) if obj is not None else {}
                key = reference["key"]
                # An optional key that is missing leaves the variable out, which is as the image's.
                return {name: data[key]} if key in data else {}
        return {name: None}


def _counter_of(run: RunRecord) -> int:
    """Return the counter of the draws of a run."""
    identity = blake2b(run.container_id.encode(), digest_size=8).digest()
    return int.from_bytes(identity, "big")


def _program(declared: DeclaredRun) -> Program:
    run = declared.run
    return Program(run.duration_ns, run.exit_code, run.message, not run.ignores_sigterm)


def _image_names(container: Document) -> tuple[str, str]:
    text = container.get("image") or ""
    image = read_image(text)
    return text, text if image is None else image.name


def _fields_of_kubelet(context: SyncContext) -> dict[str, str]:
    """Return the fields that a kubelet knows, the name of the host, and its names in /etc/hosts.

    Upstream: pkg/kubelet/kubelet_pods.go, GeneratePodHostNameAndDomain; pkg/kubelet/util/util.go,
    GetNodenameForKernel
    """
    spec, metadata, address = context.spec, context.metadata, context.record.pod_ip
    override, subdomain = spec.get("hostnameOverride"), spec.get("subdomain")
    hostname = override or spec.get("hostname") or metadata["name"]
    hostname = hosts = hostname[:_HOSTNAME_MAX].rstrip("-.")
    if subdomain and not override:
        full = f"{hostname}.{subdomain}.{metadata.get('namespace')}.svc.{_CLUSTER_DOMAIN}"
        hosts = f"{full}\t{hostname}"
        hostname = full if spec.get("setHostnameAsFQDN") else hostname
    if spec.get("hostNetwork"):
        hostname = context.node.name
    found = {"hostname": hostname, "hosts": hosts, "status.hostIP": context.node.address}
    found["status.hostIPs"] = context.node.address
    if address:
        found |= {"status.podIP": address, "status.podIPs": address}
    return found


def _replaced(text: str, variables: Mapping[str, str | None]) -> str:
    """Replace references such as `$(NAME)`; `$$` is a dollar sign.

    Upstream: third_party/forked/golang/expansion/expand.go
    """

    def value(found: re.Match[str]) -> str:
        name = found[1]
        if name is None:
            return "$"
        if name not in variables:
            return found[0]
        replaced = variables[name]
        if replaced is None:
            raise NotSimulatedError(f"the value of $({name})")
        return replaced

    return _REFERENCE.sub(value, text)


def _annotated_duration(annotations: Mapping[str, str], seed: int, counter: int) -> int:
    least_ns = most_ns = _duration(annotations[RUN_DELAY])
    if RUN_JITTER in annotations:
        most_ns = _duration(annotations[RUN_JITTER])
        least_ns = min(least_ns, most_ns)
    return delay_between(least_ns, most_ns, draw(seed, DELAY_STREAM, counter))


def _duration(text: str) -> int:
    try:
        return max(parse_duration(text), 0)
    except ValueError:
        return 0  # as for stages, whose default is not a delay


Execute = Callable[[Sequence[str]], CommandRun | None]
"""Executes a command in a container."""
