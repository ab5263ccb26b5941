"""Names in OpenAPI documents: of schemas, operations and tags.

Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/openapi/openapi.go, GetOperationIDAndTags
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import Document

META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1"

_PACKAGES: Final = {
    "meta": "io.k8s.apimachinery.pkg.apis",
    "apiextensions": "io.k8s.apiextensions-apiserver.pkg.apis",
    "metrics": "io.k8s.metrics.pkg.apis",
    "apiregistration": "io.k8s.kube-aggregator.pkg.apis",
}
_REFERENCE: Final = "#/components/schemas/"


def schema_name(struct: str) -> str:
    """Return the name of the schema of a struct of the table.

    Examples
    --------
    >>> schema_name("core.v1.PodSpec")
    'io.k8s.api.core.v1.PodSpec'
    """
    package = struct.partition(".")[0]
    return f"{_PACKAGES.get(package, 'io.k8s.api')}.{struct}"


def reference(name: str) -> Document:
    """Return a reference to a schema."""
    return {"$ref": _REFERENCE + name}


def custom_schema_name(group: str, version: str, kind: str) -> str:
    """Return the name of the schema of a custom resource.

    Examples
    --------
    >>> custom_schema_name("sea.example.com", "v1", "Boat")
    'com.example.sea.v1.Boat'
    """
    return f"{'.'.join(reversed(group.split('.')))}.{version}.{kind}"


def camel_case(text: str, *, is_capitalized: bool = True) -> str:
    """Return a text without punctuation, in camel case.

    Examples
    --------
    >>> camel_case("rbac.authorization", is_capitalized=False)
    'rbacAuthorization'
    """
    found = ""
    capitalizes = is_capitalized
    for index, letter in enumerate(text):
        if letter.isalpha() or letter == "_" or (index and letter.isdigit()):
            found += letter.upper() if capitalizes else letter
            capitalizes = False
        else:
            capitalizes = True
    return found


class GroupVersionNames:
    """The parts of names that come from a group and a version.

    Parameters
    ----------
    group, version : str
        The version is "" for the document of the group alone.

    Attributes
    ----------
    infix : str
        The part of operation ids after the verb, such as `AppsV1`.
    tag : str
        Such as apps_v1.
    """

    def __init__(self, group: str, version: str) -> None:
        short = (group or "core").removesuffix(".k8s.io")
        self.infix = camel_case(short) + camel_case(version)
        self.tag = camel_case(short, is_capitalized=False)
        if version:
            self.tag += f"_{camel_case(version, is_capitalized=False)}"
