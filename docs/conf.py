"""How Sphinx builds the site: `make docs`, and docs/_build/html/index.html opens offline."""

import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

import twohot  # noqa: E402

project = "twohot"
author = "The twohot developers"
project_copyright = author
version = release = twohot.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "command_reference",
    "field_comments",
    "llms_txt",
    "returned_by",
]
exclude_patterns = ["_build", "_templates", "examples", "reproduction/preface.md"]
templates_path = ["_templates"]
highlight_language = "none"  # blocks without a language are commands and what they print
nitpicky = True
default_role = "py:obj"  # `name` in a docstring is code, and a link where it is a name of ours
toc_object_entries_show_parents = "hide"
# Types are written for readers ("array of shape (n, k)"), and linked where they are names of ours.
nitpick_ignore_regex = [("py:obj", ".*"), ("py:.*", r"(?!twohot\.).*")]

# Markdown. Anchors are those of the code host, where the same files are read.
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4

# The reference: what `__all__` names, from docstrings.
autosummary_generate = True
autosummary_ignore_module_all = False
autosummary_imported_members = True
# Beside Forecast and Shrinkage: some disks take such names for one.
autosummary_filename_map = {
    "twohot.forecast": "twohot.forecast_function",
    "twohot.theory.shrinkage": "twohot.theory.shrinkage_function",
}
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False

# Tutorials: scripts that are run whenever the site is built.
sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "tutorials",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "write_computation_times": False,  # a page that would fetch scripts from the network
    "backreferences_dir": "reference/used_in",
    "doc_module": ("twohot",),
    "image_srcset": ["2x"],
}

html_theme = "pydata_sphinx_theme"
html_title = "twohot"
html_baseurl = "https://twohot.readthedocs.io/en/stable/"  # of links in llms.txt
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_show_search_summary = False  # it would be fetched, which browsers refuse to files
html_context = {"default_mode": "auto"}
html_theme_options = {
    "show_prev_next": True,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": []}


def trim_examples(_app, _name, source):
    """Remove the blank line at the end of examples, which only doctest needs."""
    source[0] = re.sub(r"\n\n```(?=\n|$)", "\n```", source[0])


def setup(app):
    """Connect the function above."""
    app.connect("source-read", trim_examples)
