"""What was spent outlives the process, and ends with the policy that it was spent under."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tierocr.edge.routing import RoutingPolicy, Spent
from tierocr.edge.tally import dump, load

counts = st.integers(0, 10**12)
spendings = st.builds(Spent, pages=counts, lines=counts, sent_lines=counts, sent_bytes=counts)
policies = st.builds(
    RoutingPolicy, threshold=st.floats(0, 1), max_share=st.floats(0, 1), bytes_per_page=counts
)


@given(policies, spendings)
def test_it_is_kept_as_it_is(policy: RoutingPolicy, spent: Spent) -> None:
    assert load(dump(policy, spent), policy) == spent


@given(policies, spendings)
def test_another_policy_begins_anew(policy: RoutingPolicy, spent: Spent) -> None:
    other = replace(policy, burst_lines=policy.burst_lines + 1)
    assert load(dump(policy, spent), other) == load(None, policy) == Spent()
