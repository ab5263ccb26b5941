"""The vectors about dynamic resources."""
