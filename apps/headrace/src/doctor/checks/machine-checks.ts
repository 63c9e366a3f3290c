import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { access, mkdtemp, open, readFile, rm, stat, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import {
  type CheckResult,
  type DoctorCheck,
  fail,
  isAtLeast,
  ok,
  reasonOf,
  type Version,
  warn,
} from '../check-result.js';

/** As in package.json. */
const OLDEST_NODE: Version = [20, 19];

export const nodeCheck: DoctorCheck = {
  name: 'node',
  uses: [],
  examine: () => rateNode(process.versions.node),
};

export function rateNode(version: string): CheckResult {
  const found = `Node.js ${version} on ${process.platform} ${process.arch}`;
  if (isAtLeast(version, OLDEST_NODE)) return ok(found);
  return fail(
    `${found}; ${OLDEST_NODE.join('.')} or newer is required`,
    `Install Node.js ${OLDEST_NODE.join('.')} or newer.`,
  );
}

const OLDEST_GIT: Version = [2, 36];
const INSTALL_GIT = `Install git ${OLDEST_GIT.join('.')} or newer, such as \`apt-get install git\`, and add it to PATH.`;
const TIMEOUT_MS = 5_000;

export const gitCheck: DoctorCheck = {
  name: 'git',
  uses: [],
  examine: ({ environment }) => checkGit(environment.PATH ?? ''),
};

async function checkGit(path: string): Promise<CheckResult> {
  let version: string;
  try {
    version = /\d+\.\d+(\.\d+)?/.exec(await git(path, ['--version']))?.[0] ?? 'of unknown version';
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    return fail(isMissing ? 'git is not on PATH' : `git does not run (${reasonOf(error)})`, INSTALL_GIT);
  }
  if (!isAtLeast(version, OLDEST_GIT))
    return fail(`git ${version}; ${OLDEST_GIT.join('.')} or newer is required`, INSTALL_GIT);
  const directory = await mkdtemp(join(tmpdir(), 'headrace-doctor-'));
  try {
    await git(path, ['init', '--quiet', '--bare', join(directory, 'from')]);
    await git(path, ['clone', '--quiet', join(directory, 'from'), join(directory, 'to')]);
  } catch (error) {
    return fail(`git ${version} cannot clone (${reasonOf(error)})`, 'Reinstall git; `git clone` must work.');
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
  const programs = (await git(path, ['--exec-path'])).trim();
  const clonesHttps = await access(join(programs, 'git-remote-https')).then(
    () => true,
    () => false,
  );
  return clonesHttps
    ? ok(`git ${version}, clones`)
    : warn(
        `git ${version} without git-remote-https`,
        'Install a git with https support, or use only ssh:// and local repositories.',
      );
}

/** Resolves with standard output. Rejects with standard error, or after the timeout. */
function git(path: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn('git', args, {
      env: { PATH: path, HOME: '/nonexistent', LC_ALL: 'C', GIT_CONFIG_NOSYSTEM: '1', GIT_TERMINAL_PROMPT: '0' },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: TIMEOUT_MS,
      killSignal: 'SIGKILL',
    });
    const output = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const)
      child[name].on('data', (chunk: Buffer) => (output[name] += chunk.toString()));
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (code === 0) resolve(output.stdout);
      else if (signal !== null) reject(new Error(`not ended within ${TIMEOUT_MS} ms`));
      else reject(new Error(output.stderr.trim() || `exit code ${code}`));
    });
  });
}

const MIB = 1_048_576;
const GIB = 1024 * MIB;
const TIGHT_BYTES = 2 * GIB;
const TOO_LITTLE_BYTES = 256 * MIB;

interface Place {
  readonly label: string;
  readonly path: string;
  readonly setting: string;
}

export const diskCheck: DoctorCheck = {
  name: 'disk',
  uses: ['HEADRACE_DATA_DIR'],
  examine: ({ settings: { dataDir, workspacesDir }, environment, options: { isWorker } }) => {
    const places: Place[] = [
      ...(isWorker ? [] : [{ label: 'data directory', path: dataDir, setting: 'HEADRACE_DATA_DIR' }]),
      ...(workspacesDir === '' ? [] : [{ label: 'workspaces', path: workspacesDir, setting: 'WORKSPACES_DIR' }]),
      { label: 'temporary directory', path: environment.TMPDIR ?? tmpdir(), setting: 'TMPDIR' },
    ];
    return Promise.all(places.map(checkPlace));
  },
};

async function checkPlace(place: Place): Promise<CheckResult> {
  const { label, path, setting } = place;
  let near: string;
  try {
    near = await existingParent(path);
    await testWrite(near);
  } catch (error) {
    return fail(
      `${label} ${path} cannot be written (${reasonOf(error)})`,
      `Make it writable for user ${process.getuid?.() ?? ''}, or set ${setting} to a writable directory.`,
    );
  }
  const owner = near === path ? (await stat(path)).uid : null;
  const isOurs = owner === null || owner === process.getuid?.() || setting === 'TMPDIR';
  const { bavail, bsize } = await statfs(near);
  const space = rateFreeSpace(bavail * bsize, label, path, setting);
  if (space.verdict !== 'ok' || isOurs)
    return near === path ? space : { ...space, found: `${space.found}; created at the first start` };
  return warn(
    `${space.found}; owned by user ${owner}, but this is user ${process.getuid?.() ?? ''}`,
    `Run the doctor and Headrace as user ${owner}.`,
  );
}

/** `freeBytes`: free space for ordinary users. */
export function rateFreeSpace(freeBytes: number, label: string, path: string, setting: string): CheckResult {
  const found = `${label} ${path}: ${formatBytes(freeBytes)} free`;
  const fix = `Free some space, or set ${setting} to a directory on a larger disk.`;
  if (freeBytes < TOO_LITTLE_BYTES) return fail(found, fix);
  return freeBytes < TIGHT_BYTES ? warn(found, fix) : ok(found);
}

const formatBytes = (bytes: number): string =>
  bytes < GIB ? `${Math.floor(bytes / MIB)} MiB` : `${(bytes / GIB).toFixed(1)} GiB`;

async function existingParent(path: string): Promise<string> {
  for (let at = path; ; at = dirname(at)) {
    try {
      if ((await stat(at)).isDirectory()) return at;
      throw Object.assign(new Error(`${at} is not a directory`), { code: 'ENOTDIR' });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || at === dirname(at)) throw error;
    }
  }
}

export async function testWrite(directory: string): Promise<void> {
  const path = join(directory, `.headrace-doctor-${randomBytes(6).toString('hex')}`);
  const content = randomBytes(4096);
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(content);
    await file.sync();
    await file.close();
    if (!content.equals(await readFile(path))) throw new Error('the file has another content than was written');
  } finally {
    // Closing a file twice is allowed.
    await file.close();
    await rm(path, { force: true });
  }
}
