import { describe, expect, it } from 'vitest';
import { isSameSubject, subjectOf, type PermissionFacts } from './permissions.js';

const same = (text: string): string => text;
const of = (facts: PermissionFacts, title = 'Title') => subjectOf(facts, title, same);

describe('the subject of a permission request', () => {
  it.each<[string, PermissionFacts, object]>([
    [
      'a command line, with the tool that runs it',
      { toolName: 'Bash', toolKind: 'execute', commandLine: ' git push ' },
      { type: 'command', value: 'git push', tool: 'Bash' },
    ],
    ['a command line alone', { commandLine: 'ls' }, { type: 'command', value: 'ls' }],
    [
      'the origin of an address',
      { toolName: 'WebFetch', toolKind: 'fetch', address: 'https://user:pw@docs.example.com/a?b=c' },
      { type: 'address', value: 'https://docs.example.com', tool: 'WebFetch' },
    ],
    ['no address at all', { toolKind: 'fetch', address: 'nonsense' }, { type: 'kind', value: 'fetch' }],
    ['the tool', { toolName: 'Edit', toolKind: 'edit' }, { type: 'tool', value: 'Edit' }],
    ['the kind', { toolKind: 'edit' }, { type: 'kind', value: 'edit' }],
    ['a kind that says nothing', { toolKind: 'other' }, { type: 'title', value: 'Title' }],
    ['a mode', { toolKind: 'switch_mode' }, { type: 'title', value: 'Title' }],
    [
      'a tool that runs a command which it does not tell',
      { toolName: 'Bash', toolKind: 'execute' },
      { type: 'title', value: 'Title', tool: 'Bash' },
    ],
    ['nothing reported', {}, { type: 'title', value: 'Title' }],
  ])('%s', (_what, facts, expected) => {
    expect(of(facts)).toEqual(expected);
  });

  it('has no secrets and a limited length, and differs for different values', () => {
    const redacted = subjectOf({ commandLine: 'curl -u me:hunter2' }, '', (text) => text.replace('hunter2', '***'));
    expect(redacted.value).toBe('curl -u me:***');
    const [one, two] = ['a', 'b'].map((end) => of({ commandLine: 'x'.repeat(100_000) + end }));
    expect(one?.value.length).toBeLessThan(400);
    expect(one?.value).not.toBe(two?.value);
    expect(of({ commandLine: 'x'.repeat(100_000) + 'a' })).toEqual(one);
  });

  it('is the same only when all fields are equal', () => {
    const push = { type: 'command', value: 'git push', tool: 'Bash' } as const;
    expect(isSameSubject(push, { ...push })).toBe(true);
    expect(isSameSubject(push, { ...push, value: 'git push -f' })).toBe(false);
    expect(isSameSubject(push, { ...push, tool: 'Shell' })).toBe(false);
    expect(isSameSubject(push, { type: 'command', value: 'git push' })).toBe(false);
    expect(isSameSubject(push, { ...push, type: 'title' })).toBe(false);
  });
});
