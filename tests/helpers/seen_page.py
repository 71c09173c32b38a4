"""A page as a browser would see it."""

from html.parser import HTMLParser

VOID = {"meta", "br", "hr", "img", "link", "input"}


class Page(HTMLParser):
    """What a browser would see: elements, checked for nesting, and the text of each."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[tuple[str, dict, list[str]]] = []
        self.elements: list[tuple[str, dict, str]] = []
        self.feed(source)
        self.close()
        assert not self.open, "elements are left open"

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append((tag, dict(attrs), []))
        else:
            self.elements.append((tag, dict(attrs), ""))

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        name, attributes, pieces = self.open.pop()
        assert name == tag, f"{tag} closes {name}"
        self.elements.append((name, attributes, "".join(pieces)))

    def handle_data(self, data):
        for _, _, pieces in self.open:
            pieces.append(data)

    def all(self, tag: str, **attributes: str) -> list[tuple[dict, str]]:
        found = [(a, text) for name, a, text in self.elements if name == tag]
        return [(a, t) for a, t in found if all(a.get(k.rstrip("_")) == v for k, v in attributes.items())]
