"""Which exceptions end the program that runs a handler."""

from __future__ import annotations

import asyncio
import signal
import threading

import pytest

from holdfast.engine.interruption import ends_task, is_ctrl_c
from holdfast.engine.observers import Observers


def raise_ctrl_c(*values: object) -> None:
    raise KeyboardInterrupt


def test_only_pythons_own_handler_turns_sigint_into_an_exception() -> None:
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert is_ctrl_c(KeyboardInterrupt())
    assert not is_ctrl_c(SystemExit())

    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        assert not is_ctrl_c(KeyboardInterrupt())
    finally:
        signal.signal(signal.SIGINT, before)


def test_ctrl_c_reaches_the_main_thread_only() -> None:
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(is_ctrl_c(KeyboardInterrupt())))
    thread.start()
    thread.join()

    assert found == [False]


def test_ctrl_c_while_an_observer_runs_reaches_blocking_code() -> None:
    with pytest.raises(KeyboardInterrupt):
        Observers([raise_ctrl_c]).emit("created")


async def test_a_generator_exit_ends_a_task_only_if_its_coroutine_is_closed() -> None:
    ends: list[bool] = []

    async def catch(error: BaseException | None) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.append(task)
        try:
            if error is not None:
                raise error
            await asyncio.get_running_loop().create_future()
        except BaseException as raised:
            ends.append(ends_task(raised, task))

    tasks: list[asyncio.Task[None]] = []
    await asyncio.create_task(catch(GeneratorExit()))
    await asyncio.create_task(catch(asyncio.CancelledError()))
    await asyncio.create_task(catch(ZeroDivisionError()))
    assert ends == [False, False, False]

    cancelled = asyncio.create_task(catch(None))
    await asyncio.sleep(0)
    cancelled.cancel()
    await cancelled
    assert ends.pop() is True

    closing = catch(None)
    closed = asyncio.create_task(closing)
    await asyncio.sleep(0)
    closing.close()
    assert ends.pop() is True
    closed.cancel()
