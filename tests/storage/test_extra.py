"""Plain data beside a model: stored, checked, given back."""

import tracemalloc

import numpy as np
import pytest

from altered_files import changed
from banklearn import ModelFileError, load_model
from banklearn.storage.extra import MAX_BYTES, MAX_DEPTH, MAX_LISTS, pack_extra, unpack_extra
from fitted import one_input


def test_it_comes_back_as_it_was(tmp_path):
    extra = {"plan": {"columns": [{"name": "Größe", "fill": 1.5, "on": True}]}, "none": None}
    one_input().model.save(tmp_path / "m.bank", extra=extra)
    model = load_model(tmp_path / "m.bank")
    assert model.extra_ == extra
    model.save(tmp_path / "again.bank")
    assert load_model(tmp_path / "again.bank").extra_ == extra


def test_a_model_without_it_has_none(tmp_path):
    one_input().model.save(tmp_path / "m.bank")
    assert not hasattr(load_model(tmp_path / "m.bank"), "extra_")


@pytest.mark.parametrize("value", [float("nan"), np.zeros(2), {1, 2}, object()])
def test_what_json_cannot_hold_is_refused(value, tmp_path):
    with pytest.raises(ModelFileError, match="plain data"):
        one_input().model.save(tmp_path / "m.bank", extra={"value": value})
    assert not (tmp_path / "m.bank").exists()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[1]",
        b"{",
        b"\xff",
        b'{"a": NaN}',
        b'{"a": 1e999}',
        b'{"a":' * 40 + b"1" + b"}" * 40,
        b"[" * 100_000,
        b'{"a":[' + b"[]," * MAX_LISTS + b"0]}",
        b'{"a":"' + b"x" * MAX_BYTES + b'"}',
    ],
)
def test_bytes_that_are_no_plain_object_are_refused(data):
    with pytest.raises(ValueError, match="extra"):
        unpack_extra(np.frombuffer(data, dtype=np.uint8))


def test_what_is_packed_can_be_unpacked():
    nested: dict = {"leaf": 1}
    for _ in range(MAX_DEPTH - 1):
        nested = {"inner": nested}
    assert unpack_extra(pack_extra(nested)) == nested
    with pytest.raises(ValueError, match="nested"):
        pack_extra({"inner": nested})


@pytest.mark.parametrize("item", ['{"":0},', "[[]],", '{"":{}},', '"\N{SNOWMAN}",'])
def test_the_largest_that_can_be_stored_takes_little_memory(item, tmp_path):
    one_input().model.save(tmp_path / "m.bank", extra={"a": 1})
    lists = max(item.count("{") + item.count("["), 1)
    many = item * min((MAX_LISTS - 2) // lists, MAX_BYTES // len(item.encode()) - 8)
    rest = '"\N{SNOWMAN}",' * ((MAX_BYTES - len(many.encode()) - 20) // 6)
    data = np.frombuffer(f'{{"a":[{many}{rest}0]}}'.encode(), dtype=np.uint8)
    assert MAX_BYTES - 20 < len(data) <= MAX_BYTES
    changed(
        tmp_path / "m.bank", tmp_path / "wide.bank", lambda m, arrays: arrays.update(extra=data)
    )
    tracemalloc.start()
    assert len(load_model(tmp_path / "wide.bank").extra_["a"]) > 20_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 48 << 20


def test_too_much_is_refused_before_it_is_read(tmp_path):
    one_input().model.save(tmp_path / "m.bank")
    data = np.zeros(8 * MAX_BYTES, dtype=np.uint8)
    changed(
        tmp_path / "m.bank", tmp_path / "wide.bank", lambda m, arrays: arrays.update(extra=data)
    )
    tracemalloc.start()
    with pytest.raises(ModelFileError, match=f"extra has {8 * MAX_BYTES} bytes"):
        load_model(tmp_path / "wide.bank")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * MAX_BYTES  # the checksum is computed over pieces of 1 MiB


def test_it_is_parsed_once(tmp_path, monkeypatch):
    from banklearn.storage import extra

    one_input().model.save(tmp_path / "m.bank", extra={"a": 1})
    seen = []
    monkeypatch.setattr(extra.json, "loads", _counting(extra.json.loads, '{"a":1}', seen))
    load_model(tmp_path / "m.bank")
    assert len(seen) == 1


def _counting(call, text, seen):
    def count(data, *args, **options):
        if data == text:
            seen.append(data)
        return call(data, *args, **options)

    return count
