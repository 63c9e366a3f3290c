import { spawn } from 'node:child_process';
import { access, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DoctorCheck } from '../doctor-check.js';
import { fail, type Finding, ok, warn } from '../finding.js';
import { reasonOf } from '../reason.js';

const OLDEST: readonly [number, number] = [2, 36];
const INSTALL = `Install git ${OLDEST.join('.')} or newer, such as \`apt-get install git\`, and have it on PATH.`;
const PATIENCE_MS = 5_000;

/** The version, and whether it clones; over https too. Nothing of the user's configuration of git is read. */
export const gitCheck: DoctorCheck = {
  name: 'git',
  uses: [],
  examine: async ({ environment }) => [await look(environment.PATH ?? '')],
};

async function look(path: string): Promise<Finding> {
  let version: string;
  try {
    version = /\d+\.\d+(\.\d+)?/.exec(await git(path, ['--version']))?.[0] ?? 'of an unknown version';
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    return fail(isMissing ? 'git is not on PATH' : `git does not run (${reasonOf(error)})`, INSTALL);
  }
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (!(major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])))
    return fail(`git ${version}; ${OLDEST.join('.')} is needed`, INSTALL);
  const directory = await mkdtemp(join(tmpdir(), 'headrace-doctor-'));
  try {
    await git(path, ['init', '--quiet', '--bare', join(directory, 'from')]);
    await git(path, ['clone', '--quiet', join(directory, 'from'), join(directory, 'to')]);
  } catch (error) {
    return fail(`git ${version} cannot clone (${reasonOf(error)})`, 'Install git anew; `git clone` has to work.');
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
        'Install a git that speaks https, or use ssh:// and local repositories only.',
      );
}

/** Standard output. Rejects with what git says, or when it takes too long. */
function git(path: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn('git', args, {
      env: { PATH: path, HOME: '/nonexistent', LC_ALL: 'C', GIT_CONFIG_NOSYSTEM: '1', GIT_TERMINAL_PROMPT: '0' },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: PATIENCE_MS,
      killSignal: 'SIGKILL',
    });
    const output = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const)
      child[name].on('data', (chunk: Buffer) => (output[name] += chunk.toString()));
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (code === 0) resolve(output.stdout);
      else if (signal !== null) reject(new Error(`no end within ${PATIENCE_MS} ms`));
      else reject(new Error(output.stderr.trim() || `exit code ${code}`));
    });
  });
}
