import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { newUuid } from '#platform/kernel';
import { parseManifest } from '#execution/runner-protocol';
import { placesIn } from './open-directory.js';
import { restoreWorkspace } from './restore-workspace.js';
import { scanWorkspace } from './scan-workspace.js';
import { listTree } from './tree-listing.js';
import { WorkspaceSnapshots } from './workspace-snapshots.js';

const CASES = process.env.HEADRACE_TEST_LONG === '1' ? 2000 : 12;
const LIMITS = { max_bytes: 1_000_000_000, max_entries: 100_000 };

/** Objects in memory, as the control plane stores them. */
class Objects {
  readonly packs = new Map<string, Buffer>();
  manifest: Buffer = Buffer.alloc(0);

  snapshotsOf(root: string): WorkspaceSnapshots {
    return new WorkspaceSnapshots({
      places: placesIn(root),
      limits: LIMITS,
      store: {
        putPack: (packId, content) => Promise.resolve(void this.packs.set(packId, Buffer.concat(content))),
        putManifest: (manifest) => {
          this.manifest = manifest;
          return Promise.resolve(newUuid());
        },
      },
    });
  }

  async restore(root: string): Promise<readonly string[]> {
    const { problems } = await restoreWorkspace({
      places: placesIn(root),
      manifest: await parseManifest(gunzipSync(this.manifest), LIMITS),
      getPack: (packId) => Promise.resolve(this.packs.get(packId) ?? null),
      signal: new AbortController().signal,
    });
    return problems;
  }
}

const directories: string[] = [];
function newRoot(): string {
  const root = mkdtempSync(join(tmpdir(), 'headrace-snapshot-'));
  directories.push(root);
  for (const part of ['home', 'work']) mkdirSync(join(root, part));
  return root;
}
function removeRoots(): void {
  for (const directory of directories.splice(0)) {
    execFileSync('chmod', ['-R', 'u+rwx', directory]);
    rmSync(directory, { recursive: true, force: true });
  }
}

const IDENTITY = ['-c', 'user.name=a', '-c', 'user.email=a@example.test', '-c', 'protocol.file.allow=always'];
function git(cwd: string, ...args: string[]): string {
  return execFileSync('git', [...IDENTITY, ...args], {
    cwd,
    encoding: 'utf8',
    maxBuffer: 64 * 1_048_576,
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' },
  });
}
/** An operation that is not possible in this state of the repository changes nothing. */
function attempt(work: () => void): void {
  try {
    work();
  } catch {
    return;
  }
}

const name = fc.constantFrom('a', 'b', 'c.txt', 'ü ñ', 'new\nline', '-dash', 'deep/er/file', 'B', 'ignored.log', '😀');
const content = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constant(''),
  fc.nat(5).map((n) => 'line\n'.repeat(n * 40_000)),
);
const mode = fc.constantFrom(0o644, 0o755, 0o600, 0o444);

type Step = (work: string, root: string) => void;
const file =
  (path: string, text: string, bits: number): Step =>
  (work) => {
    attempt(() => {
      mkdirSync(dirname(join(work, path)), { recursive: true });
      writeFileSync(join(work, path), text);
      chmodSync(join(work, path), bits);
    });
  };
const gitStep =
  (...args: string[]): Step =>
  (work) =>
    attempt(() => git(work, ...args));

/** One change of a work tree. */
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(name, content, mode).map(([path, text, bits]) => file(path, text, bits)) },
  { weight: 3, arbitrary: name.map((path) => gitStep('add', '--', path)) },
  { weight: 2, arbitrary: fc.constant(gitStep('add', '--all')) },
  { weight: 3, arbitrary: fc.constant(gitStep('commit', '--quiet', '--message=more')) },
  {
    weight: 2,
    arbitrary: name.map(
      (path): Step =>
        (work) =>
          rmSync(join(work, path), { recursive: true, force: true }),
    ),
  },
  { weight: 2, arbitrary: fc.tuple(name, name).map(([a, b]) => gitStep('mv', '--', a, b)) },
  {
    weight: 2,
    arbitrary: fc.tuple(name, name).map(
      ([a, b]): Step =>
        (work) =>
          attempt(() => renameSync(join(work, a), join(work, `${b}-moved`))),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(name, fc.constantFrom('a', '/nonexistent', '../..', 'deep', 'loop')).map(
      ([path, target]): Step =>
        (work) =>
          attempt(() => symlinkSync(target, join(work, `${path}-link`))),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom('side', 'other').map((branch) => gitStep('checkout', '--quiet', '-B', branch)),
  },
  { weight: 1, arbitrary: fc.constant(gitStep('checkout', '--quiet', '--detach')) },
  { weight: 1, arbitrary: fc.constant(gitStep('stash', 'push', '--quiet')) },
  { weight: 1, arbitrary: fc.constant(gitStep('tag', 'v1')) },
  { weight: 1, arbitrary: fc.constant(gitStep('gc', '--quiet')) },
  { weight: 1, arbitrary: fc.constant(gitStep('sparse-checkout', 'set', '--no-cone', '/*', '!deep')) },
  { weight: 1, arbitrary: fc.constant(file('.gitignore', 'ignored.log\n', 0o644)) },
  {
    weight: 1,
    arbitrary: fc.constant(
      file('large.bin', 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n', 0o644),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constant<Step>((work) => {
      attempt(() => {
        mkdirSync(join(work, 'nested'));
        git(join(work, 'nested'), 'init', '--quiet');
        writeFileSync(join(work, 'nested/inside'), 'inside');
        git(join(work, 'nested'), 'add', 'inside');
      });
    }),
  },
  {
    weight: 1,
    arbitrary: fc.constant<Step>((work) => attempt(() => git(work, 'worktree', 'add', '-q', '../tree', '-b', 'tree'))),
  },
  {
    weight: 1,
    arbitrary: fc.constant<Step>((work, root) => {
      attempt(() => {
        const library = join(root, 'home', 'library');
        mkdirSync(library);
        git(library, 'init', '--quiet');
        writeFileSync(join(library, 'of-library'), 'x');
        git(library, 'add', '.');
        git(library, 'commit', '--quiet', '--message=library');
        git(work, 'submodule', '--quiet', 'add', '../../home/library', 'module');
      });
    }),
  },
  {
    weight: 1,
    arbitrary: fc.constant<Step>((work) =>
      attempt(() => writeFileSync(Buffer.concat([Buffer.from(`${work}/`), Buffer.from([0xff, 0x41])]), 'not UTF-8')),
    ),
  },
);

/** Git sets the time of an object that it would write again, and that is all that ever changes of it. */
const OBJECT = /(^|\/)\.git\/.*objects\/([0-9a-f]{2}|pack)\//;

/** Every entry with its type, mode, time and content. What git ignores, and files by which it protects a change, are left out. */
function listing(root: string, prefix = ''): string[] {
  return readdirSync(Buffer.from(join(root, prefix), 'latin1'), { encoding: 'latin1' })
    .sort()
    .flatMap((entry) => {
      const key = prefix === '' ? entry : `${prefix}/${entry}`;
      const path = Buffer.from(join(root, key), 'latin1');
      const stats = lstatSync(path);
      const bits = (stats.mode & 0o777).toString(8);
      if (stats.isDirectory()) return [`${key}/ ${bits}`, ...listing(root, key)];
      if (stats.isSymbolicLink()) return [`${key} -> ${readlinkSync(path, 'latin1')}`];
      const time = OBJECT.test(key) ? '' : Math.round(stats.mtimeMs);
      return [`${key} ${bits} ${time} ${readFileSync(path).toString('base64')}`];
    });
}

const repositories = (root: string): string[] =>
  ['work/app', 'work/app/nested', 'work/app/module', 'work/tree', 'home/library']
    .map((path) => join(root, path))
    .filter((path) => existsSync(join(path, '.git')));
const statusOf = (root: string): string[] =>
  repositories(root).map((path) => {
    const at = (...args: string[]): string => {
      try {
        return git(path, ...args);
      } catch (error) {
        return `fails with ${(error as { status: number }).status}`;
      }
    };
    return [
      path.slice(root.length),
      at('status', '--porcelain=v2', '--branch', '--untracked-files=all', '-z'),
      at('diff', '--cached'),
      at('for-each-ref'),
      at('stash', 'list'),
      at('fsck', '--connectivity-only', '--no-dangling'),
    ].join('\n');
  });

describe('a snapshot of a workspace', () => {
  it(`contains every file, and the same state of git, of random work trees`, { timeout: CASES * 4_000 }, async () => {
    await fc.assert(
      fc
        .asyncProperty(
          fc.array(step, { minLength: 1, maxLength: 14 }),
          fc.array(step, { maxLength: 6 }),
          async (first, more) => {
            const root = newRoot();
            const work = join(root, 'work/app');
            mkdirSync(work);
            git(work, 'init', '--quiet', '--initial-branch=main');
            const objects = new Objects();
            const snapshots = objects.snapshotsOf(root);
            for (const steps of [first, more]) {
              for (const change of steps) change(work, root);
              await snapshots.create('turn');
            }
            // The two ways to read a work tree agree.
            const places = placesIn(root);
            const [walked, listed] = [null, listTree(places, new Set(), LIMITS.max_entries)].map((tree) =>
              scanWorkspace({ places, maxEntries: LIMITS.max_entries, listing: tree }),
            );
            expect((await listed)?.entries).toEqual((await walked)?.entries);
            // Git updates its index when it looks at the files.
            const expected = listing(root).filter(
              (line) => !/^work\/app\/ignored\.log /.test(line) || !isIgnored(work),
            );
            const other = newRoot();
            expect(await objects.restore(other)).toEqual([]);
            const relocated = expected.map((line) => relocatedLine(line, root, other));
            expect(listing(other)).toEqual(relocated);
            expect(statusOf(other)).toEqual(statusOf(root).map((text) => text.replaceAll(root, other)));
          },
        )
        .afterEach(removeRoots),
      { numRuns: CASES },
    );
  });
});

function isIgnored(work: string): boolean {
  try {
    git(work, 'check-ignore', '--quiet', 'ignored.log');
    return true;
  } catch {
    return false;
  }
}

/** Worktrees name each other by absolute paths. */
function relocatedLine(line: string, from: string, to: string): string {
  const [key = '', ...rest] = line.split(' ');
  if (!/(^|\/)\.git$|\/worktrees\/[^/]+\/gitdir$/.test(key) || rest.length !== 3) return line;
  const text = Buffer.from(rest[2] ?? '', 'base64').toString('utf8');
  return [key, rest[0], rest[1], Buffer.from(text.replace(from, to)).toString('base64')].join(' ');
}
