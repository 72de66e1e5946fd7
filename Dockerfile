ARG NODE_VERSION=24.21.0

# The dependencies by themselves, so that a change of source does not install them again. The optional ones only carry a
# Node for machines that have an older one; the image brings its own.
FROM node:${NODE_VERSION}-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund

FROM node:${NODE_VERSION}-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080 DATA_DIR=/data
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY package.json LICENSE ./
COPY src ./src

# The modules are compiled here, by the user who will run them, so that the first start need not. Nothing under /app is
# writable by the gateway afterwards. /data is only used without DATABASE_URL.
RUN install --directory --owner=node --group=node /data /app/node_modules/.cache/tollgate/compiled
USER node
RUN ["node", "--input-type=module", "--eval", "import { enableCompileCache } from 'node:module'; enableCompileCache('/app/node_modules/.cache/tollgate/compiled'); await import('/app/src/main.ts')"]
USER root
RUN chown --recursive root:root /app/node_modules/.cache && chmod --recursive a+rX /app/node_modules/.cache
USER node
VOLUME /data
EXPOSE 8080

HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 CMD \
  ["node", "--eval", "fetch('http://127.0.0.1:' + process.env.PORT + '/health/live').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]

# Node is the process that gets the signal: it drains the streams in flight, settles or refunds their holds, and exits.
STOPSIGNAL SIGTERM
CMD ["node", "src/launch.ts"]
