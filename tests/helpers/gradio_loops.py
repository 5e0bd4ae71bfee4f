"""Suppression of the warnings about event loops that Gradio leaves open."""

import gc
import warnings
from contextlib import contextmanager


@contextmanager
def loops_of_gradio_left_open():
    """Ignore the warnings about event loops that Gradio leaves to the garbage collector, which runs at any time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            gc.collect()


def collect_loops_of_gradio():
    """Collect the garbage, and ignore the warnings about event loops that Gradio left to it."""
    with loops_of_gradio_left_open():
        pass  # the garbage is collected at its end


def close_at_once(page):
    """Close the server of a page without waiting five seconds for clients with open connections."""
    page.server.force_exit = True
    with loops_of_gradio_left_open():
        page.close(verbose=False)
