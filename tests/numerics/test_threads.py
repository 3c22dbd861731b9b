"""Limits on threads."""

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from banklearn.numerics import threads


def test_tasks_side_by_side_share_a_limit_until_the_last_has_ended():
    free = threads.threads()
    entered, leave = threading.Event(), threading.Event()

    def long_task():
        with threads.one_thread_each():
            entered.set()
            leave.wait(20)

    with threads.limited_to(None):
        other = threading.Thread(target=long_task)
        with threads.one_thread_each():
            other.start()
            assert entered.wait(20)
            assert threads.threads() == 1
        assert threads.threads() == 1  # the other one is still at work
        leave.set()
        other.join(20)
    assert threads.threads() == free


def test_every_part_is_run_once_and_errors_come_through():
    seen = []
    with threads.limited_to(3):
        threads.in_parts(lambda *part: seen.append(part), "x")
        assert sorted(seen) == [("x", 0, 3), ("x", 1, 3), ("x", 2, 3)]
        with pytest.raises(ZeroDivisionError):
            threads.in_parts(lambda part, parts: 1 // (2 - part))
    seen.clear()
    threads.in_parts(lambda *part: seen.append(part), side_by_side=False)
    assert seen == [(0, 1)]


def test_a_team_belongs_to_a_thread():
    seen = []
    with threads.limited_to(1), threads.team(3):
        assert (threads.team_size(), threads.threads()) == (3, 3)
        other = threading.Thread(
            target=lambda: seen.append((threads.team_size(), threads.threads()))
        )
        other.start()
        other.join(20)
        with threads.team(1):
            assert (threads.team_size(), threads.threads()) == (1, 1)
        assert threads.team_size() == 3
    assert seen == [(1, 1)]
    assert threads.team_size() == 1


def test_tasks_at_once_have_no_team_of_their_own():
    seen = []
    with threads.team(3):
        threads.at_once(lambda name: seen.append((name, threads.team_size())), [("a",), ("b",)])
        threads.at_once(lambda: seen.append(threads.team_size()), [()])
        assert threads.team_size() == 3
    assert sorted(seen[:2]) == [("a", 1), ("b", 1)]
    assert seen[2] == 3  # alone, it may use the team


def test_an_error_in_a_task_waits_for_the_others():
    """What they write to may be used again afterwards."""
    ended, begun = threading.Event(), threading.Event()

    def task(fails):
        if fails:
            assert begun.wait(20)
            raise ZeroDivisionError
        begun.set()
        time.sleep(0.2)
        ended.set()

    with pytest.raises(ZeroDivisionError):
        threads.at_once(task, [(True,), (False,)])
    assert ended.is_set()


def test_a_pool_that_is_closed_leaves_all_work_to_the_caller(monkeypatch):
    """As in a thread that goes on after the main one has ended."""
    closed = ThreadPoolExecutor(1)
    closed.shutdown()
    monkeypatch.setattr(threads, "pool", lambda: closed)
    seen = []
    threads.at_once(lambda name: seen.append((name, threads.team_size())), [("a",), ("b",), ("c",)])
    assert seen == [("a", 1), ("b", 1), ("c", 1)]


def test_a_pool_that_fails_otherwise_says_so(monkeypatch):
    class Full(ThreadPoolExecutor):
        def submit(self, *arguments):
            raise RuntimeError("can't start new thread")

    with Full(1) as full:
        monkeypatch.setattr(threads, "pool", lambda: full)
        with pytest.raises(RuntimeError, match="start new thread"):
            threads.at_once(print, [(), ()])


def test_blas_has_the_threads_that_it_is_given():
    before = threads.blas_threads()
    assert before >= 1
    with threads.limited_to(1):
        assert threads.blas_threads() == 1
    assert threads.blas_threads() == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
def test_a_forked_process_has_threads_of_its_own():
    """Run apart: what else the tests have loaded may not like to be forked."""
    script = """
import os, sys
from banklearn.numerics import threads
with threads.limited_to(2):
    threads.in_parts(lambda part, parts: None)
    child = os.fork()
    if child == 0:
        seen = []
        threads.in_parts(lambda part, parts: seen.append(part))
        os._exit(len(seen))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "2"


def test_where_processes_cannot_be_pinned_all_cores_count(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert threads.available_cores() == os.cpu_count()
