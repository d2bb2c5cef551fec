# syntax=docker/dockerfile:1

FROM node:26-alpine AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The image already has Node, so the npm package of it is left out, and nothing else needs an install script.
RUN --mount=type=cache,target=/root/.npm \
    npm ci --omit=dev --ignore-scripts --no-audit --no-fund && rm -rf node_modules/node node_modules/.bin

FROM node:26-alpine
ENV NODE_ENV=production HOST=0.0.0.0 DATA_DIR=/data
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY package.json ./
COPY projections projections
COPY src src
RUN printf '#!/bin/sh\nexec node /app/src/cli.js "$@"\n' > /usr/local/bin/venue \
    && chmod 755 /usr/local/bin/venue \
    && install -d -o node -g node /data
USER node
VOLUME /data
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --start-interval=1s \
    CMD wget -q -O /dev/null "http://127.0.0.1:${PORT:-3000}/readyz"
CMD ["node", "src/main.js"]
