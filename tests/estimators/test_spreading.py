"""Chains on a Dask cluster (real processes) are the chains of the fit in memory, bit for bit."""

import os
import signal
import threading
import time
import warnings
from copy import deepcopy

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from banklearn import BankRegressor
from banklearn.engines.dask import ClusterError
from banklearn.estimators import spreading
from banklearn.estimators.spreading import Spread
from banklearn.posterior import settling
from blockwise import assert_same_fit, fit_in_memory, make_case

pytest.importorskip("distributed", reason="Dask is not installed")


def spread_fit(case, client, **keywords):
    return clone(case.estimator).fit(case.X, case.y, case.weight, client=client, **keywords)


@pytest.mark.parametrize(
    ("kind", "leg"), [("regression", 0.0), ("regression", 60.0), ("binary", 0.0)]
)
def test_chains_elsewhere_are_the_chains_here(client, kind, leg, monkeypatch):
    monkeypatch.setattr(spreading, "LEG", leg)
    case = make_case(kind, n_chains=3, thin=2)
    reference = deepcopy(fit_in_memory(case))
    model = spread_fit(case, client)
    assert_same_fit(case, reference, model, 0.0)
    assert model.n_sweeps_ == reference.n_sweeps_
    assert len(model.draws_) == len(reference.draws_) == 6


@pytest.mark.parametrize("leg", [0.0, 60.0])
def test_chains_elsewhere_settle_as_the_chains_here(client, leg, monkeypatch):
    monkeypatch.setattr(spreading, "LEG", leg)
    monkeypatch.setattr(settling, "LOOKS", (8, 11, 14))
    monkeypatch.setattr(settling, "LEAST_EFFECTIVE", 9.0)
    monkeypatch.setattr(settling, "HIGHEST_R_HAT", 2.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        case = make_case("regression", n_draws="auto")
        reference = deepcopy(fit_in_memory(case))
        model = spread_fit(case, client)
    assert_same_fit(case, reference, model, 0.0)
    assert model.settling_ == reference.settling_
    assert model.n_sweeps_ == reference.n_sweeps_


def test_every_worker_has_its_share(client):
    seen = []
    submit = client.submit
    client.submit = lambda *args, **kwargs: seen.append(submit(*args, **kwargs)) or seen[-1]
    try:
        spread_fit(make_case("regression", n_chains=2, n_draws=40), client)
        workers = {worker for where in client.who_has(seen).values() for worker in where}
    finally:
        del client.submit
    assert len(workers) == 2


def test_a_worker_killed_in_the_middle(client, monkeypatch):
    monkeypatch.setattr(spreading, "LEG", 0.1)
    case = make_case("binary", n_draws=12)
    reference = deepcopy(fit_in_memory(case))
    workers = client.run(os.getpid)
    killed = []

    def kill():
        while not killed:
            for address, tasks in client.processing().items():
                if any("leg" in str(task) for task in tasks) and not killed:
                    os.kill(workers[address], signal.SIGKILL)
                    killed.append(address)
            time.sleep(0.01)

    thread = threading.Thread(target=kill)
    thread.start()
    model = spread_fit(case, client)
    thread.join()
    assert killed
    assert_same_fit(case, reference, model, 0.0)


def test_all_workers_lost(client, monkeypatch):
    """The rows are sent anew."""
    monkeypatch.setattr(spreading, "LEG", 0.0)
    case = make_case("regression", n_warmup=0, n_draws=12)
    reference = deepcopy(fit_in_memory(case))
    sent = []
    send = Spread._send
    monkeypatch.setattr(Spread, "_send", lambda self: sent.append(1) or send(self))

    def kill(*_):
        if not killed.is_set():
            killed.set()
            for pid in client.run(os.getpid).values():
                os.kill(pid, signal.SIGKILL)

    killed = threading.Event()
    monkeypatch.setattr("banklearn.estimators.progress.Progress.__call__", kill)
    model = spread_fit(case, client)
    assert killed.is_set()
    assert len(sent) >= 2
    assert_same_fit(case, reference, model, 0.0)


def test_a_worker_lost_while_it_receives_the_rows(client, tmp_path):
    """They are sent anew: the first worker that unpacks them dies of it."""
    here, fatal = os.getpid(), tmp_path / "fatal"
    fatal.touch()

    def unpack(path):
        import os

        if os.getpid() != here:
            try:
                os.unlink(path)
            except FileNotFoundError:
                return "keys"
            os._exit(1)

    class Deadly:
        def __reduce__(self):
            return unpack, (str(fatal),)

    rows = Spread(client, "rows", Deadly())._sent
    assert not fatal.exists()
    assert client.gather(list(rows)) == ["rows", "keys"]


def test_an_interrupt_is_heard_and_a_checkpoint_goes_on_here(client, monkeypatch, tmp_path):
    monkeypatch.setattr(spreading, "LEG", 0.0)
    case = make_case("regression", n_draws=20, n_chains=1)
    reference = deepcopy(fit_in_memory(case))
    case.estimator.set_params(checkpoint=tmp_path, checkpoint_every=0)
    main = threading.get_ident()

    def interrupt(self, chain, sweep, plan, info):
        if sweep == 9:
            signal.pthread_kill(main, signal.SIGINT)
            time.sleep(2.0)  # the main thread must wake up before the last sweep, however busy

    with monkeypatch.context() as patch:
        patch.setattr("banklearn.estimators.progress.Progress.__call__", interrupt)
        with pytest.warns(UserWarning, match="Interrupted"):
            stopped = spread_fit(case, client)
    assert 3 <= len(stopped.draws_) < 20
    model = clone(case.estimator).fit(case.X, case.y, case.weight, resume=True)
    assert_same_fit(case, reference, model, 0.0)


def test_time_runs_out(client):
    case = make_case("regression", max_time=1.0, n_draws=100_000, n_chains=1)
    begin = time.monotonic()
    with pytest.warns(Warning, match="max_time = 1 s ended the fit early"):
        model = spread_fit(case, client)
    assert time.monotonic() - begin < 30
    assert 1 <= len(model.draws_) < 100_000


def test_a_device_is_refused(client):
    with pytest.raises((ValueError, ImportError), match="device"):
        BankRegressor(device="cuda").fit(np.eye(3), np.arange(3.0), client=client)


def test_a_cluster_without_workers(monkeypatch):
    from distributed import Client, LocalCluster

    case = make_case("regression", n_chains=1)
    monkeypatch.setattr(Spread.__init__, "__defaults__", (0.5,))
    with (
        LocalCluster(processes=True, n_workers=0, dashboard_address=":0") as cluster,
        Client(cluster) as client,
        pytest.raises(ClusterError, match=r"had no worker for 0\.5 seconds"),
    ):
        spread_fit(case, client)
