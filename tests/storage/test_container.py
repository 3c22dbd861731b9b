"""The container: whatever a header says, arrays are read from where they can be or not at all."""

import hashlib
import json
import os
import struct
from dataclasses import dataclass

import numpy as np
import pytest

from banklearn.storage import container
from banklearn.storage.errors import ModelFileError
from banklearn.storage.tree import decode, encode


def crafted(path, header, data=b""):
    """A file with any header and a right checksum."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    body = struct.pack("<8sQQ", container.MAGIC, container.VERSION, len(text)) + text
    body += bytes(-len(body) % container.ALIGN) + data
    path.write_bytes(body + hashlib.sha256(body).digest())
    return path


def table(*rows):
    return {"kind": "test", "meta": {}, "arrays": list(rows)}


def read(path):
    with container.opened(path, ModelFileError) as file:
        return file.read_all()


def test_a_header_that_is_right(tmp_path):
    data = np.arange(8.0).tobytes() + bytes([1, 0]).ljust(64, b"\0")
    path = crafted(tmp_path / "f", table(["x", "f8", [2, 4]], ["flags", "b1", [2]]), data)
    found = read(path)
    np.testing.assert_array_equal(found["x"], np.arange(8.0).reshape(2, 4))
    assert found["flags"].tolist() == [True, False]


BYTES = bytes(64)
WRONG = {
    "no JSON": (b'{"kind"', "header cannot be read"),
    "no ASCII": ('{"kind":"ü","meta":{},"arrays":[]}'.encode(), "header cannot be read"),
    "no number": (b'{"kind":"k","meta":{"a":NaN},"arrays":[]}', "NaN is not a number"),
    "a name twice": (b'{"kind":"k","kind":"k","meta":{},"arrays":[]}', "a name occurs twice"),
    "deep nesting": (b"[" * 200_000, "header cannot be read"),
    "a list": ([], "does not hold kind, meta and arrays"),
    "one key more": ({**table(), "more": 1}, "does not hold kind, meta and arrays"),
    "a kind that is no text": ({**table(), "kind": 3}, "of the wrong type"),
    "meta that is no table": ({**table(), "meta": []}, "of the wrong type"),
    "arrays that are no list": ({**table(), "arrays": {}}, "not a list, or too long"),
    "many arrays": (table(*([f"a{i}", "f8", [0]] for i in range(4097))), "not a list, or too long"),
    "a row of two": (table(["x", "f8"]), "not name, dtype and shape"),
    "an empty name": (table(["", "f8", [8]]), "empty, too long or there twice"),
    "a long name": (table(["x" * 129, "f8", [8]]), "empty, too long or there twice"),
    "the same name twice": (table(["x", "f8", [0]], ["x", "f8", [8]]), "there twice"),
    "objects": (table(["x", "O8", [8]]), "'x' has an unknown dtype"),
    "a dtype that is no text": (table(["x", ["f8"], [8]]), "'x' has an unknown dtype"),
    "a shape that is a number": (table(["x", "f8", 8]), "not a short list"),
    "nine dimensions": (table(["x", "f8", [1] * 9]), "not a short list"),
    "a negative length": (table(["x", "f8", [-8]]), "impossible shape"),
    "a truth value as length": (table(["x", "f8", [True, 8]]), "impossible shape"),
    "a length beside a zero": (table(["x", "f8", [0, 10**12]]), "impossible shape"),
    "an array beyond the end": (table(["x", "f8", [9]]), "reach beyond the end"),
    "a second one beyond it": (table(["x", "f8", [8]], ["z", "u1", [1]]), "reach beyond the end"),
    "bytes of no array": (table(["x", "f8", [0]]), "do not fill the file"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_header_that_is_wrong_is_refused(name, tmp_path):
    header, words = WRONG[name]
    with pytest.raises(ModelFileError, match=f"f: .*{words}"):
        read(crafted(tmp_path / "f", header, BYTES))


def test_truth_values_are_0_or_1(tmp_path):
    path = crafted(tmp_path / "f", table(["flags", "b1", [3]]), bytes([1, 2, 0]).ljust(64, b"\0"))
    with pytest.raises(ModelFileError, match="the truth values 'flags' are not all 0 or 1"):
        read(path)


def test_a_file_that_becomes_shorter_is_noticed(tmp_path):
    path = tmp_path / "f"
    container.write(path, "test", {}, {"x": np.arange(1e5)})
    size = path.stat().st_size
    with container.opened(path, ModelFileError) as file:
        os.truncate(path, size // 2)
        with pytest.raises(ModelFileError, match="became shorter while it was read"):
            file.read("x")
    with path.open("rb") as file, pytest.raises(ModelFileError, match="became shorter"):
        container.Reader(file, size, "f", ModelFileError)


def test_what_could_not_be_read_is_not_written(tmp_path):
    many = {f"a{i}": np.zeros(0) for i in range(4097)}
    with pytest.raises(ValueError, match="for 4097 arrays; at most"):
        container.write(tmp_path / "f", "test", {}, many)
    with pytest.raises(ValueError, match="The header of f would take"):
        container.write(tmp_path / "f", "test", {"long": "x" * container.MAX_HEADER}, {})
    with pytest.raises(TypeError, match="An array of dtype object cannot be stored"):
        container.write(tmp_path / "f", "test", {}, {"x": np.array([None])})
    assert not list(tmp_path.iterdir())


@dataclass
class Point:
    x: float
    label: str | None
    path: np.ndarray
    extra: None = None


def test_records_of_any_numbers_come_back():
    arrays = {}
    rows = [Point(np.float32(1.5), "a", np.arange(3)), Point(-np.inf, None, np.arange(2))]
    tree = json.loads(
        json.dumps(encode({"all": rows, "low": -np.inf, "n": np.int16(3)}, "t", arrays))
    )
    assert tree["fields"]["low"] == {"float": "-inf"}
    assert tree["fields"]["n"] == 3
    found = decode(list[Point], tree["fields"]["all"], arrays)
    assert [(p.x, p.label, p.extra) for p in found] == [(1.5, "a", None), (-np.inf, None, None)]
    assert [p.path.tolist() for p in found] == [[0, 1, 2], [0, 1]]
    assert decode(float, tree["fields"]["low"], arrays) == -np.inf
    arrays["t/all/path/lengths"] = np.array([4, 2])
    with pytest.raises(ValueError, match="joined arrays of other lengths"):
        decode(list[Point], tree["fields"]["all"], arrays)
