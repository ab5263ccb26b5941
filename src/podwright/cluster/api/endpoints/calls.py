"""What the handlers of one request share: the server's parts, and the request's facts."""

from __future__ import annotations

import msgspec

from podwright.apimachinery.objects import Document, KubernetesObject
from podwright.cluster.api.endpoints.access.authentication import Authenticator
from podwright.cluster.api.endpoints.access.service_account_tokens import ServiceAccountTokens
from podwright.cluster.api.endpoints.forms import KnownForms
from podwright.cluster.api.endpoints.paths import RequestInfo
from podwright.cluster.api.endpoints.replies.negotiation import MediaType
from podwright.cluster.api.endpoints.request import HttpRequest
from podwright.cluster.api.endpoints.shared_lines import SharedLines
from podwright.cluster.api.preconditions import check_path_segment
from podwright.cluster.api.rejections import Rejection, not_found
from podwright.cluster.api.stages.write import ServedParts
from podwright.cluster.api.users import User
from podwright.cluster.api.versions.resources import Resource, Resources
from podwright.cluster.store import Encodings


class Backend(ServedParts, frozen=True, kw_only=True, eq=False):
    """The parts of a server that handlers use besides those of its stages.

    Attributes
    ----------
    resources : Resources
        The served resources.
    forms : KnownForms
        The creations that are made from earlier ones.
    tokens : ServiceAccountTokens
        Issues and checks tokens of service accounts.
    authenticator : Authenticator
        Finds the users of tokens.
    sends_lists_in_parts : bool
        Whether the bodies of long lists are made while they are sent.
    """

    resources: Resources
    forms: KnownForms
    tokens: ServiceAccountTokens
    authenticator: Authenticator
    sends_lists_in_parts: bool = False


class Call(msgspec.Struct, kw_only=True, eq=False):
    """One resource request.

    Attributes
    ----------
    request : HttpRequest
    info : RequestInfo
    resource : Resource
    user : User
    now_ns : int
    media : MediaType
        The representation of the reply.
    encodings : Encodings
        The JSON of stored objects.
    lines : SharedLines
        The lines of watches.
    warnings : list of str
        The warnings of the reply.
    sent : dict
        The object of a write as it was decoded, for errors.
    formed : dict or None
        It in Go's form and with defaults.
    """

    request: HttpRequest
    info: RequestInfo
    resource: Resource
    user: User
    now_ns: int
    media: MediaType
    encodings: Encodings
    lines: SharedLines
    warnings: list[str] = []
    sent: Document = {}
    formed: Document | None = None

    @property
    def namespace(self) -> str:
        """The namespace of the object; "" for a cluster-scoped one."""
        info = self.info
        return "" if (info.group, info.resource) == ("", "namespaces") else info.namespace

    @property
    def key(self) -> str:
        """The key of the named object in the store."""
        info = self.info
        return f"{info.namespace}/{info.name}" if self.resource.namespaced else info.name

    def missing(self) -> Rejection:
        """Return the error of a named object that does not exist."""
        return not_found(self.resource.group, self.resource.plural, self.info.name)


def find(backend: Backend, call: Call) -> KubernetesObject:
    """Return the named object.

    Raises
    ------
    Rejection
        It does not exist, or its name cannot be part of a path.
    """
    check_path_segment(call.info.name)
    found = backend.store.get(call.resource.storage, call.key)
    if found is None:
        raise call.missing()
    return found


def served(call: Call, obj: KubernetesObject) -> Document:
    """Return an object as the version of the request has it."""
    return call.resource.served(obj.raw)
