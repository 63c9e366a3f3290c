import { describe, expect, it } from 'vitest';
import { pageOfRepository, pullRequestRef } from './repository-page.js';

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

describe('the ref of a pull request', () => {
  it.each([
    ['https://github.com/acme/app.git', 'https://github.com/Acme/app/pull/7', 'refs/pull/7/head'],
    ['git@github.com:acme/app.git', 'https://github.com/acme/app/pull/7/', 'refs/pull/7/head'],
    ['https://codeberg.org/acme/app', 'https://codeberg.org/acme/app/pulls/7', 'refs/pull/7/head'],
    ['https://gitlab.com/a/b/c', 'https://gitlab.com/a/b/c/-/merge_requests/7', 'refs/merge-requests/7/head'],
  ])('in %s, of %s, is %s', (url, page, ref) => {
    expect(pullRequestRef(url, page)).toBe(ref);
  });

  it.each([
    ['of another repository', 'https://github.com/acme/other/pull/7'],
    ['of a repository whose name begins like it', 'https://github.com/acme/app-2/pull/7'],
    ['of another server', 'https://github.example.com/acme/app/pull/7'],
    ['with a path that leads out', 'https://github.com/acme/app/../other/pull/7'],
    ['without a number', 'https://github.com/acme/app/pull/new'],
    ['with more behind it', 'https://github.com/acme/app/pull/7/files'],
    ['of an issue', 'https://github.com/acme/app/issues/7'],
  ])('does not exist for a page %s', (_what, page) => {
    expect(pullRequestRef('https://github.com/acme/app', page)).toBeNull();
    expect(pullRequestRef('/srv/git/app.git', page)).toBeNull();
  });
});
