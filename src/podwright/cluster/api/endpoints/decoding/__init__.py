"""Bodies of requests: from bytes to documents in Go's form, with the errors of Go's decoders."""
