import { describe, expect, it } from 'vitest';
import { PullRequestFinder } from './pull-request-finder.js';

const PAGES = ['https://github.com/acme/app', 'https://gitlab.example.com/team/tool'];
const URL = 'https://github.com/acme/app/pull/7';

function foundIn(command: unknown, ...updates: object[]) {
  const finder = new PullRequestFinder(PAGES);
  for (const data of updates)
    finder.observe({ kind: 'tool_call', data: { tool_call_id: 'a', ...data } }, () => ({ command }));
  return finder.found;
}
const printed = (text: string) => ({ content: [{ type: 'terminal', text }], status: 'completed' });

describe('a pull request', () => {
  it.each([
    ['gh pr create --fill', `Creating…\n\n${URL}\n`, { url: URL, status: 'open' }],
    ['gh pr create --draft --head fix/a', URL, { url: URL, branch: 'fix/a', status: 'draft' }],
    ['cd app && gh pr create -H "fix" -t x', `${URL}\n`, { url: URL, branch: 'fix', status: 'open' }],
    [
      ['gh', 'pr', 'create'],
      `a pull request for branch "fix" into branch "main" already exists:\n${URL}`,
      { url: URL, status: 'open' },
    ],
    [
      'git push -o merge_request.create',
      'remote: View merge request for fix:\nremote:   https://gitlab.example.com/team/tool/-/merge_requests/12\n',
      { url: 'https://gitlab.example.com/team/tool/-/merge_requests/12', status: 'open' },
    ],
    [
      'glab mr create --source-branch=fix --draft',
      '!12 Fix (fix)\n https://gitlab.example.com/team/tool/-/merge_requests/12',
      { url: 'https://gitlab.example.com/team/tool/-/merge_requests/12', branch: 'fix', status: 'draft' },
    ],
  ])('is found in the output of %j', (command, text, expected) => {
    expect(foundIn(command, printed(text))).toEqual([expected]);
  });

  it('is found in output that was reported before the end of the call, also when the command has failed', () => {
    const updates = [{ output: { stdout: URL }, status: 'in_progress' }, { status: 'failed' }];
    expect(foundIn('gh pr create', ...updates)).toEqual([{ url: URL, status: 'open' }]);
  });

  it.each([
    ['gh pr list', URL],
    ['gh pr create', 'https://github.com/acme/other/pull/7'],
    ['gh pr create', 'https://github.com/acme/app-two/pull/7'],
    ['gh pr create', 'https://attacker.example/https://github.com/acme/app/pull/7'],
    ['git push origin fix', 'Create a pull request for "fix" by visiting:\n https://github.com/acme/app/pull/new/fix'],
    ['gh pr create', `${URL}abc`],
    [undefined, URL],
  ])('is not found in the output of %j: %s', (command, text) => {
    expect(foundIn(command, printed(text))).toEqual([]);
  });

  it('is searched in little time', () => {
    const startedAt = performance.now();
    foundIn(`git ${'git '.repeat(50_000)}`, printed('x'));
    foundIn('gh pr create', printed('https://'.repeat(50_000)));
    expect(performance.now() - startedAt).toBeLessThan(2_000);
  });
});
