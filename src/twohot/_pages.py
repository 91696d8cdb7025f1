"""Templates of HTML pages, under one rule: text is escaped, and a name that is missing raises."""

import jinja2


def page_templates(package: str) -> jinja2.Environment:
    """Return the templates of a package, which are in its folder `templates`."""
    return jinja2.Environment(
        autoescape=True,
        loader=jinja2.PackageLoader(package),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
