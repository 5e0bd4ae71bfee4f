"""Configuration of the site, which is built from cards, docstrings, examples and the pages in this folder."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE / "extensions"), str(ROOT / "scripts")]

# Nothing is fetched while the site is built; the examples run under the embedded profile.
os.environ.update({"HF_HUB_OFFLINE": "1", "HF_EVALUATE_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"})
# The pages state which scores are from a demo model.
DEMO_WARNINGS = "the demo CLIP of the embedded profile", "the demo sentence-order model of the embedded profile"
for text in DEMO_WARNINGS:
    warnings.filterwarnings("ignore", message=text)
os.environ["PYTHONWARNINGS"] = ",".join(f"ignore:{text}" for text in DEMO_WARNINGS)

import vlgauge  # noqa: E402

project = "vlgauge"
author = "The vlgauge maintainers"
project_copyright = "2026, the vlgauge maintainers; Apache-2.0"
release = version = vlgauge.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "myst_nb",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "metric_pages",
    "metric_reference",
    "mathml",
]
included = [f"metrics/{name}.md" for name in ("constants_*", "files", "reading", "settings", "table")]
exclude_patterns = ["extensions", "_build", "gallery/*.ipynb", "**/README.md", *included]

# -- pages ------------------------------------------------------------------------------------------------------------
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
html_math_renderer = "mathml"
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True
# Warnings contain paths of the machine that builds the site. The text of the pages covers them.
nb_output_stderr = "remove"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# -- reference --------------------------------------------------------------------------------------------------------
default_role = "py:obj"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_mock_imports = ["gradio", "ray"]
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100

# -- gallery ----------------------------------------------------------------------------------------------------------
sphinx_gallery_conf = {
    "examples_dirs": str(ROOT / "examples" / "gallery"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 1e9,
    "abort_on_example_error": True,
    "nested_sections": False,
    "capture_repr": ("_repr_html_", "__repr__"),
    "image_scrapers": ("matplotlib", "figures.returned_figure"),
    "ignore_repr_types": r"vlgauge\.api\.figures",  # saved as images
    "matplotlib_animations": False,
    "show_signature": False,
    "write_computation_times": False,
}

# -- look -------------------------------------------------------------------------------------------------------------
html_theme = "pydata_sphinx_theme"
html_title = f"vlgauge {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_sidebars = {"start": []}  # pages without pages below them
html_copy_source = False
html_theme_options = {
    "github_url": "https://github.com/vlgauge/vlgauge",
    "navbar_align": "left",
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
