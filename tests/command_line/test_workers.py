"""Worker processes: order, memory, exceptions, death."""

import os
import signal
import threading

import pytest

from command_line import workers
from command_line.errors import InputError
from command_line.workers import Workers


def square(number):
    return number * number


def die(number):
    os.kill(os.getpid(), signal.SIGKILL)


def complain(number):
    raise InputError(f"line {number}")


def stay(number):
    """Die as item 1, otherwise never return."""
    if number == 1:
        die(number)
    threading.Event().wait()


class Sour:
    """Can be pickled, and not be read again."""

    def __reduce__(self):
        return int, ("apples",)

    def __str__(self) -> str:
        return "apples"


class Unusual(Exception):
    pass


def unusual(number):
    raise Unusual(Sour())


def no_such_key(number):
    return {}[number]


def stop_at_three(number):
    if number == 3:
        raise InputError("three")
    return number


@pytest.mark.parametrize("count", [1, 3])
def test_workers_keep_the_order(count):
    with Workers(count) as workers:
        assert list(workers.map(square, range(200))) == [number * number for number in range(200)]
        assert list(workers.map(square, [])) == []


def test_workers_take_no_more_items_than_they_need():
    taken = []

    def items():
        for number in range(1000):
            taken.append(number)
            yield number

    with Workers(2) as workers:
        results = workers.map(square, items())
        next(results)
        assert len(taken) <= 10
        results.close()


def test_a_killed_worker_is_an_error():
    with Workers(2) as workers, pytest.raises(InputError, match="worker process was killed"):
        list(workers.map(die, range(3)))


def test_errors_of_workers_arrive_as_they_are():
    with Workers(2) as workers, pytest.raises(InputError, match=r"^line 0$"):
        list(workers.map(complain, range(3)))


def test_no_workers():
    with pytest.raises(InputError, match="--workers: 0"):
        Workers(0)


def test_a_killed_worker_is_noticed_while_others_work():
    with Workers(2) as workers, pytest.raises(InputError) as error:
        list(workers.map(stay, range(2)))
    message = "a worker process was killed (signal 9; out of memory?); try fewer --workers"
    assert str(error.value) == message


def test_a_worker_that_dies_between_two_maps_is_noticed():
    with Workers(2) as workers:
        (pid, *_) = workers.map(own_process, range(1))
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(InputError, match="worker process was killed"):
            list(workers.map(square, range(10)))


def own_process(number):
    return os.getpid()


def leave(number):
    os._exit(3)


def test_a_worker_that_ends_by_itself_is_an_error_as_well():
    with Workers(2) as workers, pytest.raises(InputError, match="worker process ended with status 3; try"):
        list(workers.map(leave, range(3)))


def test_the_traceback_of_a_worker_is_the_cause_of_its_exception():
    with Workers(2) as workers, pytest.raises(KeyError) as error:
        list(workers.map(no_such_key, [5]))
    assert error.value.args == (5,)
    assert "in no_such_key" in str(error.value.__cause__)


def test_results_before_an_exception_arrive():
    results = []
    with Workers(2) as workers, pytest.raises(InputError, match="three"):
        for result in workers.map(stop_at_three, range(9)):
            results.append(result)
    assert results == [0, 1, 2]


def test_what_cannot_be_pickled_is_an_exception_and_not_a_hang():
    with Workers(2) as workers:
        with pytest.raises(Exception, match="pickle"):
            list(workers.map(lambda number: number, [1]))
        with pytest.raises(TypeError, match="pickle"):
            list(workers.map(_lock, [1]))
        with pytest.raises(RuntimeError, match=r"^Unusual: apples$"):
            list(workers.map(unusual, [1]))
        assert list(workers.map(square, [2])) == [4]


def _lock(number):
    return threading.Lock()


def test_a_map_that_is_not_read_to_its_end_does_not_disturb_the_next():
    with Workers(2) as workers:
        for _ in range(3):
            results = workers.map(square, range(100))
            assert [next(results), next(results)] == [0, 1]
            results.close()
        assert list(workers.map(square, range(20, 40))) == [number**2 for number in range(20, 40)]
        first, second = workers.map(square, range(10)), workers.map(str, range(10))
        pairs = list(zip(first, second, strict=True))
        assert pairs == [(number**2, str(number)) for number in range(10)]


def test_large_items_and_results():
    """More than a pipe holds, in both directions at once."""
    items = [bytes([number]) * 3_000_000 for number in range(12)]
    with Workers(2) as workers:
        assert list(workers.map(reverse, items)) == items


def reverse(item):
    return item[::-1]


def test_no_worker_is_left():
    with Workers(2) as workers:
        pids = set(workers.map(own_process, range(50)))
    assert os.getpid() not in pids
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("max 100000\n", None),
        ("150000 100000\n", 2),
        ("50000 100000", 1),
        ("400000 100000", 4),
        ("?", None),
        (None, None),
    ],
)
def test_processors_worth_of_time_of_a_container(tmp_path, content, expected):
    if content:
        (tmp_path / "cpu.max").write_text(content)
    assert workers._quota(tmp_path / "cpu.max") == expected


def test_a_container_with_less_time_than_processors_has_fewer_workers(tmp_path, monkeypatch):
    (tmp_path / "cpu.max").write_text("100000 100000")
    monkeypatch.setattr(workers, "CPU_LIMIT", tmp_path / "cpu.max")
    assert workers.default_workers() == 1
