"""Limits on threads."""

import os
import threading

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


def test_where_processes_cannot_be_pinned_all_cores_count(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert threads.available_cores() == os.cpu_count()
