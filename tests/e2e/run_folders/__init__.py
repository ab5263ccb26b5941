"""A run folder that an earlier version of podwright wrote, and the texts that changed since.

`format-1.tar.xz` is the folder of `play` in format 1. `texts.tsv` has a line for each text or tag
that users, run folders or logs can see and that was renamed after it: old and new, separated by a
tab. Upper-case words and words in angle brackets stand for values.
"""
