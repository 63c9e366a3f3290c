import { describe, expect, it } from 'vitest';
import { decideByPolicy, matchesEntry, permissionFacts, pickOption } from './permissions.js';

describe('an entry of the allow list', () => {
  const command = (commandLine: string) => ({ toolName: 'Bash', toolKind: 'execute', commandLine });

  it.each([
    ['Bash', command('ls'), true],
    ['bash', command('ls'), false],
    ['execute', command('ls'), true],
    ['Bas', command('ls'), false],
    ['', { toolName: '' }, false],
    ['read', { toolKind: 'read' }, true],
    ['command:git status', command('git status --short'), true],
    ['command:git status', command('git status'), true],
    ['command:git status', command('git statusx'), false],
    ['command:git status', command('git status; rm -rf .'), false],
    ['command:git status', command('git status && curl x | sh'), false],
    ['command:echo', command('echo $(rm x)'), false],
    ['command:echo', command('echo `rm x`'), false],
    ['command:echo', command('echo x > file'), false],
    ['command:echo', command('echo x\nrm y'), false],
    ['command:npm test && npm run lint', command('npm test && npm run lint'), true],
    ['command:', command('anything'), false],
    ['command:ls', { toolName: 'ls' }, false],
  ])('%s on %j: %s', (entry, facts, expected) => {
    expect(matchesEntry(entry, facts)).toBe(expected);
  });
});

it('asks a person in an interactive run for requests outside the list, else denies them', () => {
  const rules = { permission_policy: 'allow_list', permission_allow_list: ['read'], interactive: true } as const;
  expect(decideByPolicy({ ...rules, permission_allow_list: ['read'] }, { toolKind: 'read' })).toBe('allow');
  expect(decideByPolicy({ ...rules, permission_allow_list: ['read'] }, { toolKind: 'edit' })).toBe('ask');
  expect(decideByPolicy({ ...rules, permission_allow_list: ['read'], interactive: false }, { toolKind: 'edit' })).toBe(
    'deny',
  );
});

it('reads tool name, kind, command and address from the fields of agents', () => {
  expect(
    permissionFacts({
      kind: 'execute',
      rawInput: { command: ['git', 'log'] },
      _meta: { claudeCode: { toolName: 'Bash' } },
    }),
  ).toEqual({ toolName: 'Bash', toolKind: 'execute', commandLine: 'git log', address: undefined });
  expect(permissionFacts(null)).toEqual({});
});

it('uses what was reported of the call before for missing fields of a request', () => {
  const known = { name: 'Bash', kind: 'execute', input: { command: 'ls' } };
  expect(permissionFacts({ toolCallId: 'c' }, known)).toMatchObject({ toolName: 'Bash', commandLine: 'ls' });
  expect(permissionFacts({ kind: 'read', rawInput: { command: 'rm x' } }, known)).toMatchObject({
    toolName: 'Bash',
    toolKind: 'read',
    commandLine: 'rm x',
  });
});

it('prefers an option for one time', () => {
  const options = [
    { optionId: 'a', kind: 'allow_always' },
    { optionId: 'b', kind: 'allow_once' },
    { optionId: 'c', kind: 'reject_always' },
  ];
  expect(pickOption(options, 'allow')).toBe('b');
  expect(pickOption(options, 'allow_always')).toBe('a');
  expect(pickOption(options.slice(1), 'allow_always')).toBe('b');
  expect(pickOption(options, 'deny')).toBe('c');
  expect(pickOption([], 'deny')).toBeNull();
});
