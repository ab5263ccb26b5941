"""The programs of containers that already run, after a restart of the server."""

from __future__ import annotations

from hashlib import blake2b

from podwright.objects import Document
from podwright.stages.kubelet.pod_records import PodRecord, containers_of
from podwright.stages.kubelet.probes import new_probe
from podwright.stages.kubelet.programs import program_of


def restore_runs(record: PodRecord, pod: Document, *, now_ns: int, seed: int) -> None:
    """Let the running containers of a record end when their programs do.

    The files that they wrote are lost, so a program that depends on files may end otherwise.
    """
    for kind, container in containers_of(pod.get("spec") or {}):
        known = record.containers[container["name"]]
        run = known.running
        if run is None:
            continue
        counter = int.from_bytes(blake2b(run.container_id.encode(), digest_size=8).digest(), "big")
        program = program_of(
            container,
            pod,
            kind=kind,
            has_file=lambda _: False,
            seed=seed,
            counter=counter,
        )
        if program.duration_ns is not None:
            run.ends_ns = max(run.started_ns + program.duration_ns, now_ns)
            run.exit_code, run.message = program.exit_code, program.message
        run.changes = program.changes
        run.handles_sigterm = program.handles_sigterm
        if "startupProbe" in container and not run.is_started:
            run.startup = new_probe("startup", container["startupProbe"], now_ns)
        if "readinessProbe" in container:
            run.readiness = new_probe("readiness", container["readinessProbe"], now_ns)
            run.readiness.is_success = run.is_ready
        if "livenessProbe" in container:
            run.liveness = new_probe("liveness", container["livenessProbe"], now_ns)
