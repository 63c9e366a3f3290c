// `npm run test:docker`: what docs/operations/docker-executor.md promises, against a real Docker Engine. It starts a separate
// engine, in a separate network namespace, so it needs root and the programs below, and no registry. The images are made
// from Debian packages once, and kept with the engine's data in HEADRACE_TEST_DOCKER_DIR.
import { requireNode } from './lib/node-version.mjs';

requireNode();
const { spawnSync } = await import('node:child_process');
const { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } = await import('node:fs');
const { tmpdir } = await import('node:os');
const { delimiter, join } = await import('node:path');
const { inRoot } = await import('./lib/paths.mjs');
const { prepare } = await import('./lib/prepare.mjs');
const { runStep, StepFailed } = await import('./lib/run-step.mjs');

const PACKAGES = {
  dockerd: 'docker.io',
  docker: 'docker.io',
  iptables: 'iptables',
  ip: 'iproute2',
  nsenter: 'util-linux',
  debootstrap: 'debootstrap',
  busybox: 'busybox-static',
};
const MIRRORS = { Debian: 'http://deb.debian.org/debian', Ubuntu: 'http://archive.ubuntu.com/ubuntu' };
const NAMESPACE = 'headrace-test-docker';

process.env.PATH = [process.env.PATH, '/usr/local/sbin', '/usr/sbin', '/sbin'].join(delimiter);

const isInstalled = (program) =>
  process.env.PATH.split(delimiter).some((directory) => existsSync(join(directory, program)));

function missing() {
  if (process.platform !== 'linux') return 'Linux';
  if (process.getuid() !== 0) return 'root, to start a Docker Engine';
  const packages = Object.entries(PACKAGES).flatMap(([program, name]) => (isInstalled(program) ? [] : [name]));
  return packages.length === 0
    ? null
    : `these packages: apt-get install --no-install-recommends ${[...new Set(packages)].join(' ')}`;
}

function run(program, ...args) {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', maxBuffer: 64 * 1024 ** 2 });
  if (status !== 0) throw new StepFailed(`${program} ${args.join(' ')}:\n${stdout}${stderr}`);
  return stdout;
}

/** The file system of the base image, from the Debian mirror of this machine. The engine's network reaches no mirror. */
function ensureBaseArchive(archive) {
  if (existsSync(archive)) return;
  const root = join(directory, 'root');
  const targets = run(
    'apt-get',
    'indextargets',
    '--format',
    '$(ORIGIN) $(REPO_URI) $(RELEASE)',
    'Created-By: Packages',
    'Component: main',
  );
  // The release itself, as debootstrap knows it, and not its updates: bookworm, noble.
  const target = /^(Debian|Ubuntu) (\S+) ([a-z]+)$/m.exec(targets);
  if (target === null) throw new StepFailed('apt has no mirror of a release of Debian or Ubuntu.');
  const [, origin, uri, release] = target;
  // apt knows schemes that debootstrap does not, such as mirror+file.
  const mirror = /^https?:/.test(uri) ? uri : MIRRORS[origin];
  console.log(`Making the base image from ${release} …`);
  run('debootstrap', '--variant=minbase', '--include=git,ca-certificates,libstdc++6,procps', release, root, mirror);
  run(
    'tar',
    '--directory',
    root,
    '--create',
    '--exclude=./proc/*',
    '--exclude=./sys/*',
    '--file',
    `${archive}.new`,
    '.',
  );
  renameSync(`${archive}.new`, archive);
}

const problem = missing();
if (problem !== null) {
  console.error(`npm run test:docker needs ${problem}`);
  process.exit(1);
}
const engineDir = process.env.HEADRACE_TEST_DOCKER_DIR ?? join(tmpdir(), 'headrace-test-docker');
const directory = mkdtempSync(join(tmpdir(), 'headrace-'));
try {
  await prepare();
  mkdirSync(engineDir, { recursive: true, mode: 0o711 });
  ensureBaseArchive(join(engineDir, 'base.tar'));
  if (!existsSync(`/run/netns/${NAMESPACE}`)) run('ip', 'netns', 'add', NAMESPACE);
  run('ip', '-n', NAMESPACE, 'link', 'set', 'lo', 'up');
  const vitest = [process.execPath, inRoot('node_modules/vitest/vitest.mjs'), 'run', '--project', 'docker'];
  await runStep('nsenter', [`--net=/run/netns/${NAMESPACE}`, ...vitest, ...process.argv.slice(2)], {
    env: {
      ...process.env,
      TMPDIR: directory,
      HEADRACE_TEST_DOCKER_DIR: engineDir,
      // Where the image of Headrace is built: npm and apt need the network of this machine.
      HEADRACE_TEST_DOCKER_OUTSIDE: `/proc/${process.pid}/ns/net`,
    },
  });
} catch (error) {
  console.error(error instanceof StepFailed ? error.message : error);
  process.exitCode = 1;
} finally {
  if (existsSync(`/run/netns/${NAMESPACE}`)) run('ip', 'netns', 'delete', NAMESPACE);
  rmSync(directory, { recursive: true, force: true });
}
