import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { GitFixture } from '#testing';
import { MirrorCache } from './mirror-cache.js';
import { runSshProgram } from './ssh-program.js';

const KEY = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
const SECRET = KEY.split('\n')[1] ?? '';
const path = process.env['PATH'];
let root: string;
let source: GitFixture;

/** Stands for ssh: keeps what it was given, and serves the repository itself. */
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'headrace-ssh-test-'));
  source = new GitFixture(join(root, 'source'));
  source.commit({ a: 'a' });
  const script = `#!/bin/sh
printf '%s\\n' "$@" > '${root}/argv'
cat "$2" > '${root}/config'
stat -c %a "$2" "$(dirname "$2")" > '${root}/modes'
stat -c %F "$(dirname "$2")/agent.sock" >> '${root}/modes'
find "$(dirname "$2")" -type f -exec cat {} + > '${root}/files'
env > '${root}/environment'
exec git -c safe.directory='*' upload-pack '${source.path}'
`;
  writeFileSync(join(root, 'ssh'), script);
  chmodSync(join(root, 'ssh'), 0o755);
  process.env['PATH'] = `${root}:${path}`;
});
afterAll(() => {
  process.env['PATH'] = path;
  rmSync(root, { recursive: true, force: true });
});

it('ssh gets an agent with the key that goes again, and nothing of the user’s own', async () => {
  const cache = new MirrorCache({ directory: join(root, 'mirrors') });
  const mirror = await cache.mirror({ url: 'git@git.example.com:team/a.git', credential: { password: KEY } });
  expect(await mirror.resolve()).toBe(source.git('rev-parse', 'HEAD'));
  const read = (name: string): string => readFileSync(join(root, name), 'utf8');
  const [option, config = '', ...rest] = read('argv').split('\n');
  expect(option).toBe('-F');
  expect(rest).toContain('git@git.example.com');
  expect(read('modes')).toBe('600\n700\nsocket\n');
  expect(read('config')).toMatch(/^IdentitiesOnly yes\nIdentityAgent ".*\/agent\.sock"\nIdentityFile ".*\/key\.pub"$/m);
  expect(read('files')).toContain('ssh-ed25519 ');
  for (const name of ['argv', 'files', 'environment']) expect(read(name)).not.toContain(SECRET);
  expect(existsSync(config)).toBe(false);
});

it('says that the client of OpenSSH is missing', async () => {
  const directory = join(root, 'without-ssh');
  mkdirSync(directory);
  for (const name of ['git', 'sh'])
    symlinkSync(execFileSync('which', [name], { encoding: 'utf8' }).trim(), join(directory, name));
  const before = process.env['PATH'];
  process.env['PATH'] = directory;
  try {
    const repository = { url: 'git@git.example.com:team/b.git', credential: { password: KEY } };
    const cache = new MirrorCache({ directory: join(root, 'mirrors') });
    await expect(cache.mirror(repository)).rejects.toThrow(
      'The OpenSSH client (ssh) is not installed on this machine.',
    );
    const options = {
      hosts: undefined,
      knownHosts: join(root, 'known_hosts'),
      environment: {},
      protocol: '',
      command: (path: string) => `git-upload-pack '${path}'`,
      signal: new AbortController().signal,
      onStart: () => expect.unreachable(),
    };
    await expect(runSshProgram(repository, options)).rejects.toThrow(
      'The OpenSSH client (ssh) is not installed on this machine.',
    );
  } finally {
    process.env['PATH'] = before;
  }
});
