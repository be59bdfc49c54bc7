"""Named experiments, each a folder: its settings as data, what is made of the results, and the pages and figures.

An experiment describes its runs as keys and hands them to :mod:`noregret.runs`; nothing here loops over episodes.
"""
