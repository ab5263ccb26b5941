"""The fast ways of the lifecycle do what the plain ones do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podwright.world.jq import query
from podwright.world.selection import Selection
from podwright.world.stages import Requirement, Stage

pytestmark = pytest.mark.property

TEXTS = st.sampled_from(["Running", "Failed", "True", "true", "1", ""])
PLAIN = st.one_of(st.none(), st.booleans(), st.integers(0, 2), TEXTS)
PARTS = st.recursive(
    PLAIN,
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.dictionaries(st.sampled_from(["phase", "status", "type", "a b"]), inner, max_size=3),
    ),
    max_leaves=6,
)
DOCUMENTS = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("metadata", "spec", "status", "phase"), PARTS)
)
QUERIES = (
    ".",
    ".phase",
    ".status.phase",
    ".status.status.type",
    '.metadata["a b"]',
    ".status.phase?",
    ".status.[].type",
    ".status.[0]",
    '.status.[] | select(.type == "True") | .status',
)
REQUIREMENTS = st.builds(
    Requirement,
    query=st.sampled_from(QUERIES).map(query),
    operator=st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist"]),
    values=st.lists(TEXTS, max_size=2).map(tuple),
)
STAGES = st.builds(
    Stage,
    name=st.just("s"),
    kind=st.just("Pod"),
    requirements=st.one_of(st.none(), st.lists(REQUIREMENTS, max_size=3).map(tuple)),
)


@given(st.lists(STAGES, max_size=5), st.lists(DOCUMENTS, min_size=1, max_size=3))
def test_a_selection_finds_the_stages_that_apply(stages, documents):
    selection = Selection(stages)
    for document in documents:
        applying = [place for place, stage in enumerate(stages) if stage.applies_to(document)]
        assert selection.of(document) == applying
