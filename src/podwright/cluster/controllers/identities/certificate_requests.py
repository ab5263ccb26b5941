"""What the controllers of certificate requests have in common: their keys are those of requests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from podwright.apimachinery.objects import KubernetesObject, NamespacedName
from podwright.cluster.controllers.kinds import CSR, GroupKind
from podwright.cluster.controllers.stateless import StatelessController


class CertificateRequestController(StatelessController):
    """A controller whose keys are those of certificate requests."""

    kinds: Sequence[GroupKind] = (CSR,)

    def observe(
        self, old: KubernetesObject | None, new: KubernetesObject | None
    ) -> Iterable[NamespacedName]:
        """Return a request that was added or changed."""
        del old
        return () if new is None else (new.key,)
