"""Replies: representations, tables, errors, and the size of what is stored."""
