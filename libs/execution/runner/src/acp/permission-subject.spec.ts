import { describe, expect, it } from 'vitest';
import { isSameSubject, permissionFacts, subjectOf, type PermissionFacts } from './permissions.js';

const same = (text: string): string => text;
const of = (facts: PermissionFacts, title = 'Title') => subjectOf(facts, title, same, '/srv/1');

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
    const redacted = subjectOf(
      { commandLine: 'curl -u me:hunter2' },
      '',
      (text) => text.replace('hunter2', '***'),
      '/srv/1',
    );
    expect(redacted.value).toBe('curl -u me:***');
    const [one, two] = ['a', 'b'].map((end) => of({ commandLine: 'x'.repeat(100_000) + end }));
    expect(one?.value.length).toBeLessThan(400);
    expect(one?.value).not.toBe(two?.value);
    expect(of({ commandLine: 'x'.repeat(100_000) + 'a' })).toEqual(one);
  });

  it('differs from a value that looks like its cut form', () => {
    const long = of({ commandLine: 'x'.repeat(100_000) });
    const imitation = of({ commandLine: long.value });
    expect(imitation.value.length).toBeLessThan(1_024);
    expect(isSameSubject(long, imitation)).toBe(false);
  });

  it('differs for lists of words that differ, and has the directory of a command', () => {
    const commands = [
      ['sh', '-c', 'echo', 'hi; ls'],
      ['sh', '-c', 'echo hi; ls'],
      ['sh', '-c', "echo 'hi; ls"],
    ];
    const subjects = commands.map((command) => of(permissionFacts({ rawInput: { command, cwd: '/work' } })));
    expect(subjects).toEqual(
      ["sh -c echo 'hi; ls'", "sh -c 'echo hi; ls'", "sh -c 'echo '\\''hi; ls'"].map((value) => ({
        type: 'command',
        value,
        directory: '/work',
      })),
    );
  });

  it('has a directory of the workspace relative to it, which has another path in the next execution', () => {
    const directories = ['/srv/1/work/app', '/srv/10/work', '/srv/1/../2', '/etc', 'work/app'];
    expect(directories.map((directory) => of({ commandLine: 'ls', directory }).directory)).toEqual([
      'work/app',
      '/srv/10/work',
      '/srv/2',
      '/etc',
      './work/app',
    ]);
  });

  it('has a hash of the input of a command that is more than the command', () => {
    const subject = (kind: string | undefined, rawInput: object) => of(permissionFacts({ kind, rawInput }));
    const [one, two] = ['a.txt', 'b.txt'].map((path) => subject('edit', { command: 'create', path, file_text: 'x' }));
    expect(one).toEqual({ type: 'command', value: 'create', input_sha256: expect.stringMatching(/^[0-9a-f]{64}$/) });
    expect(two).not.toEqual(one);
    expect(subject('edit', { file_text: 'x', path: 'a.txt', command: 'create' })).toEqual(one);
    const shell = { command: 'ls', cwd: '/etc', description: 'List files', timeout: 5 };
    expect(subject('execute', shell)).toEqual({ type: 'command', value: 'ls', directory: '/etc' });
    expect(subject('execute', { ...shell, host: 'production' })).toHaveProperty('input_sha256');
  });

  it.each(['file:///etc/passwd', 'data:,x', 's3://bucket/key'])('is the whole address of %s', (address) => {
    expect(of({ toolKind: 'fetch', address })).toEqual({ type: 'address', value: address });
  });

  it('is the same only when all fields are equal', () => {
    const push = { type: 'command', value: 'git push', tool: 'Bash' } as const;
    expect(isSameSubject(push, { ...push })).toBe(true);
    expect(isSameSubject(push, { ...push, value: 'git push -f' })).toBe(false);
    expect(isSameSubject(push, { ...push, tool: 'Shell' })).toBe(false);
    expect(isSameSubject(push, { ...push, directory: '/tmp' })).toBe(false);
    expect(isSameSubject(push, { type: 'command', value: 'git push' })).toBe(false);
    expect(isSameSubject(push, { ...push, type: 'title' })).toBe(false);
  });
});
