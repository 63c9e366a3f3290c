import { describe, expect, it } from 'vitest';
import { pageOfBranch, pageOfRepository } from './web-address.js';

describe('the page of a repository', () => {
  it.each([
    ['https://github.com/acme/app.git', 'https://github.com/acme/app'],
    ['https://github.com/acme/app/', 'https://github.com/acme/app'],
    ['http://git.example.com:8080/acme/app', 'http://git.example.com:8080/acme/app'],
    ['git@github.com:acme/app.git', 'https://github.com/acme/app'],
    ['ssh://git@git.example.com:2222/acme/app.git', 'https://git.example.com/acme/app'],
    ['https://user:secret@github.com/acme/app.git', 'https://github.com/acme/app'],
    ['/srv/git/app.git', null],
    ['file:///srv/git/app.git', null],
  ])('of %s is %s', (url, page) => {
    expect(pageOfRepository(url)).toBe(page);
  });
});

describe('the page of a branch', () => {
  it.each([
    ['https://github.com/acme/app', 'fix/login #1', 'https://github.com/acme/app/tree/fix/login%20%231'],
    ['https://gitlab.example.com/a/b/c', 'fix', 'https://gitlab.example.com/a/b/c/-/tree/fix'],
    ['https://bitbucket.org/acme/app', 'fix', 'https://bitbucket.org/acme/app/branch/fix'],
    ['https://codeberg.org/acme/app', 'fix', 'https://codeberg.org/acme/app/src/branch/fix'],
  ])('of %s, %s', (page, branch, url) => {
    expect(pageOfBranch(page, branch)).toBe(url);
  });
});
