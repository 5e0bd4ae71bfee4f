"""Workers of the sandbox without a task."""

from vlgauge.inputs.sandbox import workers


def stop_idle():
    """End the workers without a task, so that the next task starts a new one."""
    with workers._guard:
        ended, workers._free[:] = workers._free[:], []
    for worker in ended:
        worker.end()
