"""Queueing hints of the in-tree plugins, one module per plugin.

Each module has `events_to_register(...)`: the cluster events that could undo the plugin's
rejection, with their hint functions. What a hint needs besides the objects of the
event (namespace labels, arguments) is a parameter. The plugin modules return these from
their own `events_to_register`; nothing here knows a plugin.
"""

from typing import TYPE_CHECKING

from podwright._faces import names_on_first_use

if TYPE_CHECKING:
    from podwright.scheduler.plugins.hints import (
        default_preemption as default_preemption,
        dynamic_resources as dynamic_resources,
        gang_scheduling as gang_scheduling,
        inter_pod_affinity as inter_pod_affinity,
        node_affinity as node_affinity,
        node_declared_features as node_declared_features,
        node_name as node_name,
        node_ports as node_ports,
        node_resources_fit as node_resources_fit,
        node_unschedulable as node_unschedulable,
        node_volume_limits as node_volume_limits,
        pod_topology_spread as pod_topology_spread,
        scheduling_gates as scheduling_gates,
        taint_toleration as taint_toleration,
        volume_binding as volume_binding,
        volume_restrictions as volume_restrictions,
        volume_zone as volume_zone,
    )
else:
    __getattr__, __dir__ = names_on_first_use(__name__)
