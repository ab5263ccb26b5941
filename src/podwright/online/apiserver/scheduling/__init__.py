"""The schedulers of a served cluster, and what is observed of them."""
