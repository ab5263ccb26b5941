"""Queueing hints of the in-tree plugins that have many, or hints with parameters.

Each module has `events_to_register(...)`: the cluster events that could undo the plugin's
rejection, with their hint functions. What a hint needs besides the objects of the
event (namespace labels, arguments) is a parameter. The plugin modules return these from
their own `events_to_register`; nothing here knows a plugin. Other plugins have their hints in
their modules, and share `objects`.
"""

from typing import TYPE_CHECKING

from podwright._faces import names_on_first_use

if TYPE_CHECKING:
    from podwright.scheduler.plugins.hints import (
        dynamic_resources as dynamic_resources,
        node_affinity as node_affinity,
        node_declared_features as node_declared_features,
        node_resources_fit as node_resources_fit,
        pod_topology_spread as pod_topology_spread,
        taint_toleration as taint_toleration,
        volume_binding as volume_binding,
    )
else:
    __getattr__, __dir__ = names_on_first_use(__name__)
