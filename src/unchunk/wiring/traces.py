"""Where traces go, as the settings or the usual environment say: mostly nowhere."""

import os
from collections.abc import Mapping
from logging import WARNING

from unchunk.errors import InvalidSettingError, MissingPartError
from unchunk.settings import Settings
from unchunk.telemetry import Tracer, log

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_OURS = "http/protobuf"


def make_tracer(settings: Settings, environment: Mapping[str, str] = os.environ) -> Tracer | None:
    """None where nobody asked for traces.

    What a setting asks for must be there. The environment is often that of many programs: what it
    asks for and cannot be had is logged.
    """
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    url = settings.trace_url
    if url:
        if not url.startswith(("http://", "https://")):
            raise InvalidSettingError(f"trace_url {url!r} is not a URL: write http://HOST:4318")
    elif not _is_asked_for(environment):
        return None
    try:
        from importlib.metadata import version

        from unchunk.adapters.tracing.otel import OtelTracer, exporter_to

        return OtelTracer(exporter_to(url), version("unchunk"))
    except MissingPartError as error:
        if url:
            raise
        log("no traces, though OTEL_... asks for them: %s", error, level=WARNING)
        return None


def _is_asked_for(environment: Mapping[str, str]) -> bool:
    exporter = environment.get("OTEL_TRACES_EXPORTER", "").strip().lower()
    if exporter not in ("", "otlp"):
        return False
    spoken = next((it for name in _PROTOCOLS if (it := environment.get(name))), _OURS)
    is_asked = bool(exporter) or any(environment.get(name) for name in _ENDPOINTS)
    if is_asked and spoken != _OURS:
        log("no traces: they go out by %s, not by %s", _OURS, spoken, level=WARNING)
        return False
    return is_asked
