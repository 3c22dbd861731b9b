"""Limits on threads."""

import threading

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
