"""Imports inside the package point one way."""

import ast
from pathlib import Path

import pytest

PACKAGE = "banklearn"

# What each layer may import from the package, besides itself. Layers that are not listed
# (estimators, experiments, the command line) stand on top and may import any of these.
ALLOWED: dict[str, set[str]] = {
    "numerics": set(),
    "sources": {"numerics", "tables"},
    "model": {"numerics"},
    "gram": {"model", "numerics"},
    "engines": {"gram", "model", "numerics"},
    "likelihoods": {"engines", "gram", "model", "numerics"},
    "sampler": {"engines", "gram", "likelihoods", "model", "numerics"},
    "posterior": {"gram", "likelihoods", "model", "numerics", "sampler"},
    "storage": {"gram", "model", "numerics", "posterior", "sampler"},
    "viz": {"model", "numerics", "posterior"},
    "report": {"model", "numerics", "posterior", "viz"},  # draws its figures with viz
    "bridges": {"model", "numerics", "posterior"},
    "tables": set(),  # files and columns; what is learned from them is somebody else's
}
EVERYWHERE = {"_version", "limits"}  # hold a string and a number, and import nothing


def imports(source: str, module: str, is_package: bool = False) -> set[str]:
    """Dotted names under the package that `source`, the text of `module`, imports.

    `from a import b` counts as `a.b`: whether b is a module or a name makes no difference to
    the layer, except at the root, where `banklearn.b` is then the layer b or a re-export.
    """
    parent = module.split(".") if is_package else module.split(".")[:-1]
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = parent[: len(parent) - node.level + 1] if node.level else []
            stem = ".".join([*base, *([node.module] if node.module else [])])
            found.update(f"{stem}.{alias.name}" for alias in node.names)
    return {name for name in found if name == PACKAGE or name.startswith(f"{PACKAGE}.")}


def violations(source: str, module: str, is_package: bool = False) -> list[str]:
    """One sentence for each import of `module` that its layer may not make."""
    layer = module.split(".")[1] if "." in module else ""
    if layer not in ALLOWED:
        return []
    permitted = ALLOWED[layer] | EVERYWHERE | {layer}
    return [
        f"{module} imports {name}; the layer {layer!r} may import only {sorted(permitted)}"
        for name in sorted(imports(source, module, is_package))
        if name == PACKAGE or name.split(".")[1] not in permitted
    ]


def test_imports_point_one_way(repository: Path) -> None:
    root = repository / "src"
    found = []
    for path in sorted((root / PACKAGE).rglob("*.py")):
        is_package = path.name == "__init__.py"
        parts = path.relative_to(root).with_suffix("").parts
        module = ".".join(parts[:-1] if is_package else parts)
        found += violations(path.read_text(encoding="utf-8"), module, is_package)
    assert not found, "\n".join(found)


def test_the_table_has_no_cycle() -> None:
    remaining = {layer: set(allowed) for layer, allowed in ALLOWED.items()}
    while remaining:
        free = {layer for layer, allowed in remaining.items() if not allowed & remaining.keys()}
        assert free, f"these layers may import each other in a circle: {sorted(remaining)}"
        for layer in free:
            del remaining[layer]


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("banklearn.numerics", "import banklearn.model"),
        ("banklearn.model.niw", "from banklearn.gram import block"),
        ("banklearn.model.niw", "from ..sampler import sweep"),
        ("banklearn.model.niw", "from .. import sampler"),
        ("banklearn.gram", "from .engines.memory import Memory"),
        ("banklearn.engines.memory", "def late():\n    import banklearn.sampler.run as run"),
        ("banklearn.likelihoods.gaussian", "from banklearn.sampler.weights import update"),
        ("banklearn.sampler.sweep", "from banklearn import estimators"),
        ("banklearn.sampler.sweep", "import banklearn"),
        ("banklearn.posterior.predict", "from banklearn import BankRegressor"),
        ("banklearn.viz.kernel", "from ..sampler.run import run"),
        ("banklearn.viz.kernel", "try:\n    from ..engines import memory\nexcept ImportError: ..."),
        ("banklearn.storage.model_file", "from banklearn.estimators.base import BankBase"),
        ("banklearn.report", "from .estimators.regressor import BankRegressor"),
    ],
)
def test_a_planted_import_is_found(module: str, source: str) -> None:
    assert len(violations(source, module)) == 1


def test_a_planted_import_in_a_package_file_is_found() -> None:
    assert violations("from ..gram import block", "banklearn.model", is_package=True)
    assert not violations("from .niw import NIW", "banklearn.model", is_package=True)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("banklearn.model.joint", "import numpy as np\nfrom .niw import log_density"),
        ("banklearn.model.joint", "from ..numerics import cholesky\nfrom . import niw"),
        ("banklearn.gram", "from banklearn.model.features import features"),
        ("banklearn.sampler.sweep", "from banklearn.likelihoods import gaussian"),
        ("banklearn.posterior.draws", "from .._version import __version__"),
        ("banklearn.viz.kernel", "from banklearn.posterior.kernel import kernel"),
        ("banklearn.estimators.regressor", "from banklearn.sampler.run import run"),
        ("banklearn", "from banklearn.estimators.regressor import BankRegressor"),
    ],
)
def test_a_permitted_import_is_left_alone(module: str, source: str) -> None:
    assert violations(source, module) == []
