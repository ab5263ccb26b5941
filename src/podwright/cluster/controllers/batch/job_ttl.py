"""The TTL-after-finished controller: deletes finished jobs when their time to live expires.

Upstream: pkg/controller/ttlafterfinished/ttlafterfinished_controller.go
"""

from __future__ import annotations

from podwright.apimachinery.objects import NamespacedName, timestamp_ns
from podwright.cluster.api import section
from podwright.cluster.controllers.batch.job_spec import finished_condition
from podwright.cluster.controllers.interface import Actions, Controller, Keys, Version
from podwright.cluster.controllers.kinds import JOB


class JobTTLController(Controller):
    """Deletes jobs `ttlSecondsAfterFinished` after their end."""

    name = "ttl-after-finished-controller"
    kinds = (JOB,)

    def observe(self, old: Version, new: Version) -> Keys:
        """Return a finished job that has a time to live."""
        if new is None or new.metadata.deletion_timestamp is not None:
            return ()
        has_ttl = section(new, "spec").get("ttlSecondsAfterFinished") is not None
        return (new.key,) if has_ttl and finished_condition(new) is not None else ()

    def sync(self, key: NamespacedName, now_ns: int) -> Actions:
        """Delete the job, or requeue it for the end of its time to live."""
        job = self._lister.get(JOB, key)
        if job is None or job.metadata.deletion_timestamp is not None:
            return []
        finished = finished_condition(job)
        ttl = section(job, "spec").get("ttlSecondsAfterFinished")
        if finished is None or ttl is None:
            return []
        finished_ns = timestamp_ns(finished.get("lastTransitionTime")) or now_ns
        due_ns = finished_ns + int(ttl) * 1_000_000_000
        if due_ns > now_ns:
            return [self.sync_at(key, due_ns)]
        return [self.delete(job, propagation="Foreground")]
