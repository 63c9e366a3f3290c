import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SettingsError } from '#platform/config';
import { type Command, CommandError, UsageError } from './command.js';
import { COMMANDS } from './command-table.js';
import { runCommandLine } from './run-command-line.js';

let output = '';
let errors = '';
const seen = vi.fn<(args: readonly string[]) => Promise<number>>();

const command = (name: string, run: (args: readonly string[]) => Promise<number>): Command => ({
  name,
  usage: '<thing>',
  summary: `Does ${name}`,
  load: () => Promise.resolve({ run }),
});
const fails = (error: Error) => () => Promise.reject(error);

const commands = [
  command('go', seen),
  command('group one', seen),
  command('misused', fails(new UsageError('<thing> is missing'))),
  command('refused', fails(new CommandError('there is no such thing.'))),
  command('unset', fails(new SettingsError(['PORT must be a number.']))),
  command('broken', fails(new Error('a bug'))),
];

beforeEach(() => {
  [output, errors] = ['', ''];
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => ((output += String(text)), true));
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => ((errors += String(text)), true));
  seen.mockReset().mockResolvedValue(0);
});
afterEach(() => vi.restoreAllMocks());

describe('headrace', () => {
  it.each([
    [
      ['go', 'a', '--b'],
      ['a', '--b'],
    ],
    [['group', 'one', 'c'], ['c']],
  ])('%j runs its command with %j', async (argv, args) => {
    seen.mockResolvedValue(7);
    expect(await runCommandLine(commands, argv)).toBe(7);
    expect(seen).toHaveBeenCalledWith(args);
  });

  it.each([
    [[], 'a command is missing'],
    [['fly'], 'there is no command "fly"'],
    [['fly', 'away'], 'there is no command "fly"'],
    [['group'], '"group" needs a command'],
    [['group', 'two'], 'there is no command "group two"'],
  ])('%j says what is wrong, lists the commands, and exits 2', async (argv, fault) => {
    expect(await runCommandLine(commands, argv)).toBe(2);
    expect(errors).toContain(`headrace: ${fault}.\n`);
    expect(errors).toMatch(/ {2}group one +Does group one\n/);
    expect(output).toBe('');
  });

  it.each([
    [['gruop', 'one'], 'group one'],
    [['group', 'onee'], 'group one'],
    [['missused'], 'misused'],
  ])('%j suggests the command "%s"', async (argv, meant) => {
    expect(await runCommandLine(commands, argv)).toBe(2);
    expect(errors).toContain(`Did you mean "${meant}"?`);
  });

  it('suggests the option that a misspelt one resembles', async () => {
    expect(await runCommandLine(COMMANDS, ['run', 'create', '--promt', 'x'])).toBe(2);
    expect(errors).toContain('Did you mean "--prompt"?');
  });

  it('lists the commands of a group on --help, without running anything', async () => {
    expect(await runCommandLine(commands, ['group', '--help'])).toBe(0);
    expect(output).toContain('  group one  Does group one\n');
    expect(output).not.toContain('Does go');
  });

  it('says which commands need the database of the server and which call the API', async () => {
    expect(await runCommandLine(COMMANDS, ['--help'])).toBe(0);
    const section = (title: string): string => output.split('\n\n').find((text) => text.startsWith(title)) ?? '';
    expect(section('On the server, with its database')).toMatch(/^ {2}token create /m);
    expect(section('Over the API')).toMatch(/^ {2}run create /m);
    expect(section('Processes')).toMatch(/^ {2}up /m);
  });

  it('tells a misused command by its usage line', async () => {
    expect(await runCommandLine(commands, ['misused'])).toBe(2);
    expect(errors).toBe('headrace: <thing> is missing.\n\nUsage: headrace misused <thing>\n');
  });

  it('tells an expected failure in one line', async () => {
    expect(await runCommandLine(commands, ['refused'])).toBe(1);
    expect(errors).toBe('headrace: there is no such thing.\n');
    expect(await runCommandLine(commands, ['unset'])).toBe(1);
    expect(errors).toContain('  - PORT must be a number.');
  });

  it('does not hide a bug', async () => {
    await expect(runCommandLine(commands, ['broken'])).rejects.toThrow('a bug');
  });

  it('helps, and tells its version, without running anything', async () => {
    for (const argv of [['--help'], ['-h'], ['help'], ['go', '--help'], ['--version']])
      expect(await runCommandLine(commands, argv)).toBe(0);
    expect(output).toContain('Does go\n\nUsage: headrace go <thing>\n');
    expect(output).toMatch(/^\d+\.\d+\.\d+$/m);
    expect(seen).not.toHaveBeenCalled();
  });
});

describe('every command of the table', () => {
  it.each(COMMANDS.map((entry) => [entry.name, entry] as const))('%s can be loaded', async (_name, entry) => {
    expect(await entry.load()).toHaveProperty('run', expect.any(Function));
  });

  it.each([
    [['up', 'x'], 'unexpected argument "x"'],
    [['api', '--port', '1'], 'unexpected argument "--port"'],
    [['migrate', 'x'], 'unexpected argument "x"'],
    [['token', 'create'], 'one of --user, --service-account and --agent is needed'],
    [['token', 'create', '--user', 'a', '--agent', 'b'], '--user, --service-account and --agent exclude each other'],
    [
      ['token', 'create', '--user', 'a', '--expires', 'soon'],
      '--expires must be a duration such as 30d or a date such as 2030-01-31T00:00:00Z',
    ],
    [['token', 'revoke'], '<token-uid> is missing'],
    [['token', 'revoke', 'a', 'b'], 'unexpected argument "b"'],
    [['token', 'list', '--all'], "unknown option '--all'"],
    [
      ['team', 'create', 'A', '--max-concurrent-runs', '0'],
      '--max-concurrent-runs must be a whole number from 1 to 999999',
    ],
    [['team', 'update'], '<uid> is missing'],
    [['team', 'update', 'a'], 'there is nothing to change'],
    [['team', 'update', 'a', '--name', ' '], '--name is missing'],
    [['team', 'update', 'a', '--schedules', 'true'], '--schedules must be on or off'],
    [
      ['team', 'update', 'a', '--default-worker-host', 'Warp-1'],
      '--default-worker-host must be exactly `warp`, for hosted workers, or a name that does not begin with it, in any case',
    ],
    [
      ['team', 'update', 'a', '--max-concurrent-runs', '0'],
      '--max-concurrent-runs must be a whole number from 1 to 999999',
    ],
    [['user', 'create', 'nobody'], '<email> must be an e-mail address'],
    [['user', 'add', 'u', '--role', 'owner'], '--team is missing'],
    [['user', 'add', 'u', '--team', 't', '--role', 'king'], '--role must be one of owner, admin, member, viewer'],
    [['service-account', 'create', 'bot'], '--team is missing'],
    [['secrets', 'list'], '--team is missing'],
    [['secrets', 'set', 'a', 'value', '--team', 't'], 'unexpected argument "value"'],
    [
      ['secrets', 'set', 'a b', '--team', 't'],
      '<name> must be 1 to 128 letters, digits, dots, underscores and hyphens',
    ],
    [['secrets', 'delete', '--team', 't'], '<name> is missing'],
    [['secrets', 'rotate-key', 'now'], "unexpected argument 'now'"],
  ])('%j is misuse, found before anything is opened', async (argv, fault) => {
    expect(await runCommandLine(COMMANDS, argv)).toBe(2);
    expect(errors).toContain(`headrace: ${fault}`);
  });
});
