"""The far end of test_distributed.py: a process that plays one rank after another."""

import time

from vlgauge.core.lean_imports import lean_import


def serve(connection):
    """Process jobs `(folder, settings, rounds, delay)` until None arrives, and send one result or error per round."""
    evaluate = lean_import("evaluate")
    connection.send("ready")
    while (job := connection.recv()) is not None:
        folder, settings, rounds, delay = job
        metric = evaluate.load(folder, **settings)
        connection.send([outcome(metric, batches, delay) for batches in rounds])
        del metric


def outcome(metric, batches, delay):
    """Return the result of one round, or the error that it raised."""
    time.sleep(delay)
    try:
        for batch in batches[:-1]:
            metric.add_batch(**batch)
        return metric.compute(**(batches[-1] if batches else {}))
    except Exception as error:
        return error
