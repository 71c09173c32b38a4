"""Pages of the repository that lie outside docs/ become pages of the site, and links between both keep working.

A page is written with links that work on the repository's host: `../repro/README.md`. In the site that page is at
`repository/repro/README.md`, so links that leave docs/ are turned to where their file is. A file that the site does not
have is linked on the repository's host where `repo_url` is set, and is plain text otherwise.
"""

import posixpath
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit
from xml.etree.ElementTree import Element

from markdown import Extension, Markdown
from markdown.treeprocessors import Treeprocessor
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
INSIDE, OUTSIDE = "docs/", "repository/"  # a folder of the repository, and one of the site
PAGES = (
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "benchmarks/README.md",
    "repro/README.md",
    "repro/log.md",
    "repro/everyday/README.md",
    "repro/everyday/GUIDELINE.md",
    "repro/evidence/README.md",
    "repro/reader/README.md",
    "src/tabsa/datasets/files/README.md",
    "src/tabsa/pretrained/places/README.md",
    "src/tabsa/pretrained/reader/README.md",
)
_PICTURE = re.compile(r"!\[[^\]]*\]\(([^)\s]+)\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages, and the pictures that they show."""
    for path in PAGES:
        text = (ROOT / path).read_text(encoding="utf-8")
        pictures = {
            posixpath.normpath(posixpath.join(posixpath.dirname(path), link)) for link in _PICTURE.findall(text)
        }
        for name in (path, *sorted(picture for picture in pictures if not picture.startswith(INSIDE))):
            if (ROOT / name).is_file():
                files.append(File.generated(config, OUTSIDE + name, abs_src_path=str(ROOT / name)))
    return files


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Have links turned while a page is made."""
    _links.repository = config.repo_url or ""
    config.markdown_extensions.append(_links)
    return config


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Say which page comes next."""
    _links.page, _links.files = page.file.src_uri, files
    return markdown


class _Links(Extension):
    page = ""
    repository = ""
    files: Files

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        # After links have been made of the text (20), before MkDocs looks at where they lead (0).
        md.treeprocessors.register(_Turn(self), "repository", 10)

    def turned(self, link: str) -> str | None:
        """Where a link of this page leads in the site; None where the site does not have it."""
        parts = urlsplit(link)
        if parts.scheme or parts.netloc or not parts.path or parts.path.startswith("/"):
            return link
        here = self.page.removeprefix(OUTSIDE) if self.page.startswith(OUTSIDE) else INSIDE + self.page
        path = posixpath.normpath(posixpath.join(posixpath.dirname(here), unquote(parts.path)))
        place = path.removeprefix(INSIDE) if path.startswith(INSIDE) else OUTSIDE + path
        fragment = f"#{parts.fragment}" if parts.fragment else ""
        for uri in (place, f"{place}/README.md", f"{place}/index.md"):
            if self.files.get_file_from_path(uri) is not None:
                return posixpath.relpath(uri, posixpath.dirname(self.page) or ".") + fragment
        if not (ROOT / path).exists():
            return link  # MkDocs says that it leads nowhere
        return f"{self.repository.rstrip('/')}/blob/main/{path}{fragment}" if self.repository else None


class _Turn(Treeprocessor):
    def __init__(self, links: _Links) -> None:
        super().__init__()
        self.links = links

    def run(self, root: Element) -> None:
        for element in root.iter():
            name = {"a": "href", "img": "src"}.get(element.tag)
            link = element.get(name) if name else None
            if name is None or not link:
                continue
            turned = self.links.turned(link)
            if turned is None:
                element.tag = "span"
                del element.attrib[name]
            else:
                element.set(name, turned)


_links = _Links()
