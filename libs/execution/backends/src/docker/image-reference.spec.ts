import { describe, expect, it } from 'vitest';
import { parseImageReference } from './images.js';

const DIGEST = `sha256:${'0123456789abcdef'.repeat(4)}`;

describe('parseImageReference', () => {
  it.each([
    ['debian', 'debian', 'latest', 'docker.io'],
    ['node:22-bookworm', 'node', '22-bookworm', 'docker.io'],
    ['team/tools_2:V1.2', 'team/tools_2', 'V1.2', 'docker.io'],
    ['registry.example.com/a/b/c:1', 'registry.example.com/a/b/c', '1', 'registry.example.com'],
    ['localhost:5000/a', 'localhost:5000/a', 'latest', 'localhost:5000'],
    ['localhost/a', 'localhost/a', 'latest', 'localhost'],
    ['[::1]:5000/a:b', '[::1]:5000/a', 'b', '[::1]:5000'],
    [`ghcr.io/a/b@${DIGEST}`, 'ghcr.io/a/b', DIGEST, 'ghcr.io'],
    [`ghcr.io/a/b:1@${DIGEST}`, 'ghcr.io/a/b', DIGEST, 'ghcr.io'],
  ])('takes %s apart', (text, name, tag, registry) => {
    expect(parseImageReference(text)).toEqual({ text, name, tag, registry });
  });

  it.each([
    '',
    ' debian',
    'Debian',
    'a b',
    'a/../b',
    '../a',
    'a//b',
    '/a',
    'a/',
    'a:',
    'a:b:c',
    'a?b',
    'a#b',
    'a%2fb',
    'a\nb',
    'a@b',
    'a@sha256:12',
    `a@${DIGEST}@${DIGEST}`,
    'https://registry.example.com/a',
    'user@registry.example.com/a',
    'a'.repeat(513),
  ])('refuses %j', (text) => {
    expect(parseImageReference(text)).toBeNull();
  });
});
