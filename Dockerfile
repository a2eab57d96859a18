# unchunk as one image: the server with its page, and every command. It needs no network at its first
# start: the weights of the embedder come with the installation.
ARG PYTHON=3.12

FROM python:${PYTHON}-slim AS build
WORKDIR /source
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src ./src
RUN python -m venv /opt/unchunk \
 && /opt/unchunk/bin/pip install --no-cache-dir --disable-pip-version-check \
      -c constraints.txt '.[otel,postgres,qdrant,s3]'

FROM python:${PYTHON}-slim
COPY --from=build /opt/unchunk /opt/unchunk
# Nobody in particular; the library is theirs.
RUN useradd --uid 10001 --user-group --no-create-home --home-dir /library unchunk \
 && install --directory --owner unchunk --group unchunk --mode 700 /library
ENV PATH=/opt/unchunk/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    UNCHUNK_HOME=/library \
    UNCHUNK_LOG_FORMAT=json
USER unchunk
WORKDIR /library
VOLUME /library
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s --retries=3 \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/health/ready', timeout=8)"]
ENTRYPOINT ["unchunk"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8000"]
