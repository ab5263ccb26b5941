"""What the server writes and shows of itself: its objects, its health, its version."""
