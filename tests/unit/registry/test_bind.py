"""Arguments are checked and encoded when they are bound."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from uuid import UUID

import pytest

from holdfast.core.retry import Retry
from holdfast.errors import PayloadRefused, WrongArguments
from holdfast.registry.jobs import Bound, Jobs
from holdfast.worker.attempt import Attempt


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


def test_a_bound_call_contains_every_argument_by_name() -> None:
    assert resize.bind(1).input == b'{"image_id":1,"width":200}'
    assert resize.bind(width=5, image_id=1).input == b'{"image_id":1,"width":5}'
    assert send_email.bind("a", "b", urgent=True).input == b'{"to":"a","template":"b","urgent":true,"headers":{}}'
    assert charge.bind(order_id=1).input == b'{"order_id":1}'


def test_the_function_is_called_with_the_bound_arguments() -> None:
    bound = send_email.bind("a", template="b")

    assert send_email.arguments(bound.input) == (("a", "b"), {"urgent": False, "headers": {}})
    assert send_email.decode_input(bound.input) == {"to": "a", "template": "b", "urgent": False, "headers": {}}


async def test_the_function_gets_the_attempt_only_if_it_takes_one() -> None:
    assert await charge.call(cast(Attempt, None), charge.arguments(b'{"order_id":1}')) == Receipt("1")
    assert await resize.call(cast(Attempt, None), resize.arguments(b'{"image_id":1}')) == "1@200"


def test_an_unannotated_parameter_takes_plain_json() -> None:
    echo: Any = Jobs().job(name="echo")(lambda value: value)

    assert echo.bind([1, {"a": None}]).input == b'{"value":[1,{"a":null}]}'
    with pytest.raises(WrongArguments, match="argument 'value': UUID is no plain JSON value"):
        echo.bind(UUID(int=1))


@pytest.mark.parametrize(
    ("args", "kwargs", "reason"),
    [
        ((), {}, "resize: missing a required argument: 'image_id'"),
        ((1,), {"wide": 2}, "resize: got an unexpected keyword argument 'wide'"),
        ((1, 2, 3), {}, "resize: too many positional arguments"),
        ((1,), {"image_id": 2}, "resize: multiple values for argument 'image_id'"),
        (("1",), {}, "resize: argument 'image_id': expected int, got str"),
        ((True,), {}, "resize: argument 'image_id': expected int, got bool"),
        ((1,), {"width": UUID(int=1)}, "resize: argument 'width': expected int, got UUID"),
    ],
)
def test_wrong_arguments_are_named(args: tuple[Any, ...], kwargs: dict[str, Any], reason: str) -> None:
    with pytest.raises(WrongArguments) as caught:
        resize.bind(*args, **kwargs)

    assert str(caught.value) == reason
    assert isinstance(caught.value, TypeError)
    assert isinstance(caught.value, PayloadRefused)


def test_a_positional_only_parameter_is_not_given_by_name() -> None:
    with pytest.raises(WrongArguments, match="'to'"):
        send_email.bind(to="a", template="b")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def test_the_error_names_an_argument_that_cannot_be_stored() -> None:
    with pytest.raises(PayloadRefused, match="resize: argument 'image_id': an integer beyond 64 bits"):
        resize.bind(2**63)


def test_the_limit_counts_the_whole_input() -> None:
    small = Jobs(payload_limit=24)

    @small.job
    def join(left: str, right: str) -> None: ...

    assert join.bind("a", "b").input == b'{"left":"a","right":"b"}'
    with pytest.raises(PayloadRefused, match="join: 25 bytes of JSON, over the limit of 24"):
        join.bind("a", "bc")


@pytest.mark.parametrize("limit", [0, -1, (16 << 20) + 1])
def test_a_payload_limit_out_of_range_is_refused(limit: int) -> None:
    with pytest.raises(ValueError, match="payload_limit"):
        Jobs(payload_limit=limit)


def test_a_stored_input_that_no_longer_fits_is_refused() -> None:
    for stored in (b'{"image_id":"x"}', b'{"width":1}', b'{"image_id":1,"height":2}', b"[]", b""):
        with pytest.raises(PayloadRefused, match="resize: the input does not fit"):
            resize.arguments(stored)


def test_an_input_stored_before_a_default_was_added_is_filled_in() -> None:
    assert resize.arguments(b'{"image_id":1}') == ((1, 200), {})


def test_json_text_is_bound_like_arguments() -> None:
    assert resize.parse('{"width": 5, "image_id": 1}').input == b'{"image_id":1,"width":5}'
    for text in ('{"image_id": 9223372036854775808}', "[" * 1000, '{"image_id": 1e400}', '{"image_id": 1, "x": 2}'):
        with pytest.raises(PayloadRefused, match="resize"):
            resize.parse(text)
    with pytest.raises(PayloadRefused, match="JSON is malformed"):
        resize.parse("nonsense")


def test_union_members_with_the_same_json_form_keep_their_type() -> None:
    @Jobs().job
    def find(key: str | UUID, other: str | bytes | None = None) -> str | bytes:
        return key if isinstance(key, str) else b""

    bound = find.bind(UUID(int=1), other=b"x")

    assert find.arguments(bound.input) == ((UUID(int=1), b"x"), {})
    assert find.arguments(b'{"key":"a"}') == (("a", None), {})
    assert find.decode_output(find.encode_output(b"abcd")) == b"abcd"


def test_a_bound_call_never_shows_its_payload() -> None:
    assert repr(send_email.bind("a", "secret")) == "<Bound send-email>"


# Outputs


def test_an_output_is_checked_against_the_return_type() -> None:
    receipt = Receipt("p", datetime(2024, 1, 1, tzinfo=UTC))

    assert charge.decode_output(charge.encode_output(receipt)) == receipt
    assert send_email.encode_output(None) == b"null"
    with pytest.raises(PayloadRefused, match="resize: its output: expected str, got int"):
        resize.encode_output(5)
    with pytest.raises(PayloadRefused, match="resize: its output does not fit str"):
        resize.decode_output(b"5")


def test_a_handler_that_only_continues_has_the_output_of_the_chain() -> None:
    async def forward(image_id: int) -> Bound[str]:
        return resize.bind(image_id)

    assert Jobs().job(forward).encode_output("x") == b'"x"'


def test_unknown_types_are_decoded_as_plain_values() -> None:
    assert jobs.input("elsewhere", b'{"a":1}') == {"a": 1}
    assert jobs.output("elsewhere", b"[1]") == [1]
    assert jobs.plain({"a": 1}) == b'{"a":1}'
    assert jobs.input("resize", b'{"image_id":1}') == {"image_id": 1, "width": 200}
    assert jobs.output("charge", b'{"payment":"p"}') == Receipt("p")


def test_a_parameter_may_be_called_self() -> None:
    @Jobs().job
    def odd(self: int, args: int, kwargs: int) -> None: ...

    assert odd.bind(self=1, args=2, kwargs=3).input == b'{"self":1,"args":2,"kwargs":3}'
