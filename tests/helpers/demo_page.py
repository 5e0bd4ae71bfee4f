"""Parser of the page of the demo."""

import re
from html.parser import HTMLParser


class Elements(HTMLParser):
    """Start tags with attributes, the text, and the tags that were not closed or closed in the wrong order."""

    def __init__(self, page):
        super().__init__()
        self.found = []
        self.text = ""
        self.unclosed = []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        if tag not in ("meta", "img", "br", "link", "input"):
            self.unclosed.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        if self.unclosed and self.unclosed[-1] == tag:
            self.unclosed.pop()
        else:
            self.unclosed.append(f"/{tag}")

    def handle_data(self, data):
        self.text += data


def articles(page):
    """Return the part of the page about each example, keyed by metric and id."""
    found = {}
    for section in re.findall(r'<section id="(\w+)"(.*?)</section>', page, re.DOTALL):
        for article in re.findall(r"<article.*?</article>", section[1], re.DOTALL):
            found[section[0], re.search(r"<h4>(.*?)</h4>", article)[1]] = article
    return found


def table_rows(page, metric):
    """Return the cells of a metric's table of kinds, keyed by kind."""
    table = re.search(rf'<section id="{metric}".*?<tbody>(.*?)</tbody>', page, re.DOTALL)[1]
    rows = re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)
    return {cells[0]: cells[1:] for cells in (re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows)}
