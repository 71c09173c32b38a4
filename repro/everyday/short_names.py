"""How many shortened names that a person listed as aliases in `everyday` are found without the list, and what else is.

python repro/everyday/short_names.py
"""

from collections import Counter

from check import read

from tabsa.errors import DataError
from tabsa.schema import Span
from tabsa.text.targets import TargetFinder


def mentions(text: str, names: dict[str, list[str]]) -> dict[str, set[Span]]:
    """Where each name is mentioned."""
    return {target.name: set(target.mentions) for target in TargetFinder(names).find(text)}


def main() -> None:
    """Count listed ones that are found and missed, and finds that nobody listed."""
    counts: Counter[str] = Counter()
    for row in [*read("train"), *read("dev"), *read("dev-new")]:
        given = [name if isinstance(name, dict) else {"name": name} for name in row["targets"] if name]
        names = {one["name"]: one.get("aliases") or [] for one in given}
        try:
            listed, plain = mentions(row["text"], names), mentions(row["text"], {name: [] for name in names})
        except DataError:  # an alias of two targets
            continue
        for name, aliases in names.items():
            full = len(name)
            wanted = {
                span for span in listed.get(name, set())
                if row["text"][slice(*span)].lower() in {alias.lower() for alias in aliases}
            }  # fmt: skip
            found = {span for span in plain.get(name, set()) if span.end - span.start < full}
            overlap = {one for one in found if any(one.start < two.end and two.start < one.end for two in wanted)}
            counts["found"] += sum(any(a.start < b.end and b.start < a.end for a in found) for b in wanted)
            counts["listed"] += len(wanted)
            counts["not listed"] += len(found - overlap)
    print(dict(counts))


if __name__ == "__main__":
    main()
