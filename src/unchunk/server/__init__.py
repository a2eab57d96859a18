"""The library over HTTP: one engine, rendered as JSON, server-sent events and WebSocket."""
