"""HTTP extenders: which are called, with what, and what their replies mean."""
