"""The addresses of nodes and pods."""

from podwright.cluster.kubelets.addresses import Addresses


def test_addresses_are_assigned_in_order_and_beyond_those_that_are_kept():
    addresses = Addresses()
    assert [addresses.of_pod(uid) for uid in "aba"] == ["10.64.0.1", "10.64.0.2", "10.64.0.1"]
    assert addresses.take_for_pod("a") == "10.64.0.1"
    assert addresses.of_pod("a") == "10.64.0.3"
    assert addresses.take_for_pod("z") == "10.64.0.4"
    for kept in (
        "10.64.1.7",
        "10.64.0.9",
        "9.9.9.9",
        "10.64.0.x",
        "no",
        "10.0.0.200",
        "10.128.0.0",
    ):
        addresses.keep_pod(kept)
    assert addresses.of_pod("c") == "10.64.1.8"
    addresses.release_pod("c")
    assert addresses.of_pod("c") == "10.64.1.9"
    assert [addresses.of_node(name) for name in "nmn"] == ["10.0.0.1", "10.0.0.2", "10.0.0.1"]
    addresses.set_node("n", "5.5.5.5")
    again = Addresses(addresses.state())
    assert (again.of_node("n"), again.of_node("k"), again.of_pod("d")) == (
        "5.5.5.5", "10.0.0.3", "10.64.1.10",
    )  # fmt: skip
    again.release_node("n")
    assert again.of_node("n") == "10.0.0.4"
