"""What `up`, `page`, `clock` and `debug` do."""
