import { expect, it } from 'vitest';
import { shownConfig } from './masked-config.js';

it('shows no value of env and no login of a URL, and the rest as it is', () => {
  const login = (url: string) => shownConfig({ git_repos: [{ url, ref: 'main' }] }).git_repos;
  expect(shownConfig({ name: 'a', env: { A: 'b' }, setup_commands: ['c'] })).toEqual({
    name: 'a',
    env: { A: '***' },
    setup_commands: ['c'],
  });
  for (const user of ['token', 'someone:pass', 'a@b:pass'])
    expect(login(`https://${user}@example.com/a.git`)).toEqual([{ url: 'https://***@example.com/a.git', ref: 'main' }]);
  expect(login('ssh://git:pass@example.com/a')).toEqual([{ url: 'ssh://***@example.com/a', ref: 'main' }]);
  for (const url of ['ssh://git@example.com/a', 'git@example.com:a', 'https://example.com/a@b', '/srv/git/a'])
    expect(login(url)).toEqual([{ url, ref: 'main' }]);
});
