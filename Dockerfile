# syntax=docker/dockerfile:1.7
# The service: docker build -t tabsa . && docker run --rm -p 127.0.0.1:8000:8000 --env-file tabsa.env tabsa
# For an image that is the same to the last bit, give the base's digest too, which
# `docker buildx imagetools inspect python:3.13.9-slim-trixie` tells: --build-arg PYTHON=3.13.9-slim-trixie@sha256:...
ARG PYTHON=3.13.9-slim-trixie

FROM python:${PYTHON} AS build
WORKDIR /project
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
COPY repro/tabsa_repro ./repro/tabsa_repro
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:${PYTHON}
LABEL org.opencontainers.image.title="tabsa" \
      org.opencontainers.image.description="Who is judged, on what, and how: targeted aspect-based sentiment analysis" \
      org.opencontainers.image.licenses="MIT"
# TABSA_PORT is where the service listens and the health check asks.
ENV PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    ORT_DISABLE_TELEMETRY=1 \
    TABSA_PORT=8000
# The wheel and the pinned versions are there for this step only. The quotes keep the shell off the extra's brackets.
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    --mount=type=bind,source=constraints.txt,target=/constraints.txt \
    set -- /wheels/tabsa-*.whl \
    && pip install --no-cache-dir --constraint /constraints.txt "$1[serve]" \
    && useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin tabsa
USER 10001
WORKDIR /srv
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=5s --start-period=20s --retries=3 \
    CMD ["python", "-c", "import http.client, os; c = http.client.HTTPConnection('127.0.0.1', int(os.environ['TABSA_PORT']), timeout=3); c.request('GET', '/healthz'); raise SystemExit(c.getresponse().status != 200)"]
# `exec` form: signals reach the service itself, which then answers what it has taken, in eight seconds at most;
# `docker stop` waits for ten.
ENTRYPOINT ["tabsa", "serve", "--host", "0.0.0.0"]
