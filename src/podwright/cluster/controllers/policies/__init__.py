"""The controller of admission policies: it writes what is wrong with the types in expressions.

It runs in clusters that are served.
"""

from podwright.cluster.controllers.policies.type_checking import (
    KindSource as KindSource,
    PolicyTypeController as PolicyTypeController,
)
