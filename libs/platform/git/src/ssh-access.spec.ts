import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { GitFixture } from '#testing';
import { MirrorCache } from './mirror-cache.js';

const KEY = '-----BEGIN OPENSSH PRIVATE KEY-----\nbm90LWEta2V5\n-----END OPENSSH PRIVATE KEY-----';
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
stat -c %a "$2" "$(dirname "$2")" "$(dirname "$2")/key" > '${root}/modes'
cat "$(dirname "$2")/key" > '${root}/key'
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

it('ssh gets the key as a file that goes again, and nothing of the user’s own', async () => {
  const cache = new MirrorCache({ directory: join(root, 'mirrors') });
  const mirror = await cache.mirror({ url: 'git@git.example.com:team/a.git', credential: { password: KEY } });
  expect(await mirror.resolve()).toBe(source.git('rev-parse', 'HEAD'));
  const read = (name: string): string => readFileSync(join(root, name), 'utf8');
  const [option, config = '', ...rest] = read('argv').split('\n');
  expect(option).toBe('-F');
  expect(rest).toContain('git@git.example.com');
  expect(read('key')).toBe(`${KEY}\n`);
  expect(read('modes')).toBe('600\n700\n600\n');
  expect(read('config')).toMatch(/^BatchMode yes\nIdentitiesOnly yes\nIdentityAgent none\nIdentityFile ".*\/key"$/m);
  expect(read('argv')).not.toContain('bm90LWEta2V5');
  expect(existsSync(config)).toBe(false);
});
