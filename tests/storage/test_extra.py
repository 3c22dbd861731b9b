"""Plain data beside a model: stored, checked, given back."""

import numpy as np
import pytest

from banklearn import ModelFileError, load_model
from banklearn.storage.extra import MAX_DEPTH, pack_extra, unpack_extra
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
