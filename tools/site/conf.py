"""Settings of Sphinx for the documentation site."""

from tools.version import version as project_version

project = "Holdfast"
author = "Holdfast contributors"
copyright = author
version = release = project_version()

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
myst_heading_anchors = 4
myst_enable_extensions = ["attrs_block"]
suppress_warnings = ["myst.header", "misc.highlighting_failure"]

html_theme = "furo"
html_title = "Holdfast"
html_show_sphinx = False
html_copy_source = False
html_theme_options: dict[str, list[str]] = {"top_of_page_buttons": []}
html_css_files = ["site.css"]
html_static_path = ["static"]
copybutton_prompt_text = "$ "

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_class_signature = "separated"
