"""The input of a job type as a JSON schema, for the OpenAPI document of an application."""

from __future__ import annotations

from inspect import Parameter
from typing import Any, cast

from pydantic import TypeAdapter

from holdfast.registry.jobs import AnyJobType

Schema = dict[str, Any]


def input_schema(job_type: AnyJobType) -> Schema:
    """An object with one property per parameter. The schema of a type that pydantic does not know is empty."""
    signature = job_type.signature
    required = [name for name, each in signature.parameters.items() if each.default is Parameter.empty]
    properties = {name: _schema(annotation) for name, annotation in signature.annotations.items()}
    return {"type": "object", "title": job_type.name, "properties": properties, "required": required}


def _schema(annotation: Any) -> Schema:
    try:
        schema = TypeAdapter(annotation).json_schema()
        return cast("Schema", _inlined(schema, schema.pop("$defs", {})))
    except Exception:  # the schema is documentation: the input is checked by the job type
        return {}


def _inlined(schema: Any, definitions: dict[str, Any]) -> Any:
    """The schema without references. A recursive type has none: RecursionError."""
    match schema:
        case {"$ref": str(reference)}:
            return _inlined(definitions[reference.rpartition("/")[2]], definitions)
        case dict():
            return {name: _inlined(each, definitions) for name, each in _any(schema).items()}
        case list():
            return [_inlined(each, definitions) for each in _any(schema)]
        case _:
            return schema


def _any(value: Any) -> Any:
    """The value without the narrower type that a pattern gives it."""
    return value
