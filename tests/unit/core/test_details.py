from __future__ import annotations

from holdfast.core.details import (
    NO_DETAILS,
    FailureHook,
    JobDetails,
    inherited_details,
    origin_of,
    origin_text,
    read_details,
    started_details,
    write_details,
)


def test_empty_details_are_not_stored() -> None:
    assert write_details(JobDetails()) is None
    assert read_details(None) is NO_DETAILS


def test_details_are_read_as_they_were_written() -> None:
    details = JobDetails(None, "00-a", {"baggage": "b=\u00e9\0"}, FailureHook("refund", "failure", keep=5, then="{}"))

    stored = write_details(details)

    assert stored is not None
    assert "max_attempts" not in stored
    assert read_details(stored) == details


def test_a_continuation_takes_over_what_the_caller_sent_along() -> None:
    stored = write_details(JobDetails(None, "00-a", {"k": "v"}, FailureHook("refund", "failure")))

    assert inherited_details(stored) == JobDetails(None, "00-a", {"k": "v"})
    assert inherited_details(None) is NO_DETAILS


def test_text_that_is_no_details_reads_as_none() -> None:
    assert read_details("5") == read_details("{") == read_details('{"trace":5}') == NO_DETAILS


def test_the_origin_is_at_the_beginning_of_the_text() -> None:
    for job_id in ("job-7", 'a"b\\c/\u00e9\n'):
        stored = write_details(started_details(job_id, write_details(JobDetails(None, "00-a", {"origin": "x"}))))

        assert stored is not None
        assert stored.startswith(origin_text(job_id))
        assert origin_of(stored) == job_id
    assert origin_of(write_details(JobDetails(carrier={"origin": "x"}))) is None
    assert origin_of(None) is None
