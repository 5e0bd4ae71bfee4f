"""What Gradio leaves behind, so that no test is told of it."""

import gc
import warnings
from contextlib import contextmanager


@contextmanager
def loops_of_gradio_left_open():
    """Gradio leaves event loops for the garbage collector, which warns of them wherever it happens to run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            gc.collect()


def close_at_once(page):
    """End the server of a page, which else waits five seconds for visitors who hold a connection."""
    page.server.force_exit = True
    with loops_of_gradio_left_open():
        page.close(verbose=False)
