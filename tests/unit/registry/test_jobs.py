"""Declaring job types, and binding calls to them."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast
from uuid import UUID

import pytest

from holdfast.core.retry import Retry
from holdfast.errors import DuplicateJobType, UnknownJobType
from holdfast.registry.jobs import Bound, Jobs
from holdfast.worker.attempt import Attempt
from holdfast.worker.sync_attempt import SyncAttempt


@dataclass
class Receipt:
    payment: str
    at: datetime | None = None


jobs = Jobs()


@jobs.job
async def resize(image_id: int, width: int = 200) -> str:
    return f"{image_id}@{width}"


@jobs.job(
    name="send-email",
    retry=Retry(max_attempts=3),
    lease=60,
    timeout=timedelta(minutes=5),
    priority=-1,
    keep=None,
    on_blocker_failure="fail",
    executor="process",
)
def send_email(to: str, /, template: str, *, urgent: bool = False, headers: dict[str, str] = {}) -> None:  # noqa: B006
    """Send one email."""


@jobs.job
async def charge(attempt: Attempt, order_id: int) -> Receipt | Bound[Receipt]:
    return Receipt(f"{order_id}")


def test_the_name_is_the_functions_unless_another_is_given() -> None:
    assert [each.name for each in jobs] == ["resize", "send-email", "charge"]


def test_options_are_kept_with_the_type() -> None:
    assert send_email.retry == Retry(max_attempts=3)
    assert (send_email.lease, send_email.timeout, send_email.priority) == (60, timedelta(minutes=5), -1)
    assert (send_email.keep, send_email.on_blocker_failure, send_email.executor) == (None, "fail", "process")
    assert (resize.retry, resize.lease, resize.timeout, resize.priority) == (None, None, None, 0)
    assert (resize.keep, resize.on_blocker_failure, resize.executor) == (timedelta(days=7), "wait", "thread")


async def test_calling_a_type_calls_its_function() -> None:
    assert await resize(1) == "1@200"
    assert await charge(cast(Attempt, None), order_id=7) == Receipt("7")


def test_a_type_has_the_metadata_of_its_function() -> None:
    assert (send_email.__name__, send_email.__doc__) == ("send_email", "Send one email.")
    assert list(inspect.signature(resize).parameters) == ["image_id", "width"]
    assert repr(resize) == "<JobType resize>"


def test_a_type_is_pickled_by_reference() -> None:
    assert pickle.loads(pickle.dumps(resize)) is resize  # noqa: S301 - made on the line itself


def test_the_functions_kind_is_known() -> None:
    assert [(each.is_async, each.takes_attempt) for each in jobs] == [(True, False), (False, False), (True, True)]


def test_one_name_twice_is_refused() -> None:
    with pytest.raises(DuplicateJobType, match="resize"):
        jobs.job(name="resize")(lambda: None)


@pytest.mark.parametrize("name", ["", "x" * 201, "a\0b", "a\nb", "\ud800"])
def test_a_name_must_be_short_and_printable(name: str) -> None:
    with pytest.raises(ValueError, match="name of a job type"):
        Jobs().job(name=name)(lambda: None)


def test_names_are_looked_up() -> None:
    assert jobs["resize"] is resize
    assert jobs.get("resize") is resize
    assert jobs.get("nothing") is None
    assert ("resize" in jobs, resize in jobs, "nothing" in jobs, len(jobs)) == (True, True, False, 3)
    with pytest.raises(UnknownJobType, match="nothing"):
        jobs["nothing"]


def test_registries_are_included_and_may_contain_the_same_type() -> None:
    whole, part, other = Jobs(), Jobs(), Jobs()
    one = part.job(name="one")(lambda: None)
    other.include(part)

    whole.include(part)
    whole.include(other)

    assert list(whole) == [one]


def test_including_another_type_of_the_same_name_changes_nothing() -> None:
    whole, part = Jobs(), Jobs()
    whole.job(name="two")(lambda: None)
    part.job(name="one")(lambda: None)
    part.job(name="two")(lambda: None)

    with pytest.raises(DuplicateJobType, match="two"):
        whole.include(part)

    assert "one" not in whole


class Studio:
    def crop(self, image: int) -> int:
        return image

    @classmethod
    def scale(cls, image: int) -> int:
        return image


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda: None, "a lambda has no name of its own"),
        (Studio.crop, "Studio.crop is a method"),
        (Studio().crop, "declared by a function, not by <bound method"),
        (Studio.scale, "declared by a function, not by <bound method"),
    ],
)
def test_a_job_type_is_declared_by_a_function(function: Any, reason: str) -> None:
    with pytest.raises(TypeError, match=reason):
        Jobs().job(function)


def test_unknown_options_are_refused_with_the_known_ones() -> None:
    options: Any = {"retries": 3}

    with pytest.raises(TypeError, match=r"jobs\.job takes no 'retries'; it takes name, retry, lease, timeout"):
        Jobs().job(**options)
    with pytest.raises(TypeError, match=r"jobs\.declare takes no 'retries'"):
        Jobs().declare(**options)


def variadic(*images: int) -> None: ...
def keywords(**images: int) -> None: ...
def unkeepable(image: complex) -> None: ...
def unstorable_return() -> complex: ...  # type: ignore[empty-body]
def alike_inside(images: list[str | UUID]) -> None: ...
def late_attempt(image: int, attempt: SyncAttempt) -> None: ...
def async_attempt(attempt: Attempt) -> None: ...
async def sync_attempt(attempt: SyncAttempt) -> None: ...
def bad_default(image: int = cast(int, "x")) -> None: ...
def naive_default(at: datetime = datetime(2024, 1, 1)) -> None: ...  # noqa: DTZ001
def generator() -> Any:
    yield 1


def unresolvable(where: str) -> Callable[..., Any]:
    def function(image: Any) -> Any: ...

    function.__annotations__[where] = "Nowhere"
    return function


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (variadic, r"\*images cannot be part"),
        (keywords, r"\*\*images cannot be part"),
        (unresolvable("image"), "parameter 'image' is annotated 'Nowhere', which cannot be resolved"),
        (unresolvable("return"), "the return annotation is annotated 'Nowhere'"),
        (unkeepable, "parameter 'image': complex cannot be kept"),
        (unstorable_return, "its return type: complex cannot be kept"),
        (alike_inside, "parameter 'images': .* look alike in JSON"),
        (late_attempt, "parameter 'attempt': the attempt must be the first"),
        (async_attempt, "a plain function takes a SyncAttempt, not Attempt"),
        (sync_attempt, "an async function takes an Attempt, not SyncAttempt"),
        (bad_default, "parameter 'image': its default: expected int, got str"),
        (naive_default, "parameter 'at': its default: a datetime without a time zone"),
        (generator, "is a generator"),
        (int, "declared by a function"),
    ],
)
def test_a_signature_that_cannot_be_a_contract_is_a_type_error(function: Callable[..., Any], reason: str) -> None:
    with pytest.raises(TypeError, match=reason):
        Jobs().job(function)


def test_an_async_function_cannot_run_in_a_process_pool() -> None:
    async def crunch() -> None: ...

    with pytest.raises(TypeError, match="plain functions"):
        Jobs().job(executor="process")(crunch)


# Declarations without a function


def publishing() -> Any:
    async def publish(image_id: int, url: str = "/") -> str: ...  # type: ignore[empty-body]

    return Jobs().declare(publish)


def test_a_declared_type_binds_before_it_has_a_function() -> None:
    publish = publishing()

    assert publish.bind(1).input == b'{"image_id":1,"url":"/"}'
    assert publish.function is None
    with pytest.raises(TypeError, match="only declared"):
        publish(1)


def test_a_function_is_attached_to_a_declared_type() -> None:
    publish = publishing()

    def publish_here(attempt: SyncAttempt, image_id: int, url: str) -> str | Bound[str]:
        return url

    assert publish.handler(publish_here) is publish_here

    assert publish.function is publish_here
    assert (publish.is_async, publish.takes_attempt) == (False, True)
    assert publish(cast(SyncAttempt, None), 1, "/a") == "/a"


def test_a_function_without_annotations_agrees_with_its_declaration() -> None:
    publish = publishing()
    unannotated.__annotations__.clear()

    publish.handler(unannotated)

    assert publish.function is unannotated


def test_only_one_function_is_attached() -> None:
    publish = publishing()
    unannotated.__annotations__.clear()
    publish.handler(unannotated)

    with pytest.raises(TypeError, match="has a function already"):
        publish.handler(unannotated)


def unannotated(image_id: Any, url: Any) -> Any: ...
def other_names(image: int, url: str) -> str: ...  # type: ignore[empty-body]
def fewer(image_id: int) -> str: ...  # type: ignore[empty-body]
def other_type(image_id: str, url: str) -> str: ...  # type: ignore[empty-body]
def other_kind(image_id: int, *, url: str) -> str: ...  # type: ignore[empty-body]
def other_return(image_id: int, url: str) -> int: ...  # type: ignore[empty-body]


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (other_names, r"its parameters are \(image, url\), declared are \(image_id, url\)"),
        (fewer, r"its parameters are \(image_id\)"),
        (other_type, "parameter 'image_id' is str, declared is int"),
        (other_kind, "parameter 'url' is keyword-only, declared is positional or keyword"),
        (other_return, "it returns int, declared is str"),
    ],
)
def test_a_function_that_differs_from_its_declaration_is_refused(function: Callable[..., Any], reason: str) -> None:
    publish = publishing()

    with pytest.raises(TypeError, match=reason):
        publish.handler(function)

    assert publish.function is None
