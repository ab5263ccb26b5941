"""Pod Security: the standards that the labels of a namespace choose.

Start with `plugin`. `namespace_policy` reads the labels, `checks` has the checks of each level, and
`standards` chooses those of a version.
"""

from podwright.cluster.api.admission.pod_security.plugin import PodSecurity as PodSecurity
