"""Test suites of other projects' clients, which expect an API server, on `podwright up --bare`."""
