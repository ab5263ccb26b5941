"""A run folder of an earlier version of podwright, and the texts that changed since.

`format-1.tar.xz` and `format-3.tar.xz` are the folder of `play` in these formats. `texts.tsv` has
one line for each text or tag in commands, run folders or logs that was renamed later: the old and
the new text, separated by a tab. Upper-case words and words in angle brackets are placeholders of
values.
"""
