"""The download path, against a server on this machine that speaks OpenML's protocol."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
import threading
import zipfile
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
import sklearn.datasets._openml as openml

from banklearn.datasets import ChecksumError, DatasetNotFoundError, load
from banklearn.datasets import names as names_module
from banklearn.datasets.download import open_member
from banklearn.datasets.names import SPECS, UCI, OpenML

TEMPLATES = ("_SEARCH_NAME", "_DATA_INFO", "_DATA_FEATURES", "_DATA_QUALITIES")


class Server:
    """Answers GET requests from a table of path -> bytes and counts them."""

    def __init__(self):
        self.pages, self.requests = {}, []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                server.requests.append(self.path)
                body = server.pages.get(self.path)
                self.send_response(200 if body is not None else 404)
                packed = gzip.compress(body or b"")
                self.send_header("Content-Encoding", "gzip") if "/api/" in self.path else None
                out = packed if "/api/" in self.path else body or b""
                self.send_header("Content-Length", str(len(out)))
                self.end_headers()
                self.wfile.write(out)

            def log_message(self, *args):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    def close(self):
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()

    def offer_openml(self, data_id, X, y, target_type="numeric", labels=(), checksum=None):
        """Put a data set with features x0, x1, ... and target t on the server."""
        names = [f"x{j}" for j in range(X.shape[1])]
        kind = f"{{{','.join(labels)}}}" if labels else "NUMERIC"
        lines = ["@RELATION test"]
        lines += [f"@ATTRIBUTE {name} NUMERIC" for name in names]
        lines += [f"@ATTRIBUTE t {kind}", "@DATA"]
        lines += [
            ",".join([*(repr(float(v)) for v in row), str(t)]) for row, t in zip(X, y, strict=True)
        ]
        arff = "\n".join(lines).encode()
        path = f"/data/v1/download/{data_id}/test.arff"
        features = [
            {
                "index": str(i),
                "name": name,
                "data_type": "nominal" if name == "t" and labels else "numeric",
                "is_target": "true" if name == "t" else "false",
                "is_ignore": "false",
                "is_row_identifier": "false",
                "number_of_missing_values": "0",
                **({"nominal_value": list(labels)} if name == "t" and labels else {}),
            }
            for i, name in enumerate([*names, "t"])
        ]
        description = {
            "id": str(data_id),
            "name": "test",
            "version": "1",
            "format": "ARFF",
            "status": "active",
            "description": "",
            "file_id": f"{data_id}",
            "url": self.url + path,
            "md5_checksum": checksum or hashlib.md5(arff).hexdigest(),
        }
        api = "/api/v1/json/data"
        self.pages |= {
            path: arff,
            path.removesuffix("/test.arff"): arff,  # where scikit-learn 1.6 asks for it
            f"{api}/{data_id}": json.dumps({"data_set_description": description}).encode(),
            f"{api}/features/{data_id}": json.dumps(
                {"data_features": {"feature": features}}
            ).encode(),
            f"{api}/qualities/{data_id}": json.dumps(
                {"data_qualities": {"quality": [{"name": "NumberOfInstances", "value": len(y)}]}}
            ).encode(),
        }


@pytest.fixture
def server(monkeypatch):
    server = Server()
    if hasattr(openml, "_OPENML_PREFIX"):
        monkeypatch.setattr(openml, "_OPENML_PREFIX", server.url + "/")
    for name in TEMPLATES:
        path = getattr(openml, name).split("openml.org/")[-1]
        if not hasattr(openml, "_OPENML_PREFIX"):
            monkeypatch.setattr(openml, name, f"{server.url}/{path}")
    yield server
    server.close()


@pytest.fixture
def small(monkeypatch):
    """Give a data set fewer rows, so that the server's file can be small."""

    def change(name, n_rows, **source):
        spec = SPECS[name]
        changed = replace(spec, n_rows=n_rows, source=replace(spec.source, **source))
        monkeypatch.setitem(names_module.SPECS, name, changed)

    return change


X = np.round(np.random.default_rng(0).standard_normal((6, 3)), 4)


def test_a_regression_set_comes_from_openml_once(server, small, tmp_path):
    small("concrete", 6)
    y = np.arange(6.0)
    server.offer_openml(44959, X, y)
    data = load("concrete", data_home=tmp_path)
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, y)
    assert data.feature_names == ("x0", "x1", "x2")
    assert data.task == "regression"
    asked = len(server.requests)
    assert asked >= 4
    again = load("concrete", data_home=tmp_path)
    np.testing.assert_array_equal(again.X, X)
    assert len(server.requests) == asked
    kept = sorted(path.name for path in tmp_path.iterdir())
    assert kept == ["concrete.parquet", "concrete.parquet.sha256"]


@pytest.mark.parametrize(
    ("name", "data_id", "labels", "y", "expected"),
    [
        ("pima", 37, ("tested_negative", "tested_positive"), "NPPNNP", [0, 1, 1, 0, 0, 1]),
        ("eeg", 1471, ("1", "2"), "121122", [0, 1, 0, 0, 1, 1]),
        ("skin", 1502, ("1", "2"), "121122", [1, 0, 1, 1, 0, 0]),
        ("space", 40685, tuple("1234567"), "124571", [0, 1, 1, 1, 1, 0]),
    ],
)
def test_labels_become_numbers(server, small, tmp_path, name, data_id, labels, y, expected):
    small(name, 6)
    words = {"N": "tested_negative", "P": "tested_positive"}
    server.offer_openml(data_id, X, [words.get(letter, letter) for letter in y], labels=labels)
    data = load(name, data_home=tmp_path)
    assert data.y.tolist() == expected
    assert data.y.dtype == np.int64
    if name == "space":
        seven = load("space7", data_home=tmp_path)
        assert seven.y.tolist() == [1, 2, 4, 5, 7, 1]
        assert seven.X.shape == (6, 3)


def test_a_file_with_the_wrong_md5_is_refused(server, small, tmp_path):
    small("concrete", 6)
    server.offer_openml(44959, X, np.arange(6.0), checksum="0" * 32)
    with pytest.raises(DatasetNotFoundError, match="md5 checksum"):
        load("concrete", data_home=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_file_with_missing_rows_is_refused(server, small, tmp_path):
    small("concrete", 7)
    server.offer_openml(44959, X, np.arange(6.0))
    with pytest.raises(DatasetNotFoundError, match="has 6 rows, but 7 were expected"):
        load("concrete", data_home=tmp_path)


def test_an_edited_cache_is_noticed(server, small, tmp_path):
    small("concrete", 6)
    server.offer_openml(44959, X, np.arange(6.0))
    load("concrete", data_home=tmp_path)
    path = tmp_path / "concrete.parquet"
    path.write_bytes(path.read_bytes() + b"!")
    with pytest.raises(ChecksumError, match=r"remove both files to fetch it again"):
        load("concrete", data_home=tmp_path)


def zipped(files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def tarred(name, content):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        info = tarfile.TarInfo(name)
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


ROWS = b"1,2,3.5,0\n4,5,6.5,1\n"
ARFF = b"@relation messidor\n\n@attribute 0 numeric\n@data\n" + ROWS
UCI_FILES = {
    "toms": {"regression.tar.gz": tarred("./regression/TomsHardware/TomsHardware.data", ROWS)},
    "cte": {"slice_localization_data.csv": b"id,a,b,ref\n" + ROWS},
    "music": {"YearPredictionMSD.txt": ROWS},
    "diabetic": {"messidor_features.arff": ARFF},
    "susy": {"SUSY.csv.gz": gzip.compress(ROWS + b"7,8,9,0\n")},
}
EXPECTED = {
    "toms": ([[1, 2, 3.5], [4, 5, 6.5]], [0, 1]),
    "cte": ([[2, 3.5], [5, 6.5]], [0, 1]),
    "music": ([[2, 3.5, 0], [5, 6.5, 1]], [1, 4]),
    "diabetic": ([[1, 2, 3.5], [4, 5, 6.5]], [0, 1]),
    "susy": ([[2, 3.5, 0], [5, 6.5, 1]], [1, 4]),
}


@pytest.mark.parametrize("name", UCI_FILES)
def test_archives_of_the_uci_repository(server, small, monkeypatch, tmp_path, name):
    content = zipped(UCI_FILES[name])
    source = {"sha256": hashlib.sha256(content).hexdigest()}
    if name == "susy":
        source["max_rows"] = 2
    small(name, 2, **source)
    archive = SPECS[name].source.archive
    server.pages["/" + archive] = content
    monkeypatch.setattr(UCI, "url", property(lambda self: f"{server.url}/{self.archive}"))
    data = load(name, data_home=tmp_path)
    features, target = EXPECTED[name]
    np.testing.assert_array_equal(data.X, features)
    assert data.y.tolist() == target


def test_an_archive_that_lacks_its_file_is_refused():
    content = zipped({"inner.tar.gz": tarred("./folder/rows.data", ROWS)})
    with zipfile.ZipFile(io.BytesIO(content)) as outer:
        assert open_member(outer, "inner.tar.gz!folder/rows.data").read() == ROWS
        with pytest.raises(ValueError, match=r"inner.tar.gz holds no file folder/other.data"):
            open_member(outer, "inner.tar.gz!folder/other.data")
    assert SPECS["toms"].source.url.startswith("https://archive.ics.uci.edu/static/public/")


def test_an_archive_with_the_wrong_sha256_is_refused(server, small, monkeypatch, tmp_path):
    small("diabetic", 2)
    server.pages["/" + SPECS["diabetic"].source.archive] = zipped(UCI_FILES["diabetic"])
    monkeypatch.setattr(UCI, "url", property(lambda self: f"{server.url}/{self.archive}"))
    with pytest.raises(DatasetNotFoundError, match="SHA256 checksum"):
        load("diabetic", data_home=tmp_path)


def test_without_a_network_the_error_says_what_to_put_where(server, tmp_path):
    server.close()
    with pytest.raises(DatasetNotFoundError) as caught:
        load("space", data_home=tmp_path)
    message = str(caught.value)
    assert f"Put a Parquet file at {tmp_path / 'space.parquet'}" in message
    assert "58000 rows" in message
    assert "9 features" in message
    assert "'y7'" in message
    assert "BANKLEARN_DATA" in message
    assert "https://www.openml.org/d/40685" in message
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_fetched_when_downloads_are_off(server, tmp_path):
    with pytest.raises(DatasetNotFoundError, match="download=False"):
        load("noise", data_home=tmp_path, download=False)
    assert server.requests == []


def test_every_set_has_a_source_and_the_papers_size():
    assert len(SPECS) == 14
    assert all(isinstance(spec.source, OpenML | UCI) for spec in SPECS.values())
    assert SPECS["music"].n_rows == 515345
    assert SPECS["twitter"].n_features == 77
