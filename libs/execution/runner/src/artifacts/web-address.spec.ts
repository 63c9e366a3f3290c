import { describe, expect, it } from 'vitest';
import { pageOfBranch } from './web-address.js';

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
