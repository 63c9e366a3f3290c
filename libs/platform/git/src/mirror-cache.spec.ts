import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { GitFixture, GitServer } from '#testing';
import { checkOut } from './check-out.js';
import { MirrorCache, type MirrorCacheOptions } from './mirror-cache.js';

const PASSWORD = `pass-${randomBytes(12).toString('hex')}`;
const LOGIN = { username: 'builder', password: PASSWORD };
const CREDENTIAL = { username: LOGIN.username, password: PASSWORD };

let root: string;
let source: GitFixture;
let server: GitServer;
let url: string;
let caches = 0;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'headrace-git-'));
  source = new GitFixture(join(root, 'local', 'service'));
  source.commit({ 'README.md': 'one\n' });
  source.commit({ 'README.md': 'two\n', 'src/main.ts': 'x\n', outside: { link: '/etc/passwd' } });
  source.publish(join(root, 'served', 'service.git'));
  server = await GitServer.start({ root: join(root, 'served'), login: LOGIN });
  url = `${server.url}/service.git`;
});
afterAll(async () => {
  await server.stop();
  rmSync(root, { recursive: true, force: true });
});
afterEach(() => server.release());

const cacheDirectory = (): string => join(root, `mirrors-${(caches += 1)}`);
const cache = (options: Partial<MirrorCacheOptions> = {}): MirrorCache =>
  new MirrorCache({ directory: cacheDirectory(), localRoots: [join(root, 'local')], ...options });
const repository = {
  get url() {
    return url;
  },
  credential: CREDENTIAL,
};
const everything = (directory: string): string =>
  execFileSync('tar', ['-C', directory, '-c', '.'], { encoding: 'latin1', maxBuffer: 100e6 });

describe('a mirror', () => {
  it('is fetched with the credential, shallow, and read without a checkout', async () => {
    const directory = cacheDirectory();
    const mirror = await new MirrorCache({ directory }).mirror(repository);
    const head = source.git('rev-parse', 'HEAD');
    expect(await mirror.describe()).toEqual({ commit: head, name: 'refs/heads/main' });
    const entries = await mirror.list(head);
    expect(entries.map(({ mode, path }) => [mode, path])).toEqual([
      ['100644', 'README.md'],
      ['120000', 'outside'],
      ['100644', 'src/main.ts'],
    ]);
    const [readme, link] = entries;
    expect((await mirror.read(readme?.oid ?? '', 100)).toString()).toBe('two\n');
    expect((await mirror.read(link?.oid ?? '', 100)).toString()).toBe('/etc/passwd');
    expect(execFileSync('git', ['-C', mirror.path, 'rev-list', '--count', head], { encoding: 'utf8' }).trim()).toBe(
      '1',
    );
    expect(everything(directory)).not.toContain(PASSWORD);
  });

  it('reads many files at once, in the order asked, and refuses the large one before reading it', async () => {
    const mirror = await cache().mirror(repository);
    const entries = await mirror.list((await mirror.resolve()) ?? '');
    const oids = Array.from({ length: 300 }, (_, index) => entries[(index % 2) * 2]?.oid ?? '');
    const contents = await Promise.all(oids.map((oid) => mirror.read(oid, 10)));
    expect(contents.map(String)).toEqual(oids.map((_, index) => (index % 2 === 0 ? 'two\n' : 'x\n')));
    await expect(mirror.read(oids[0] ?? '', 3)).rejects.toMatchObject({ reason: 'too_large' });
    await expect(mirror.read('a'.repeat(40), 3)).rejects.toMatchObject({ reason: 'damaged' });
    await expect(mirror.read(`${'a'.repeat(39)}\n`, 3)).rejects.toMatchObject({ reason: 'invalid' });
  });

  it('keeps several refs beside each other, and tells what each of them was', async () => {
    const first = source.git('rev-list', '--max-parents=0', 'HEAD');
    const bare = join(root, 'served', 'service.git');
    const inBare = (...args: string[]) =>
      execFileSync('git', ['-C', bare, '-c', 'user.name=T', '-c', 'user.email=t@example.com', ...args]);
    inBare('branch', '--force', 'release/1', first);
    inBare('tag', '--force', '-a', '-m', 'v1', 'v1', first);
    const mirrors = cache();
    const main = await mirrors.mirror(repository);
    for (const [ref, name] of [
      ['release/1', 'refs/heads/release/1'],
      ['v1', 'refs/tags/v1'],
      [first, first],
    ] as const) {
      const mirror = await mirrors.mirror(repository, { ref });
      expect(mirror.path).toBe(main.path);
      expect(await mirror.describe(ref)).toEqual({ commit: first, name });
      expect(await mirror.list(first)).toHaveLength(1);
    }
    expect(await main.list((await main.resolve()) ?? '')).toHaveLength(3);
    await expect(mirrors.mirror(repository, { ref: 'nowhere' })).rejects.toMatchObject({ reason: 'ref_not_found' });
    expect(await main.resolve('nowhere')).toBeNull();
  });

  it('is not asked again while it is young, is asked otherwise, and is fetched only when something has changed', async () => {
    const work = new GitFixture(join(root, 'local', 'moving'));
    work.commit({ a: '1' });
    work.publish(join(root, 'served', 'moving.git'));
    const moving = { url: `${server.url}/moving.git`, credential: CREDENTIAL };
    const mirrors = cache();
    const requests = async (maxAgeMs: number): Promise<string[]> => {
      server.asked.length = 0;
      await mirrors.mirror(moving, { maxAgeMs });
      return server.asked.splice(0);
    };
    await requests(0);
    expect(await requests(60_000)).toEqual([]);
    const unchanged = await requests(0);
    expect(unchanged.length).toBeGreaterThan(0);
    const second = work.commit({ a: '2' });
    work.git('push', '--quiet', join(root, 'served', 'moving.git'), 'main');
    expect((await requests(0)).length).toBeGreaterThan(unchanged.length);
    expect(await (await mirrors.mirror(moving, { maxAgeMs: 60_000 })).resolve()).toBe(second);
  });

  it.runIf(process.env.HEADRACE_TEST_LONG === '1')(
    'is repacked after many fetches, and keeps objects that were just replaced',
    async () => {
      const work = new GitFixture(join(root, 'local', 'busy'));
      const mirrors = cache();
      const commits: string[] = [];
      for (let round = 0; round < 31; round += 1) {
        commits.push(work.commit({ a: String(round) }));
        await mirrors.mirror({ url: work.path });
      }
      const mirror = await mirrors.mirror({ url: work.path });
      const packs = readdirSync(join(mirror.path, 'objects', 'pack')).filter((name) => name.endsWith('.pack'));
      expect(packs.length).toBeLessThan(10);
      for (const commit of commits.slice(-2)) expect(await mirror.list(commit)).toHaveLength(1);
    },
    60_000,
  );

  it('is fetched once for all who ask at the same time; who gives up does not stop the others', async () => {
    const mirrors = cache();
    server.hold();
    server.asked.length = 0;
    const leaving = new AbortController();
    const left = mirrors.mirror(repository, { signal: leaving.signal });
    const others = [1, 2, 3].map(() => mirrors.mirror(repository));
    const rejected = expect(left).rejects.toMatchObject({ reason: 'aborted' });
    leaving.abort();
    await rejected;
    server.release();
    await Promise.all(others);
    expect(server.asked.filter((line) => line.startsWith('GET'))).toHaveLength(2);
  });

  it('belongs to one credential: another finds nothing of it', async () => {
    const mirrors = cache();
    const known = await mirrors.mirror(repository);
    for (const credential of [undefined, { username: 'builder', password: 'wrong-password' }]) {
      const asked = mirrors.mirror({ url, ...(credential ? { credential } : {}) }, { maxAgeMs: 3_600_000 });
      const failure: unknown = await asked.catch((error: unknown) => error);
      expect(failure).toMatchObject({ reason: 'authentication' });
      expect(JSON.stringify(failure) + String(failure)).not.toContain('wrong-password');
    }
    expect(await known.resolve()).not.toBeNull();
  });

  it('hides what a server says of the credential', async () => {
    await server.stop();
    const failure: unknown = await cache()
      .mirror(repository)
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({ reason: 'unavailable' });
    expect(JSON.stringify(failure)).not.toContain(PASSWORD);
    server = await GitServer.start({ root: join(root, 'served'), login: LOGIN });
    url = `${server.url}/service.git`;
  });
});

describe('what goes wrong', () => {
  it('replaces a broken copy', async () => {
    const mirrors = cache();
    const mirror = await mirrors.mirror(repository);
    const packs = join(mirror.path, 'objects', 'pack');
    const pack = readdirSync(packs).find((name) => name.endsWith('.pack')) ?? '';
    execFileSync('chmod', ['u+w', join(packs, pack)]);
    truncateSync(join(packs, pack), 40);
    const commit = (await mirror.resolve()) ?? '';
    await expect(mirror.list(commit)).rejects.toMatchObject({ reason: 'damaged' });
    const again = await mirrors.mirror(repository, { maxAgeMs: 3_600_000 });
    expect(await again.list(commit)).toHaveLength(3);
  });

  it('replaces a copy whose files were removed', async () => {
    const mirrors = cache();
    const mirror = await mirrors.mirror(repository);
    rmSync(join(mirror.path, 'objects', 'pack'), { recursive: true });
    expect(await (await mirrors.mirror(repository)).list((await mirror.resolve()) ?? '')).toHaveLength(3);
  });

  it('a repository that is too large is not kept', async () => {
    const work = new GitFixture(join(root, 'local', 'huge'));
    work.commit({ huge: randomBytes(3_000_000) });
    const directory = cacheDirectory();
    const mirrors = new MirrorCache({ directory, localRoots: [join(root, 'local')], maxBytes: 1_000_000 });
    await expect(mirrors.mirror({ url: work.path })).rejects.toMatchObject({ reason: 'too_large' });
    expect(readdirSync(directory).filter((name) => name !== 'salt')).toEqual([]);
  });

  it('distinguishes an empty repository from a missing one', async () => {
    new GitFixture(join(root, 'local', 'empty'));
    await expect(cache().mirror({ url: join(root, 'local', 'empty') })).rejects.toMatchObject({ reason: 'empty' });
    await expect(cache().mirror({ url: join(root, 'local', 'missing') })).rejects.toMatchObject({
      reason: 'not_found',
    });
    await expect(cache().mirror({ url: `${server.url}/missing.git`, credential: CREDENTIAL })).rejects.toMatchObject({
      reason: 'not_found',
    });
  });

  it('takes too long', async () => {
    server.hold();
    await expect(cache({ timeoutMs: 300 }).mirror(repository)).rejects.toMatchObject({ reason: 'timeout' });
  });

  it('the lock of a process that was killed in the middle, and what its git left, hold nobody up', async () => {
    const mirrors = cache();
    const mirror = await mirrors.mirror(repository);
    const killed = spawn(process.execPath, ['-e', '']);
    const started = '1';
    await new Promise((resolve) => killed.once('exit', resolve));
    const realm = `${readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()} ${execFileSync('readlink', ['/proc/self/ns/pid'], { encoding: 'utf8' }).trim()}`;
    writeFileSync(`${mirror.path}.lock`, JSON.stringify({ token: 'dead', pid: killed.pid, started, realm }));
    writeFileSync(join(mirror.path, 'shallow.lock'), '');
    mkdirSync(join(mirror.path, 'objects', 'tmp_objdir-incoming-x'));
    source.commit({ 'README.md': 'three\n' });
    source.git('push', '--quiet', join(root, 'served', 'service.git'), 'main');
    const head = source.git('rev-parse', 'HEAD');
    expect(await (await mirrors.mirror(repository)).resolve()).toBe(head);
    expect(existsSync(`${mirror.path}.lock`)).toBe(false);
    expect(existsSync(join(mirror.path, 'objects', 'tmp_objdir-incoming-x'))).toBe(false);
  });
});

describe('what is refused', () => {
  it.each([
    'ext::sh -c "touch /tmp/never"',
    'ext::sh%20-c%20true',
    '--upload-pack=touch',
    'fd::3,4',
    'https://user:password@example.com/a.git',
    'https://token@example.com/a.git',
    'ssh://-oProxyCommand=true/a',
    'git@-oProxyCommand=true:a',
    'https://example.com/a%0ahost=evil.example.com',
    'file://example.com/etc',
    'relative/path',
    'ftp://example.com/a.git',
    '/',
  ])('the URL %s', async (bad) => {
    await expect(cache().mirror({ url: bad })).rejects.toMatchObject({ reason: 'invalid' });
  });

  it.each(['--upload-pack=touch', '-x', 'a..b', 'a b', 'a:b', '', '@{-1}', 'x.lock', 'a//b', '../x'])(
    'the ref %s',
    async (ref) => {
      await expect(cache().mirror(repository, { ref })).rejects.toMatchObject({ reason: 'invalid' });
    },
  );

  it('a local repository outside the roots, whatever leads there', async () => {
    const secret = new GitFixture(join(root, 'elsewhere', 'secret'));
    secret.commit({ secret: 'x' });
    const local = join(root, 'local');
    symlinkSync(secret.path, join(local, 'link'));
    mkdirSync(join(local, 'worktree'));
    writeFileSync(join(local, 'worktree', '.git'), `gitdir: ${secret.path}/.git\n`);
    const borrowing = new GitFixture(join(local, 'borrowing'));
    borrowing.commit({ a: 'a' });
    writeFileSync(join(borrowing.path, '.git/objects/info/alternates'), `${secret.path}/.git/objects\n`);
    for (const path of [
      secret.path,
      `file://${secret.path}`,
      join(local, 'link'),
      join(local, 'worktree'),
      borrowing.path,
    ]) {
      await expect(cache().mirror({ url: path })).rejects.toMatchObject({ reason: 'not_allowed' });
    }
    await expect(cache({ localRoots: [] }).mirror({ url: source.path })).rejects.toMatchObject({
      reason: 'not_allowed',
    });
  });
});

describe('a working copy', () => {
  it('has the branch, its files and its origin, and nothing of mirror or credential', async () => {
    const mirrors = cache();
    const mirror = await mirrors.mirror(repository);
    const parent = mkdtempSync(join(root, 'work-'));
    await checkOut({ mirror, url, parent, directory: 'service' });
    const git = (...args: string[]): string =>
      execFileSync('git', ['-C', join(parent, 'service'), ...args], { encoding: 'utf8' }).trim();
    expect(git('status', '--short', '--branch')).toBe('## main...origin/main');
    expect(git('rev-parse', 'HEAD')).toBe(await mirror.resolve());
    expect(git('config', 'remote.origin.url')).toBe(url);
    expect(git('rev-list', '--count', 'HEAD')).toBe('1');
    const config = readFileSync(join(parent, 'service', '.git', 'config'), 'utf8');
    expect(config).not.toContain(PASSWORD);
    expect(everything(parent)).not.toContain(mirror.path);
    git('fsck');
  });

  it('stands at a tag or commit without a branch, and is made of an empty repository too', async () => {
    const mirrors = cache();
    const first = source.git('rev-list', '--max-parents=0', 'HEAD');
    const parent = mkdtempSync(join(root, 'work-'));
    for (const ref of ['v1', first]) {
      await checkOut({ mirror: await mirrors.mirror(repository, { ref }), ref, url, parent, directory: `at-${ref}` });
      const git = (...args: string[]): string =>
        execFileSync('git', ['-C', join(parent, `at-${ref}`), ...args], { encoding: 'utf8' }).trim();
      expect(git('rev-parse', 'HEAD')).toBe(first);
      expect(git('status', '--short', '--branch')).toBe('## HEAD (no branch)');
    }
    await checkOut({ mirror: null, url, parent, directory: 'empty' });
    expect(readdirSync(join(parent, 'empty'))).toEqual(['.git']);
  });
});
