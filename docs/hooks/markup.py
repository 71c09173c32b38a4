"""What a page's HTML is mended for: drawings that follow its colours, and tables that can be read aloud.

A drawing becomes part of the page, so that it follows the page's light and dark and its words can be found; on the
repository's host the same file is shown as a picture, and follows the reader's system.
"""

import html
import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

DOCS = Path(__file__).parents[1]
_PICTURE = re.compile(r'<img alt="(?P<alt>[^"]+)" src="(?P<src>[^":]*drawings/[\w-]+\.svg)"\s*/?>')
_EMPTY = re.compile(r"<th(?P<how>[^>]*)></th>")
_CELL = re.compile(r"<td[^>]*>.*?</td>", re.S)


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Put each drawing where its picture is, make no head of one that says nothing, and mend cells."""

    def drawn(picture: re.Match[str]) -> str:
        place = posixpath.normpath(posixpath.join(posixpath.dirname(page.file.dest_uri), picture["src"]))
        drawing = (DOCS / place).read_text(encoding="utf-8").strip()
        told = html.escape(html.unescape(picture["alt"]))
        drawing = drawing.replace("<svg ", f'<svg role="img" aria-label="{told}" ', 1)
        return f'<span class="scrolled" role="group" aria-label="Drawing" tabindex="0">{drawing}</span>'

    content = _EMPTY.sub(r"<td\g<how>></td>", _PICTURE.sub(drawn, content))
    return _CELL.sub(lambda cell: _cell(cell[0]), content)


def _cell(cell: str) -> str:
    # In code a bar is written `\|`, as the repository's host wants it; here the backslash would show.
    return cell.replace("\\|", "|").replace(" ± ", "\u00a0±\u00a0")
