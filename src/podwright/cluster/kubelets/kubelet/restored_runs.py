"""The processes of containers that already run, after a restart of the server."""

from __future__ import annotations

from podwright.cluster.kubelets.kubelet.containers.container_programs import ContainerPrograms
from podwright.cluster.kubelets.kubelet.containers.probes import new_probe
from podwright.cluster.kubelets.kubelet.pod_records import containers_of
from podwright.cluster.kubelets.kubelet.sync_context import SyncContext


def restore_runs(context: SyncContext, programs: ContainerPrograms) -> None:
    """Start the processes of the running containers of a record again, as of when they started.

    A script is executed from its start, and so writes its files again; the files of other
    containers are those of now, so it may take another way. Nothing is reported, as nothing starts.
    """
    now_ns = context.now_ns
    programs.is_silent = True
    for _, container in containers_of(context.spec):
        known = context.record.containers[container["name"]]
        run = known.running
        if run is None:
            continue
        run.process = programs.start(known, container, run)
        programs.advance(known, run)
        if run.process.ends_ns is not None:
            run.ends_ns = max(run.process.ends_ns, now_ns)
            run.exit_code = run.process.exit_code
            run.message = programs.message(known, run)
        if "startupProbe" in container and not run.is_started:
            run.startup = new_probe("startup", container["startupProbe"], now_ns)
        if "readinessProbe" in container:
            run.readiness = new_probe("readiness", container["readinessProbe"], now_ns)
            run.readiness.is_success = run.is_ready
        if "livenessProbe" in container:
            run.liveness = new_probe("liveness", container["livenessProbe"], now_ns)
    programs.is_silent = False
