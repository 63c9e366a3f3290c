import { expect, it } from 'vitest';
import { sshPlaceOf } from '#platform/git';
import { isSamePlace, readSshCommand } from './ssh-command.js';

const matches = (url: string, ...args: string[]): boolean => {
  const place = sshPlaceOf(url);
  const command = readSshCommand(args);
  return place !== null && command !== null && isSamePlace(place, command);
};

it.each([
  ['git@example.com:acme/app.git', ['git@example.com', "git-upload-pack 'acme/app.git'"]],
  ['git@example.com:acme/app', ['-o', 'SendEnv=GIT_PROTOCOL', 'git@Example.com', "git-receive-pack 'acme/app.git'"]],
  ['git@example.com:acme/app.git', ['-p', '22', 'git@example.com', "git-upload-pack '/acme/app.git/'"]],
  ['git@example.com:acme/app.git', ['git@example.com', 'git-lfs-authenticate acme/app.git upload']],
  ['ssh://git@example.com:2222/acme/app.git', ['-p', '2222', 'git@example.com', "git-upload-pack '/acme/app.git'"]],
  ['ssh://example.com/~me/app', ['example.com', "git-upload-pack '~me/app'"]],
  ['ssh://git@[::1]/app', ['git@::1', "git-upload-archive '/app'"]],
  ["git@example.com:it's!", ['git@example.com', "git-upload-pack 'it'\\''s'\\!''"]],
] as const)('finds the repository %s in what git asks for', (url, args) => {
  expect(matches(url, ...args)).toBe(true);
});

it.each([
  [['git@example.com', "git-upload-pack 'acme/app2.git'"]],
  [['git@example.com', "git-upload-pack 'acme/app.git/../other.git'"]],
  [['git@example.org', "git-upload-pack 'acme/app.git'"]],
  [['-p', '2222', 'git@example.com', "git-upload-pack 'acme/app.git'"]],
  [['git@example.com', "git-upload-pack 'acme/app.git'; id"]],
  [['git@example.com', "git-upload-pack 'acme/app.git' 'x'"]],
  [['git@example.com', 'id']],
  [['git@example.com', "rm 'acme/app.git'"]],
  [['git@example.com']],
  [[]],
])('declines %j', (args) => {
  expect(matches('git@example.com:acme/app.git', ...args)).toBe(false);
});

it('names the repository on the server as its URL does, and quotes it as git does', () => {
  const command = readSshCommand(['git@example.com', "git-receive-pack 'acme/app'"]);
  expect(command?.forPath("/acme/it's!.git")).toBe("git-receive-pack '/acme/it'\\''s'\\!'.git'");
});
