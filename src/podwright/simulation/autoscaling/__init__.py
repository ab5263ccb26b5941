"""Autoscaling: node groups that grow and shrink as cluster-autoscaler changes them.

`node_groups.py` has the groups and the options of a file; `cluster_autoscaler.py` is the
controller. `trial_cluster.py` schedules in forks of the cluster, and `companions.py` has the
devices and CSINodes of new nodes; `scale_up.py` estimates how many nodes pods need, and
`expanders.py` choose among the groups; `scale_down.py` finds the nodes that are not needed, whose
pods can move by the rules of `drainability.py`, and removes them. `explaining.py` says which groups
would help a pending pod.

The room does not decide what fits: the filters of the cluster's scheduler do.
"""

from typing import TYPE_CHECKING

from podwright._faces import names_on_first_use

if TYPE_CHECKING:
    from podwright.simulation.autoscaling.cluster_autoscaler import (
        ClusterAutoscaler as ClusterAutoscaler,
    )
    from podwright.simulation.autoscaling.companions import Companions as Companions
    from podwright.simulation.autoscaling.drainability import SAFE_TO_EVICT as SAFE_TO_EVICT
    from podwright.simulation.autoscaling.explaining import (
        AutoscalingExplanation as AutoscalingExplanation,
        GroupHelp as GroupHelp,
        explain_autoscaling as explain_autoscaling,
    )
    from podwright.simulation.autoscaling.group_sizes import (
        GroupSizes as GroupSizes,
        NodeGroupSizes as NodeGroupSizes,
        SizeChange as SizeChange,
    )
    from podwright.simulation.autoscaling.node_groups import (
        HOSTNAME as HOSTNAME,
        INSTANCE_TYPE as INSTANCE_TYPE,
        AutoscalerOptions as AutoscalerOptions,
        Autoscaling as Autoscaling,
        Expander as Expander,
        NodeGroup as NodeGroup,
        NodeTemplate as NodeTemplate,
        is_resource as is_resource,
        new_node as new_node,
        parse_node_groups as parse_node_groups,
        pool_groups as pool_groups,
        pool_of as pool_of,
        read_node_groups as read_node_groups,
    )
    from podwright.simulation.autoscaling.node_removals import (
        NodeRemoval as NodeRemoval,
        explain_scale_down as explain_scale_down,
    )
else:
    __getattr__, __dir__ = names_on_first_use(__name__)
