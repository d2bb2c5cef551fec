# syntax=docker/dockerfile:1

FROM node:26-alpine AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The image already has Node, so the npm package of it is left out, and nothing else needs an install script. Nor does anything need the
# types and source maps, a third of all files.
RUN --mount=type=cache,target=/root/.npm \
    npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
    && rm -rf node_modules/node node_modules/.bin \
    && find node_modules -type f \( -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' -o -name '*.map' \) -delete

FROM node:26-alpine
ENV NODE_ENV=production HOST=0.0.0.0 METRICS_PORT=9464 DATA_DIR=/data
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
# With --chmod, because a checkout made under umask 077 is readable by its owner only.
COPY --chmod=755 package.json ./
COPY --chmod=755 projections projections
COPY --chmod=755 src src
# Any user of group 0 can write in /data, as on OpenShift or with `--user 12345:0`.
RUN printf '#!/bin/sh\nexec node /app/src/cli.js "$@"\n' > /usr/local/bin/venue \
    && chmod 755 /usr/local/bin/venue \
    && install -d -o 1000 -g 0 -m 775 /data
# The user `node`, by number: with a name, Kubernetes cannot tell that it is not root (`runAsNonRoot`).
USER 1000
VOLUME /data
EXPOSE 3000 9464
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s \
    CMD wget -q -O /dev/null "http://127.0.0.1:${METRICS_PORT}/healthz"
CMD ["node", "src/main.js"]
