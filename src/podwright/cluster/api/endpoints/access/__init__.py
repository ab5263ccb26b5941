"""Who sends a request, and what it may do: tokens, headers, reviews, authorization."""
