"""The API server as a function: a request, its user and the time go in, a reply comes out.

Theory of operation
-------------------
`ApiServer.handle` parses the path, consults the authorizers, finds the resource, negotiates the
representation, and calls the handler of the verb. Errors are replies. Nothing here reads a clock,
opens a socket or waits: a watch is an object that the driver polls.

Upstream: staging/src/k8s.io/apiserver/pkg/server/config.go, DefaultBuildHandlerChain;
staging/src/k8s.io/apiserver/pkg/endpoints/installer.go
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

import msgspec

from podwright._interludes import interlude
from podwright.apimachinery.objects import Document
from podwright.cluster.api.admission import (
    AdmissionChain,
    AdmissionContext,
    Plugin,
    default_plugins,
)
from podwright.cluster.api.authorization import (
    EscalationCheck,
    Impersonation,
    Mode,
    RoleResolver,
    authorizer_chain,
    denied,
)
from podwright.cluster.api.endpoints import read
from podwright.cluster.api.endpoints.access.access_reviews import allows_approval
from podwright.cluster.api.endpoints.access.authentication import (
    Authenticator,
    TokenLookup,
    token_warnings,
)
from podwright.cluster.api.endpoints.access.authorization import access_of, impersonated
from podwright.cluster.api.endpoints.access.service_account_tokens import (
    LegacyTokens,
    ServiceAccountTokens,
)
from podwright.cluster.api.endpoints.calls import Backend, Call
from podwright.cluster.api.endpoints.custom_resources import Definitions, marked_for_deletion
from podwright.cluster.api.endpoints.discovery import Discovery
from podwright.cluster.api.endpoints.forms import LEARNED_AT, TEMPLATES_MAX, KnownForms
from podwright.cluster.api.endpoints.kinds import subresources
from podwright.cluster.api.endpoints.kinds.event_expiry import DEFAULT_TTL_NS, EventExpiry
from podwright.cluster.api.endpoints.kinds.usage_metrics import METRICS_GROUP
from podwright.cluster.api.endpoints.openapi import OpenApi
from podwright.cluster.api.endpoints.options import check_timeout
from podwright.cluster.api.endpoints.paths import RequestInfo, request_info
from podwright.cluster.api.endpoints.replies.negotiation import error_media, indented, negotiate
from podwright.cluster.api.endpoints.replies.responses import compressed, error_reply
from podwright.cluster.api.endpoints.request import HttpReply, HttpRequest, LongRequest, Steps
from podwright.cluster.api.endpoints.served.kept_objects import KeptObjects
from podwright.cluster.api.endpoints.served.plain_paths import plain_path
from podwright.cluster.api.endpoints.shared_lines import SharedLines
from podwright.cluster.api.endpoints.watch import Watch, watch
from podwright.cluster.api.endpoints.writes import delete
from podwright.cluster.api.endpoints.writes.create import create
from podwright.cluster.api.endpoints.writes.patch import check_patch_type, patch
from podwright.cluster.api.endpoints.writes.update import update
from podwright.cluster.api.field_management import ComponentOwners, FieldManagement
from podwright.cluster.api.gated_fields import COMPARISONS, SELINUX_MOUNT, disabled_fields
from podwright.cluster.api.pipeline import SERVED, bare_parts
from podwright.cluster.api.rejections import (
    PlainError,
    Rejection,
    bad_request,
    method_not_allowed,
    method_not_supported,
    not_found,
    unknown_path,
    unknown_resource,
)
from podwright.cluster.api.stages.kinds.claim_statuses import CLAIM_STATUS_RIGHTS
from podwright.cluster.api.stages.kinds.custom_resources import DEFINITION
from podwright.cluster.api.stages.kinds.service_allocation import ServiceAllocations
from podwright.cluster.api.stages.write import Allocator
from podwright.cluster.api.users import ANONYMOUS, User
from podwright.cluster.api.versions.resources import DEFAULT_GROUP_VERSIONS, Resource, Resources
from podwright.cluster.store import (
    LARGE_BYTES,
    TIMES_KEPT_NS,
    GroupKind,
    ObjectStore,
    UnusableStore,
)

Handler: TypeAlias = Callable[[Backend, Call], HttpReply | Watch | Steps]

_OBJECT_HANDLERS: Final[dict[str, Handler]] = {
    "get": read.get,
    "update": update,
    "patch": patch,
    "delete": delete.delete,
    "watch": watch,
}
_COLLECTION_HANDLERS: Final[dict[str, Handler]] = {
    "list": read.list_objects,
    "watch": watch,
    "create": create,
    "deletecollection": delete.delete_collection,
}
_ALL_NAMESPACES: Final = frozenset({"list", "watch"})
_READS: Final = ("GET", "HEAD")

LONG_QUERY_BYTES: Final = 4 * 1024
"""From which length on a query may have selectors that take long to read."""

LARGE_CUSTOM_BYTES: Final = 4 * 1024
"""From which length on the body of a custom resource may be computed with for long."""

_POLICY_BINDINGS: Final = tuple(
    ("admissionregistration.k8s.io", f"{kind}AdmissionPolicyBinding")
    for kind in ("Mutating", "Validating")
)


class ServerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The set-up of a server.

    Attributes
    ----------
    group_versions : sequence of str
        The served group versions, in the order of discovery; see `Resources`.
    authorization_modes : sequence of str
        The authorizers after that of superusers, in order: Node, RBAC, AlwaysAllow,
        AlwaysDeny.
    admission : callable
        Returns the admission plugins of a server, in the order in which they run.
    keeps_managed_fields : bool
        Whether writes keep `managedFields`.
    tokens : sequence of callables
        Lookups of bearer tokens, before those of service accounts.
    allows_anonymous : bool
        Whether requests without credentials are served.
    event_ttl_ns : int
        How long Events are kept after their last write; at most as long as the store knows when
        versions were written.
    anonymous : User
        Their user.
    templates_max : int
        How many forms of creations are kept, which cost less; 0 for none.
    learned_at : int
        How many creations of a form are executed in full.
    disabled_gates : frozenset of str
        The feature gates that are off: writes lose the fields of these gates, and nodes the rights.
    sends_lists_in_parts : bool
        Whether replies have `rest`, for a driver that sends long lists while it does other work.
    """

    group_versions: Sequence[str] = DEFAULT_GROUP_VERSIONS
    authorization_modes: Sequence[Mode] = ("Node", "RBAC")
    admission: Callable[[AdmissionContext], Sequence[Plugin]] = default_plugins
    keeps_managed_fields: bool = True
    tokens: Sequence[TokenLookup] = ()
    allows_anonymous: bool = True
    event_ttl_ns: int = DEFAULT_TTL_NS
    anonymous: User = ANONYMOUS
    templates_max: int = TEMPLATES_MAX
    learned_at: int = LEARNED_AT
    disabled_gates: frozenset[str] = frozenset()
    sends_lists_in_parts: bool = False


class ApiServer:
    """The Kubernetes API over the objects of one store.

    Parameters
    ----------
    store : ObjectStore
        The objects of the cluster.
    options : ServerOptions, optional

    Attributes
    ----------
    resources : Resources
        The served resources.
    authenticator : Authenticator
        Finds the users of requests, those of service account tokens among them.
    component_owners : ComponentOwners
        Of the fields that components write through the typed API.
    allocators : dict
        What completes valid objects, by kind; for the typed API too.
    only_reads : bool
        Whether requests change nothing for now, because another thread is about to write: nothing
        expires, and what follows from objects is written later. The driver executes reads only.
    """

    def __init__(self, store: ObjectStore, options: ServerOptions | None = None) -> None:
        options = options or ServerOptions()
        self.resources = Resources(options.group_versions)
        self._discovery = Discovery(self.resources)
        self._openapi = OpenApi(self.resources)
        resolver = RoleResolver(store)
        self._authorizers = authorizer_chain(
            options.authorization_modes, store, resolver, options.disabled_gates
        )
        self._impersonation = Impersonation(self._authorizers)
        tokens = ServiceAccountTokens(store)
        self.authenticator = Authenticator(
            *options.tokens,
            tokens.lookup,
            LegacyTokens(store).lookup,
            allows_anonymous=options.allows_anonymous,
            anonymous=options.anonymous,
        )
        assert options.event_ttl_ns <= TIMES_KEPT_NS, f"{options.event_ttl_ns} > {TIMES_KEPT_NS}"
        self.only_reads = False
        self._store = store
        self._lines = SharedLines()
        self._events = EventExpiry(store, options.event_ttl_ns)
        fields = FieldManagement(self.resources, is_on=options.keeps_managed_fields)
        self.component_owners = ComponentOwners(self.resources, fields)
        self.allocators: dict[GroupKind, Allocator] = {
            ("", "Service"): ServiceAllocations(store).allocate
        }
        bare = bare_parts(store, owners=self.component_owners)
        self._definitions = Definitions(store, bare, self.resources, fields)
        self._kept = KeptObjects(store, bare)
        context = AdmissionContext(
            store=store,
            update_status=bare.server_status.update,
            authorizer=self._authorizers,
            resources=self.resources,
            sets_group_priority="WorkloadAwarePreemption" not in options.disabled_gates,
        )
        admission = AdmissionChain(options.admission(context))
        self._forms = KnownForms(
            store,
            admission,
            self._authorizers,
            templates_max=options.templates_max,
            learned_at=options.learned_at,
        )
        self._backend = Backend(
            profile=SERVED,
            store=store,
            storage=bare.storage,
            server_status=bare.server_status,
            marks={DEFINITION: marked_for_deletion},
            resources=self.resources,
            admission=admission,
            field_management=fields,
            forms=self._forms,
            tokens=tokens,
            authenticator=self.authenticator,
            authorizers=self._authorizers,
            escalation=EscalationCheck(self._authorizers, resolver),
            sends_lists_in_parts=options.sends_lists_in_parts,
            disabled_fields=disabled_fields(options.disabled_gates),
            compares_taints=COMPARISONS not in options.disabled_gates,
            mounts_labels=SELINUX_MOUNT not in options.disabled_gates,
            checks_claim_statuses=CLAIM_STATUS_RIGHTS not in options.disabled_gates,
            allocators=self.allocators,
        )

    def serve(self, request: HttpRequest, now_ns: int) -> HttpReply | Watch:
        """Authenticate and execute a request.

        Parameters
        ----------
        request : HttpRequest
        now_ns : int
            The time of the request, in nanoseconds since 1970.

        Returns
        -------
        HttpReply or Watch
        """
        return _finished(self.begin(request, now_ns))

    def begin(self, request: HttpRequest, now_ns: int) -> HttpReply | Watch | LongRequest:
        """Do as `serve`, but only start a request that takes long; the driver executes it."""
        try:
            user = self.authenticator.authenticate(
                request.headers, now_ns, certified=request.certified
            )
        except Rejection as error:
            return error_reply(error, error_media(request))
        return self._begun(request, user, now_ns)

    def path_rejection(self, request: HttpRequest, now_ns: int) -> Rejection | None:
        """Return why a request of a path that the driver serves is rejected; None if it is not.

        Parameters
        ----------
        request : HttpRequest
            Of a path that is not a resource of the API.
        now_ns : int
            The time of the request, in nanoseconds since 1970.
        """
        try:
            user = self.authenticator.authenticate(
                request.headers, now_ns, certified=request.certified
            )
            access = access_of(request_info(request), user, request)
            access = impersonated(self._impersonation, access, request)
            decision = self._authorizers.authorize(access)
        except Rejection as error:
            return error
        return None if decision.is_allowed is True else denied(access, decision.reason)

    @property
    def has_policies(self) -> bool:
        """Whether writes may be subject to admission policies."""
        return any(map(self._store.count, _POLICY_BINDINGS))

    def computes_long(self, request: HttpRequest) -> bool:
        """Return whether a request may compute long, by its body and by what it is about.

        The bodies of large objects are long, but patches of them need not be. The rules of custom
        resources, and the expressions of admission policies, compute long for few bytes. Of reads,
        long selectors take long, and replies in YAML.
        """
        if request.method in _READS:
            is_rendered = self._openapi.computes_long(request) or "yaml" in request.header("accept")
            return is_rendered or len(request.query) >= LONG_QUERY_BYTES
        length = len(request.body)
        if length >= LARGE_BYTES or self.has_policies:
            return True
        is_patch = request.method == "PATCH"
        if length < LARGE_CUSTOM_BYTES and not is_patch and not self._store.large:
            return False
        info = request_info(request)
        resource = self.resources.find(info.group, info.version, info.resource)
        if resource is None:
            return False
        if resource.is_custom:
            return is_patch or length >= LARGE_CUSTOM_BYTES
        key = f"{info.namespace}/{info.name}" if info.namespace else info.name
        return key in self._store.large.get(resource.storage, ())

    def handle(self, request: HttpRequest, user: User, now_ns: int) -> HttpReply | Watch:
        """Execute a request of an authenticated user.

        Parameters
        ----------
        request : HttpRequest
        user : User
            The authenticated user.
        now_ns : int
            The time of the request, in nanoseconds since 1970.

        Returns
        -------
        HttpReply or Watch

        Raises
        ------
        UnusableStore
            The journal of the store cannot be written; the driver stops.
        """
        return _finished(self._begun(request, user, now_ns))

    def _begun(
        self, request: HttpRequest, user: User, now_ns: int
    ) -> HttpReply | Watch | LongRequest:
        if self.only_reads:
            return self._compressed_reply(request, user, now_ns)
        self.advance(now_ns)
        self.catch_up(now_ns)
        made = self._forms.execute(request, user, now_ns)
        if made is not None:
            return made
        reply = self._compressed_reply(request, user, now_ns)
        # A definition that this request wrote takes effect at once.
        self.catch_up(now_ns)
        return reply

    def _compressed_reply(
        self, request: HttpRequest, user: User, now_ns: int
    ) -> HttpReply | Watch | LongRequest:
        reply = self._reply(request, user, now_ns)
        if isinstance(reply, HttpReply):
            with interlude():
                return compressed(request, reply)
        return reply

    def _reply(
        self, request: HttpRequest, user: User, now_ns: int
    ) -> HttpReply | Watch | LongRequest:
        warnings = [] if request.certified else token_warnings(request.headers)
        try:
            info = request_info(request)
            check_timeout(request, info)
            access = access_of(info, user, request)
            access = impersonated(self._impersonation, access, request)
            decision = self._authorizers.authorize(access)
            if decision.is_allowed is not True:
                raise denied(access, decision.reason)
            if not info.is_resource:
                return self._plain(request, now_ns)
            resource, handler = self._route(info)
            known = [*warnings, *resource.warnings]
            if resource.is_custom:
                # Errors of other kinds are those of upstream's routes, which know no warnings.
                warnings = known
            if request.method == "HEAD" and not resource.is_custom:
                raise method_not_allowed()
            if info.verb == "patch" and info.subresource != subresources.PROXY:
                check_patch_type(request, resource)
            if info.verb in ("update", "patch") and not info.name:
                raise bad_request("name must be provided")
            media = negotiate(
                request.header("accept"),
                streams=request.method == "GET" and not info.name,
                is_route=not resource.is_custom,
                has_tables=subresources.has_tables(info),
                has_protobuf=not resource.is_custom and info.group != METRICS_GROUP,
            )
            call = Call(
                request=request,
                info=info,
                resource=resource,
                user=access.user,
                now_ns=now_ns,
                media=indented(media, request),
                encodings=self._store.encodings,
                lines=self._lines,
                warnings=known,
            )
        except (Rejection, PlainError) as error:
            media = error_media(request)
            return _without_body(request, error_reply(error, media, warnings))
        try:
            found = handler(self._backend, call)
        except (Rejection, PlainError) as error:
            with interlude():
                return _without_body(request, _failed(call, error))
        if isinstance(found, HttpReply):
            return _without_body(request, found)
        return found if isinstance(found, Watch) else LongRequest(_steps_of(call, found))

    def allows_approval(self, spec: Document, subresource: str) -> bool:
        """Whether the user of a certificate request may have it approved; see `allows_approval`."""
        return allows_approval(self._authorizers, spec, subresource)

    def advance(self, now_ns: int) -> None:
        """Set the time of the store, and delete the Events that have expired by then.

        Raises
        ------
        UnusableStore
            The journal of the store cannot be written.
        """
        if self._store.failure:
            raise UnusableStore(f"{self._store.failure}; open the store again")
        self._store.advance(now_ns)
        self._events.expire(now_ns)

    @property
    def next_due_ns(self) -> int | None:
        """When `advance` has something to do although there is no request; None for never."""
        return self._events.next_due_ns

    def catch_up(self, now_ns: int) -> None:
        """Serve the custom resources of the stored definitions; keep what follows from objects."""
        self._definitions.catch_up(now_ns)
        self._kept.catch_up(now_ns)

    def _plain(self, request: HttpRequest, now_ns: int) -> HttpReply:
        found = plain_path(request) or self._discovery(request) or self._openapi(request, now_ns)
        if found is not None:
            return found
        raise _unknown(self.resources, request.path)

    def _route(self, info: RequestInfo) -> tuple[Resource, Handler]:
        """Return the resource and the handler of a request.

        Raises
        ------
        Rejection or PlainError
            Nothing serves the path, or it does not have the method.
        """
        resource = self.resources.find(info.group, info.version, info.resource)
        if resource is None or not _is_path_of(info, resource):
            raise _unknown(self.resources, info.path)
        if resource.is_custom:
            return resource, _custom_handler(info, resource)
        if info.subresource in resource.kind.row.subresources and not info.name:
            raise bad_request("name must be provided")
        if info.subresource:
            handlers: dict[str, Handler] = dict(subresources.HANDLERS.get(info.subresource, {}))
            has_rest = bool(info.rest) and info.subresource != subresources.PROXY
            if info.subresource not in resource.kind.row.subresources or not handlers or has_rest:
                raise unknown_resource()
            handler = handlers.get(info.verb)
        else:
            known = _OBJECT_HANDLERS if info.name else _COLLECTION_HANDLERS
            verbs = known.keys() & resource.kind.row.verbs
            if not info.name and resource.namespaced and not _has_namespace(info):
                verbs &= _ALL_NAMESPACES
            if not verbs:
                raise unknown_resource()
            computed = subresources.COMPUTED.get((info.group, info.resource), {})
            handler = computed.get(info.verb, known[info.verb]) if info.verb in verbs else None
        if handler is None:
            raise method_not_allowed()
        return resource, handler


def _is_path_of(info: RequestInfo, resource: Resource) -> bool:
    """Whether the form of the path fits the scope of the resource.

    Raises
    ------
    Rejection
        The path of an object has an empty namespace.
    """
    if resource.namespaced:
        if info.name and not info.namespace and _has_namespace(info):
            if resource.is_custom:
                raise unknown_path()
            raise bad_request("Namespace parameter required.")
        return bool(info.namespace) or not info.name
    if (info.group, info.resource) == ("", "namespaces"):
        return info.namespace == info.name
    return not info.namespace


def _has_namespace(info: RequestInfo) -> bool:
    """Whether the path has a namespace, which may be empty."""
    return bool(info.namespace) or "/namespaces//" in info.path


def _unknown(resources: Resources, path: str) -> Rejection | PlainError:
    """Return the error of a path that nothing serves: a Status below a known group."""
    parts = path.split("/")[1:]
    if parts[0] in ("api", "version") and len(parts) > 1:
        return unknown_resource()
    if parts[0] == "apis" and len(parts) > 2 and resources.is_built_in(parts[1]):
        return unknown_resource()
    return unknown_path()


def _custom_handler(info: RequestInfo, resource: Resource) -> Handler:
    """Return the handler of a request to a custom resource, which the verb alone decides.

    Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go

    Raises
    ------
    Rejection or PlainError
        The subresource or the verb does not exist.
    """
    if resource.namespaced and not info.namespace and info.verb not in _ALL_NAMESPACES:
        raise unknown_path()
    handlers: Mapping[str, Handler] = _COLLECTION_HANDLERS | _OBJECT_HANDLERS
    if info.subresource:
        if info.subresource not in resource.kind.row.subresources:
            raise not_found(resource.group, resource.plural, info.name)
        handlers = subresources.HANDLERS[info.subresource]
    handler = handlers.get(info.verb)
    if handler is None:
        action = info.verb if info.verb in _COLLECTION_HANDLERS | _OBJECT_HANDLERS else ""
        raise method_not_supported(resource.group, resource.plural, action)
    return handler


def _failed(call: Call, error: Rejection | PlainError) -> HttpReply:
    return error_reply(error, error_media(call.request), call.warnings)


def _steps_of(call: Call, steps: Steps) -> Steps:
    """Execute a request in steps; its errors are replies."""
    try:
        return compressed(call.request, (yield from steps))
    except (Rejection, PlainError) as error:
        return _failed(call, error)


def _finished(reply: HttpReply | Watch | LongRequest) -> HttpReply | Watch:
    return reply.finish() if isinstance(reply, LongRequest) else reply


def _without_body(request: HttpRequest, reply: HttpReply) -> HttpReply:
    if request.method != "HEAD":
        return reply
    return msgspec.structs.replace(reply, body=b"")
