"""Gallery images of the figures that `vlgauge` returns, which are not registered with pyplot."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure
from matplotlib.pyplot import get_fignums
from sphinx_gallery.scrapers import figure_rst


def returned_figure(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the figure that the last expression of a block returned, so that the page has a thumbnail."""
    figure = block_vars["example_globals"].get("___")
    if not isinstance(figure, Figure) or get_fignums():
        return ""
    path = next(block_vars["image_path_iterator"])
    figure.savefig(path, dpi=110)
    return figure_rst([path], gallery_conf["src_dir"])
