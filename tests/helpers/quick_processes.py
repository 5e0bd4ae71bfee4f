"""Processes that start in no time: forked from one that has imported what all metrics derive from, and run nothing."""

import multiprocessing


def quick_context():
    """As `multiprocessing.get_context`; the first process takes a second, the others take none."""
    multiprocessing.set_forkserver_preload(["vlgauge.families.base"])
    return multiprocessing.get_context("forkserver")
