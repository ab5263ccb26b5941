"""The commands and their options: a module each, imported when it is called."""
