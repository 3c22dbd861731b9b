"""A module holds one idea, so it is short."""

from pathlib import Path

LIMIT = 400


def too_long(lengths: dict[str, int]) -> list[str]:
    """One sentence for each module over the limit."""
    return [
        f"{name} has {lines} lines, the limit is {LIMIT}: it probably holds two ideas"
        for name, lines in sorted(lengths.items())
        if lines > LIMIT
    ]


def test_no_module_is_too_long(repository: Path) -> None:
    root = repository / "src"
    lengths = {
        str(path.relative_to(root)): len(path.read_text(encoding="utf-8").splitlines())
        for path in root.rglob("*.py")
    }
    assert lengths, f"no Python files were found under {root}"
    assert not (found := too_long(lengths)), "\n".join(found)


def test_a_long_module_is_found() -> None:
    assert len(too_long({"short.py": LIMIT, "long.py": LIMIT + 1})) == 1
