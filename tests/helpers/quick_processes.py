"""Processes that start fast, forked from a server that has imported the base classes of all metrics."""

import multiprocessing


def quick_context():
    """Return a forkserver context. The first process takes a second to start, the others almost no time."""
    multiprocessing.set_forkserver_preload(["vlgauge.families.base"])
    return multiprocessing.get_context("forkserver")
