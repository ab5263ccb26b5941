"""What the server does for single kinds: versions, allocation, expressions, subresources."""
