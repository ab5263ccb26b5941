"""Custom resources: the resources that CustomResourceDefinitions define.

A definition takes effect when the request that wrote it has been answered: `Definitions.catch_up`
accepts its names (`names`), serves its versions (`served_versions`), and, once it is terminating,
deletes its objects (`cleanup`). Upstream does the same in controllers of the API server.

What an object of a custom resource must be is in `schema.structural`.
"""

from podwright.cluster.api.endpoints.custom_resources.cleanup import (
    marked_for_deletion as marked_for_deletion,
)
from podwright.cluster.api.endpoints.custom_resources.definitions import (
    Definitions as Definitions,
)
from podwright.cluster.api.endpoints.decoding.body_kinds import (
    cannot_be_custom as cannot_be_custom,
    check_custom_kind as check_custom_kind,
    check_custom_version as check_custom_version,
)
