"""The error of a request whose object violates upstream's rules.

Upstream: staging/src/k8s.io/apimachinery/pkg/api/errors/errors.go, NewInvalid
"""

from __future__ import annotations

from collections.abc import Iterable

from podwright.apimachinery.objects import (
    Document,
    FieldError,
    InvalidObject,
    KubernetesObject,
    api_group,
)
from podwright.apimachinery.schema import Problem, reason_of


class Invalid(InvalidObject):
    """An object violates upstream's rules; the text is the message of upstream's Status.

    Parameters
    ----------
    obj : KubernetesObject
        The rejected object.
    problems : iterable of Problem
        All errors, at least one.
    """

    def __init__(self, obj: KubernetesObject, problems: Iterable[Problem]) -> None:
        super().__init__(
            FieldError(source=f"{obj.kind} {obj.key}", path=path, message=message, value=value)
            for path, message, value in problems
        )
        self._group = api_group(obj.api_version)
        self._kind = obj.kind
        self._name = obj.name
        # Upstream lists the same error once.
        texts = dict.fromkeys(f"{each.path}: {each.message}" for each in self.errors)
        kind = f"{obj.kind}.{self._group}" if self._group else obj.kind
        listed = ", ".join(texts)
        listed = f"[{listed}]" if len(texts) > 1 else listed
        self.args = (f'{kind} "{obj.name or obj.metadata.generate_name}" is invalid: {listed}',)

    def status(self) -> Document:
        """Return the Status with which the API server answers."""
        details: Document = {"name": self._name, "group": self._group, "kind": self._kind}
        causes = [
            {"reason": reason_of(each.message), "message": each.message, "field": each.path}
            for each in self.errors
        ]
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": str(self),
            "reason": "Invalid",
            "details": {name: each for name, each in details.items() if each} | {"causes": causes},
            "code": 422,
        }
