"""Thousands of damaged, altered and invented model files: each refused, or harmless.

    python benchmarks/fuzz_model_file.py --cases 20000

A case is a file made from a good one by damage (flipped bits, cuts, splices), or by an edit of its
header or its arrays with the checksum made right again, as an attacker would. Loading must raise
ModelFileError or give a model whose predictions hold no NaN, and which no later fit makes write to
a place that the file named. Counted besides: other exceptions, memory taken, and whatever Python's
audit hooks report that a reader of numbers has no business to do. A case that fails is written to
--corpus, where the tests find it.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import json
import struct
import sys
import tempfile
import time
import tracemalloc
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from banklearn import BankClassifier, BankRegressor, ModelFileError, load_model
from banklearn.storage.container import ALIGN, DIGEST, MAGIC
from banklearn.storage.extra import MAX_BYTES, MAX_LISTS

PREFIX = struct.Struct("<8sQQ")
#: Bytes beyond a few times the file's size that loading may take: a header and its objects.
ALLOWANCE = 64 << 20
SUSPICIOUS = (
    "compile", "exec", "import", "ctypes", "marshal.loads", "pickle.find_class", "os.", "shutil.",
    "socket.", "subprocess.Popen", "builtins.input", "code.__new__",
)  # fmt: skip
NASTY: list[Any] = [
    None, True, False, 0, -1, 1, 2, 2**31, 2**63 - 1, 2**63, 10**40, 1e308, -1e308, 1e-320, 0.5, "",
    "x", "../../etc/passwd", "BankRegressor", "none", "\u0000", "os.system('true')", [], {}, [[]],
    [1, 2], {"a": 1}, {"__class__": "os.system"}, "int64", "str", ["a"] * 50,
]  # fmt: skip
#: Items of a list in JSON that take many times their bytes in memory.
WIDE = ("[],", "{},", '{"":0},', "[[]],", '{"":{}},', '"\N{SNOWMAN}",', "0.5,")
#: Whatever an estimator can be told, one machine's matters (thrice: they must not get through) too.
PARAMETERS = [*sorted(BankClassifier().get_params()), *(3 * ["checkpoint"])]
VALUES = np.array(
    [np.nan, np.inf, -np.inf, -1.0, 0.0, 1e308, -1e308, 1e-320, 1e160, -1e-9, 1e101, 9e99, 1e18]
)


def make_models(folder: Path) -> list[bytes]:
    """Small good files: regression, two, three and four classes, both samplers, a stick and a tree.

    Names and labels are of all sorts.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((240, 3))  # so many that the regressor learns a law of errors
    X[:, 1] = 2.0
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(240)
    small: dict[str, Any] = {"n_warmup": 4, "n_draws": 2, "thin": 1, "random_state": 0}
    names = np.array(["red", "green", "blue"])[(X[:, 2] > 0.5).astype(int) + (X[:, 0] > 0)]
    models = [
        BankRegressor(4, input_scaling="arcsinh", trend="linear", **small).fit(X, y),
        BankClassifier(3, **small, inference="laplace-mh", class_weight={False: 1, True: 2}).fit(
            X, y > 0
        ),
        BankClassifier(3, **small).fit(X, names),
        # Two classes with one row each: a tree that is no stick.
        BankClassifier(3, **small).fit(X, np.r_[2, 3, np.arange(238) % 2]),
    ]
    models[0].feature_names_in_ = np.array(["one", "zwei", "três"], dtype=object)
    files = []
    for i, model in enumerate(models):
        model.save(folder / f"{i}.bank", extra={"note": [1.5, None, "ü"]} if i else None)
        files.append((folder / f"{i}.bank").read_bytes())
    return files


def take_apart(data: bytes) -> tuple[dict[str, Any], list[list[Any]]]:
    """Header, and rows [name, dtype, shape, values]."""
    length = PREFIX.unpack(data[: PREFIX.size])[2]
    header = json.loads(data[PREFIX.size : PREFIX.size + length])
    offset = PREFIX.size + length + -(PREFIX.size + length) % ALIGN
    rows = []
    for name, dtype, shape in header["arrays"]:
        a = np.frombuffer(data, dtype, int(np.prod(shape)), offset).reshape(shape).copy()
        offset += a.nbytes + -a.nbytes % ALIGN
        rows.append([name, dtype, list(shape), a])
    return header, rows


def put_together(header: Any, rows: list[list[Any]], table: bool = True) -> bytes:
    """A file with a right checksum, whatever else is wrong with it."""
    if table and isinstance(header, dict):
        header = header | {"arrays": [row[:3] for row in rows]}
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    out = PREFIX.pack(MAGIC, 1, len(text)) + text
    out += bytes(-len(out) % ALIGN)
    for row in rows:
        raw = row[3].tobytes()
        out += raw + bytes(-len(raw) % ALIGN)
    return out + hashlib.sha256(out).digest()


def damage(data: bytes, files: list[bytes], rng: np.random.Generator) -> bytes:
    """Without regard for the checksum."""
    raw = bytearray(data)
    kind = rng.integers(8)
    at = int(rng.integers(len(raw)))
    if kind == 0:
        for place in rng.integers(len(raw), size=rng.integers(1, 9)):
            raw[place] ^= 1 << int(rng.integers(8))
    elif kind == 1:
        del raw[at:]
    elif kind == 2:
        raw += rng.bytes(int(rng.integers(1, 200)))
    elif kind == 3:
        other = files[rng.integers(len(files))]
        raw[at:] = other[int(rng.integers(len(other))) :]
    elif kind == 4:
        raw[at : at + int(rng.integers(1, 300))] = bytes(int(rng.integers(1, 300)))
    elif kind == 5:
        number = [0, 2, 2**31, 2**63, 2**64 - 1, int(rng.integers(2**20))][rng.integers(6)]
        place = 8 * int(rng.integers(1, 3))
        raw[place : place + 8] = struct.pack("<Q", number)
    elif kind == 6:
        return bytes(rng.bytes(int(rng.integers(400))))
    else:
        return MAGIC[: int(rng.integers(9))] + rng.bytes(int(rng.integers(400)))
    return bytes(raw)


def right_again(data: bytes) -> bytes:
    """The same damage with the checksum made right."""
    return data[:-DIGEST] + hashlib.sha256(data[:-DIGEST]).digest()


def leaves(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths to all places of a tree."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    found = [path] if path else []
    for key, value in items:
        inner = isinstance(value, dict | list)
        found += leaves(value, (*path, key)) if inner else [(*path, key)]
    return found


def nasty(rng: np.random.Generator) -> Any:
    """A value of a type or size that nobody expects; a copy, since later edits may change it."""
    return copy.deepcopy(NASTY[rng.integers(len(NASTY))])


def edit_header(data: bytes, rng: np.random.Generator) -> bytes:
    """A right checksum over a header that lies."""
    header, rows = take_apart(data)
    kind = rng.integers(8)
    if kind == 0:
        depth = int(rng.integers(10, 40_000))
        nested = b'{"meta":' + b"[" * depth + b"]" * depth + b"}"
        bomb = [b"[" * depth, b'{"a":' * depth, nested, b"[" + b"[]," * (8 * depth) + b"0]"]
        return put_together(bomb[rng.integers(len(bomb))], rows)
    if kind == 1:
        text = json.dumps(header).encode()
        word = [b"NaN", b"Infinity", b"1e999", b"9" * 5000, b'"\\ud800"'][rng.integers(5)]
        place = int(rng.integers(len(text)))
        return put_together(text[:place] + word + text[place + len(word) :], rows)
    if kind == 7:
        name = PARAMETERS[rng.integers(len(PARAMETERS))]
        header["meta"]["parameters"][name] = nasty(rng)
        return put_together(header, rows)
    for _ in range(int(rng.integers(1, 3))):
        paths = leaves(header)
        *parents, last = paths[rng.integers(len(paths))]
        node = header
        for key in parents:
            node = node[key]
        if kind == 2:
            del node[last]
        elif kind == 3 and isinstance(node, dict):
            node[f"{last}{rng.integers(9)}"] = nasty(rng)
        else:
            node[last] = nasty(rng)
        if not leaves(header):
            break
    return put_together(header, rows, table=False)


def wide_extra(rng: np.random.Generator) -> bytes:
    """JSON of every size up to the limit and a little beyond, of what takes most memory."""
    kind = rng.integers(5)
    if kind < 2:
        return [b"[" * 5000, b'{"a":1e999}'][kind]
    size = int(rng.choice([1000, MAX_BYTES - 100, MAX_BYTES + 100]))
    item = WIDE[rng.integers(len(WIDE))].encode()
    lists = item.count(b"[") + item.count(b"{")
    # As many lists as may be, then texts: a file that is refused for its lists takes nothing.
    most = (MAX_LISTS - 2) // lists if lists and kind < 4 else size
    many = item * min(most, size // len(item))
    text = '"\N{SNOWMAN}",'.encode()
    return b'{"a":[' + many + text * ((size - len(many)) // len(text)) + b"0]}"


def edit_arrays(data: bytes, rng: np.random.Generator) -> bytes:
    """A right checksum and header over arrays that lie."""
    header, rows = take_apart(data)
    kind = rng.integers(8)
    row = rows[rng.integers(len(rows))]
    a = row[3]
    flat = a.reshape(-1)
    if kind <= 3 and a.size:
        for place in rng.integers(a.size, size=rng.integers(1, 4)):
            if row[1] == "f8":
                flat[place] = VALUES[rng.integers(len(VALUES))]
            elif row[1] == "i8":
                flat[place] = [-1, 0, 1, 2**62, -(2**63), 7][rng.integers(6)]
            else:
                flat.view(np.uint8)[place] = rng.integers(256)
    elif kind == 4 and rng.random() < 0.5:
        wide = np.frombuffer(wide_extra(rng), dtype=np.uint8)
        rows = [r for r in rows if r[0] != "extra"] + [["extra", "u1", [len(wide)], wide]]
    elif kind == 4:
        rows.remove(row)
    elif kind == 5:
        other = rows[rng.integers(len(rows))]
        row[3], other[3] = other[3], row[3]
        row[1:3], other[1:3] = other[1:3], row[1:3]
    elif kind == 6:
        row[2] = [
            [], [0], [1], [a.size], [2**62, 2**62], [2**40, 0], row[2][::-1], [*row[2], 1],
            [-1, *row[2]], [n + 1 for n in row[2]],
        ][rng.integers(10)]  # fmt: skip
    else:
        row[1] = ["f8", "i8", "u1", "b1", "f4", "O", "V8"][rng.integers(7)]
    return put_together(header, rows)


def make_case(files: list[bytes], rng: np.random.Generator) -> bytes:
    """One file."""
    data = files[rng.integers(len(files))]
    kind = rng.integers(5)
    if kind == 0:
        return damage(data, files, rng)
    if kind == 1:
        return right_again(damage(data, files, rng))
    if kind == 2:
        return edit_header(data, rng)
    return edit_arrays(data, rng)


class Watch:
    """Counts audit events while it is on; hooks cannot be taken away again."""

    def __init__(self) -> None:
        self.on, self.path, self.events = False, "", Counter[str]()
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.on:
            return
        if event == "open" and str(arguments[0]) != self.path:
            self.events[f"open {arguments[0]}"] += 1
        elif event.startswith(SUSPICIOUS):
            self.events[event] += 1


def predictions(model: Any) -> list[np.ndarray]:
    """What a user would ask of a loaded model."""
    X = np.random.default_rng(1).standard_normal((5, model.n_features_in_))
    parts = [model.kernel_(X)]
    if hasattr(model, "classes_"):
        model.predict(X)
        return [*parts, model.predict_proba(X), *model.predict_proba_interval(X)]
    return [*parts, *model.predict(X, return_std=True), *model.predict_interval(X)]


def try_case(data: bytes, path: Path, watch: Watch) -> tuple[str, int]:
    """Refused, loaded, or what went wrong; and the memory that loading took."""
    path.write_bytes(data)
    watch.path = str(path)
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    watch.on, seen = True, watch.events.total()
    try:
        model = load_model(path)
    except ModelFileError:
        outcome = "refused"
    except Exception as error:  # that is what is looked for
        outcome = f"crash in loading: {type(error).__name__}: {error}"
    else:
        outcome = "loaded"
    finally:
        watch.on = False
    memory = tracemalloc.get_traced_memory()[1] - before
    if memory > 8 * len(data) + ALLOWANCE:
        outcome = f"{memory} bytes of memory for a file of {len(data)}"
    if watch.events.total() > seen:
        outcome = f"suspicious: {dict(watch.events)}"
    if outcome == "loaded" and model.checkpoint is not None:
        outcome = "checkpoint taken from the file"
    if outcome == "loaded":
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # names of inputs; overflow to infinity
                if any(np.isnan(p).any() for p in predictions(model)):
                    outcome = "NaN in predictions"
        except Exception as error:
            outcome = f"crash in predicting: {type(error).__name__}: {error}"
    return outcome, memory


def fuzz(cases: int, seed: int, corpus: Path | None = None) -> tuple[Counter[str], int]:
    """Outcomes by kind, and the most memory that one load took."""
    outcomes: Counter[str] = Counter()
    most = 0
    rng = np.random.default_rng(seed)
    watch = Watch()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = make_models(folder)
        tracemalloc.start()
        for data in files:  # and whatever is imported on first use is there
            try_case(data, folder / "good.bank", watch)
        watch.events.clear()
        for data in files:
            outcome, _ = try_case(data, folder / "good.bank", watch)
            assert outcome == "loaded", outcome
        for i in range(cases):
            data = make_case(files, rng)
            outcome, memory = try_case(data, folder / "case.bank", watch)
            most = max(most, memory)
            outcomes[outcome] += 1
            if outcome not in ("refused", "loaded") and corpus is not None:
                corpus.mkdir(parents=True, exist_ok=True)
                (corpus / f"case-{seed}-{i}.bank").write_bytes(data)
        tracemalloc.stop()
    return outcomes, most


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--corpus", type=Path, default=Path("tests/storage/corpus"))
    parser.add_argument("--out", type=Path, help="outcomes and memory, as JSON")
    arguments = parser.parse_args()
    begin = time.monotonic()
    outcomes, most = fuzz(arguments.cases, arguments.seed, arguments.corpus)
    print(f"{arguments.cases} files in {time.monotonic() - begin:.0f} s, seed {arguments.seed}")
    for outcome, count in outcomes.most_common():
        print(f"{count:8d}  {outcome}")
    print(f"most memory for one file: {most / 2**20:.1f} MiB")
    if arguments.out:
        arguments.out.write_text(json.dumps({"outcomes": outcomes, "memory": most}))
    if set(outcomes) - {"refused", "loaded"}:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
