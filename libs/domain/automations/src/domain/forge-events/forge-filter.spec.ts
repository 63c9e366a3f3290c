import { describe, expect, it } from 'vitest';
import type { ForgeEvent, ForgeEventName, ForgeProvider } from './forge-event.js';
import { forgeChecks, readForgeTrigger } from './forge-filter.js';

const EVENT: ForgeEvent = {
  event: 'issue_commented',
  host: 'github.com',
  repository: 'Acme/Service',
  target: { kind: 'issue', id: '12', url: null },
  sender: { name: 'Ada', isBot: false },
  association: 'MEMBER',
  labels: ['bug', 'Agent'],
  text: 'Please look at this, @headrace.',
  isOfRun: false,
  branch: 'main',
  headBranch: null,
  tag: null,
  paths: ['src/a.ts', 'docs/b.md'],
  commitEmail: null,
  refusal: null,
};

const read = (filter: unknown, event: ForgeEventName = 'issue_commented', provider: ForgeProvider = 'github') =>
  readForgeTrigger(provider, event, { provider, event, filter });

/** The names of the failed checks. */
function failures(filter: object, changes: Partial<ForgeEvent> = {}): string[] {
  const event = { ...EVENT, ...changes };
  const trigger = read(filter, event.event);
  if (trigger.kind === 'invalid') throw new Error(JSON.stringify(trigger.issues));
  const checked = { event, payload: { action: 'created' }, agentEmail: 'agent@example.com' };
  return forgeChecks(trigger.filter, checked)
    .filter(({ passed }) => !passed)
    .map(({ check }) => check);
}

describe('a filter', () => {
  it.each<[string, object, Partial<ForgeEvent>, string[]]>([
    ['nothing', {}, {}, []],
    ['the repository', { repositories: ['acme/*'] }, {}, []],
    ['another repository', { repositories: ['other/*', 'acme/service-2'] }, {}, ['repository']],
    ['the sender', { senders: ['ada'] }, {}, []],
    ['another sender', { senders: ['bob'] }, {}, ['sender']],
    ['everybody', { senders: ['*'] }, { association: 'NONE' }, []],
    ['the default, for somebody without rights', {}, { association: 'NONE' }, ['sender_rights']],
    ['the default, for a contributor', {}, { association: 'CONTRIBUTOR' }, ['sender_rights']],
    ['an association', { author_associations: ['NONE'] }, { association: 'NONE' }, []],
    ['sender and association', { senders: ['ada'], author_associations: ['OWNER'] }, {}, ['sender_rights']],
    ['the default, for a bot', {}, { sender: { name: 'x[bot]', isBot: true } }, ['sender']],
    ['bots', { bots: true }, { sender: { name: 'x[bot]', isBot: true } }, []],
    ['a label', { labels: ['agent'] }, {}, []],
    ['another label', { labels: ['feature'] }, {}, ['labels']],
    ['a label, without labels', { labels: ['feature'] }, { labels: [] }, ['labels']],
    ['a mention', { mention: '@Headrace' }, {}, []],
    ['a mention that is a part of a word', { mention: '@headrace' }, { text: '@headrace-bot x@headrace' }, ['mention']],
    ['a mention in a quotation', { mention: '@headrace' }, { text: '> @headrace why?\nNo.' }, ['mention']],
    ['a mention, without text', { mention: '@headrace' }, { text: null }, ['mention']],
    ['the payload', { payload: { action: ['created'] } }, {}, []],
    ['another payload', { payload: { action: ['deleted'] } }, {}, ['payload']],
    ['text of a run', {}, { isOfRun: true }, ['own']],
    ['a branch', { branches: ['release/**', 'main'] }, { event: 'pull_request_opened' }, []],
    ['another branch', { branches: ['release/**'] }, { event: 'pull_request_opened' }, ['branch']],
    ['no branch', { branches: ['**'] }, { event: 'pull_request_opened', branch: null }, ['branch']],
    ['a path', { paths: ['docs/**'] }, { event: 'branch_pushed' }, []],
    ['another path', { paths: ['docs/*.txt'] }, { event: 'branch_pushed' }, ['paths']],
    ['a commit of a run', {}, { event: 'branch_pushed', commitEmail: 'Agent@example.com' }, ['own']],
    ['a failure in a fork', {}, { event: 'workflow_failed', refusal: 'It is from a fork.' }, ['cause']],
    ['the default, without an association', {}, { association: 'UNKNOWN' }, ['sender_rights']],
    ['the default, for an event that needs rights', {}, { association: null }, []],
    [
      'the default, for who closes a pull request',
      {},
      { event: 'pull_request_closed', association: 'NONE' },
      ['sender_rights'],
    ],
    ['a failure, which a bot reports', {}, { event: 'check_failed', sender: { name: 'x', isBot: true } }, []],
  ])('by %s', (_what, filter, changes, expected) => {
    expect(failures(filter, changes)).toEqual(expected);
  });

  it.each<[unknown, string]>([
    ['text', '/filter'],
    [{ repository: ['a/b'] }, '/filter/repository'],
    [{ repositories: [] }, '/filter/repositories'],
    [{ repositories: 'a/b' }, '/filter/repositories'],
    [{ repositories: [' '] }, '/filter/repositories/0'],
    [{ repositories: ['a/b', '*'.padEnd(60, '/*')] }, '/filter/repositories/1'],
    [{ repositories: Array.from({ length: 50 }, () => '*/*/*') }, '/filter/repositories'],
    [{ author_associations: ['owner'] }, '/filter/author_associations/0'],
    [{ mention: 'two words' }, '/filter/mention'],
    [{ bots: 'yes' }, '/filter/bots'],
    [{ paths: ['x'] }, '/filter/paths'],
    [{ payload: { action: [] } }, '/filter/payload/action'],
  ])('of %j is invalid', (filter, pointer) => {
    const result = read(filter);
    expect(result.kind === 'invalid' && result.issues.map((issue) => issue.pointer)).toEqual([pointer]);
  });

  it('names the field that somebody may have meant', () => {
    const result = read({ repository: ['a/b'] });
    expect(result.kind === 'invalid' && result.issues[0]?.detail).toContain('did you mean repositories?');
  });

  it('on GitLab names the senders of events that everybody can cause', () => {
    const result = read({}, 'issue_commented', 'gitlab');
    expect(result.kind === 'invalid' && result.issues).toEqual([
      { pointer: '/filter/senders', detail: expect.stringContaining('is required') },
    ]);
    expect(read({ senders: ['*'] }, 'issue_commented', 'gitlab').kind).toBe('valid');
    expect(read(undefined, 'issue_labeled', 'gitlab').kind).toBe('valid');
    expect(read(undefined, 'pull_request_closed', 'gitlab').kind).toBe('valid');
    expect(read({ senders: ['*'], author_associations: ['OWNER'] }, 'issue_opened', 'gitlab').kind).toBe('invalid');
  });
});
