"""Saved executables: what such a file holds, as data.

    container   the file: a header, a manifest, blobs; what of it is checked, and when
    codec       records as JSON, read back by their types; a closed set, nothing is evaluated
    records     what a saved executable consists of

`execute/` writes records of what it has compiled, `loaded/` makes programs of them. Everything here
is imported by a process that only loads, so it stands on `program` and `base` alone.
See docs/design/0060.
"""
