"""New PodGroups belong to Workloads that exist.

Upstream: plugin/pkg/admission/podgroup/admission.go
"""

from __future__ import annotations

from podwright.apimachinery.objects import Workload, go_quoted
from podwright.cluster.api.admission.attributes import Attributes
from podwright.cluster.api.admission.plugin import Plugin, Resources, rejected, spec_of
from podwright.cluster.store import ObjectStore


class PodGroupWorkloadExists(Plugin):
    """Rejects a new PodGroup whose Workload does not exist, or does not have its template.

    Parameters
    ----------
    store : ObjectStore
    """

    name = "PodGroupWorkloadExists"
    resources: Resources = frozenset({("scheduling.k8s.io", "podgroups")})

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    def validate(self, attributes: Attributes) -> None:
        """Reject the group."""
        if attributes.operation != "CREATE" or attributes.subresource:
            return
        reference = (spec_of(attributes).get("podGroupTemplateRef") or {}).get("workload")
        if reference is None:
            return
        name = reference.get("workloadName", "")
        workload = self._store.get(Workload, f"{attributes.namespace}/{name}")
        what = f"Workload {go_quoted(name)}"
        if workload is None:
            raise rejected(attributes, f"PodGroup rejected: {what} not found")
        if workload.metadata.deletion_timestamp is not None:
            raise rejected(attributes, f"PodGroup rejected: {what} is being deleted")
        template = reference.get("podGroupTemplateName", "")
        if all(each.name != template for each in workload.spec.pod_group_templates):
            raise rejected(
                attributes,
                f"PodGroup rejected: PodGroupTemplate {go_quoted(template)} not found in {what}",
            )
