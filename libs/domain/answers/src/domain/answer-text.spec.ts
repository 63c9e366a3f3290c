import { describe, expect, it } from 'vitest';
import type { AnsweredRun, PendingApproval } from './answer.js';
import { checkOf, commentOf, summaryOf } from './answer-text.js';
import { plainLine, quotation } from './untrusted-markdown.js';

const OPTIONS = { publicUrl: 'https://runs.example.com', max: 65_536 };
const RUN: AnsweredRun = {
  id: '01900000-0000-7000-8000-000000000001',
  title: 'fix',
  isForEvent: true,
  state: 'INPROGRESS',
  statusMessage: null,
  approval: null,
  chatDecision: null,
  pullRequests: [],
  result: null,
};

describe('quotation', () => {
  it.each([
    ['a mention', 'Hi @octocat, @acme/team and _@octocat_', /(?<![A-Za-z0-9])@[A-Za-z]/],
    ['a mention that an entity hides', '&#64;octocat &commat;octocat &#x40;octocat', /&#?\w+;/],
    ['a comment', '<!-- headrace -->', /<!--/],
    ['a tag', '<img src=x> </details>', /<[a-z/]/i],
    ['an image', '![a](https://evil.example/a.png)', /!\[/],
    ['a command of GitLab', 'Done.\n/close\r/assign me\r\n  /merge', /^\s*\//m],
    ['text in another direction', 'a\u202Eb', /\u202E/],
    ['a control character', 'a\u0000b\u001Bc', /[\u0000\u001B]/],
  ])('contains no %s', (_name, text, forbidden) => {
    expect(text).toMatch(forbidden);
    expect(quotation(text)).not.toMatch(forbidden);
  });

  it('keeps addresses, packages in text, and every line within the quotation', () => {
    expect(quotation('Mail ada@example.com.\n\n```\ncode')).toBe('> Mail ada@example.com.\n> \n> ```\n> code');
  });
});

it('a title cannot end the link that it labels', () => {
  expect(plainLine('x](https://evil.example) @octocat\n# y', 100)).toBe(
    'x\\]\\(https\\:\\/\\/evil\\.example\\) @\u200Boctocat \\# y',
  );
});

describe('the comment of a run', () => {
  it('begins with the marks, before any text of others', () => {
    const text = commentOf({ ...RUN, title: '<!--' }, 'a mark', OPTIONS);
    expect(text.split('\n')[0]).toBe(`<!-- headrace --><!-- headrace-run ${RUN.id} a mark -->`);
    expect(text.match(/<!--/g)).toHaveLength(2);
  });

  it('names what the run waits for, and its pull requests', () => {
    const approval = { id: 'a/1', title: 'Run `rm -rf`?' } as PendingApproval;
    const pullRequests = [
      { url: 'https://github.com/acme/app/pull/3', status: 'draft' },
      { url: 'https://github.com/acme/app/pull/4) @octocat', status: null },
    ];
    expect(summaryOf({ ...RUN, state: 'BLOCKED', approval, pullRequests }, OPTIONS)).toBe(
      [
        `The run [fix](https://runs.example.com/runs/${RUN.id}) **waits for a decision**.`,
        '- https://github.com/acme/app/pull/3 (draft)',
        '> Run `rm -rf`?',
        `[Decide](https://runs.example.com/console/inbox?item=${RUN.id}/a%2F1)`,
      ].join('\n\n'),
    );
  });
});

it.each([
  ['QUEUED', 'queued'],
  ['INPROGRESS', 'in_progress'],
  ['BLOCKED', 'in_progress'],
  ['SUCCEEDED', 'success'],
  ['FAILED', 'failure'],
  ['ERROR', 'failure'],
  ['CANCELLED', 'cancelled'],
] as const)('the check of a run that is %s is %s', (state, expected) => {
  expect(checkOf({ ...RUN, state }, OPTIONS)).toMatchObject({ name: 'headrace: fix', state: expected });
});
