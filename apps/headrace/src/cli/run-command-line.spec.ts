import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SettingsError } from '#platform/config';
import { command as define, type CommandEntry, CommandError, text, UsageError } from './command.js';
import { COMMANDS } from './command-table.js';
import { runCommandLine } from './run-command-line.js';

let output = '';
let errors = '';
const seen = vi.fn<(option: string | undefined, argument: string) => Promise<number>>();

const command = (
  name: string,
  run: (option: string | undefined, argument: string) => Promise<number>,
): CommandEntry => ({
  name,
  summary: `Does ${name}`,
  requires: null,
  load: () =>
    Promise.resolve(
      define({
        argument: 'thing',
        options: { b: text('value', 'An option.', { default: 'x', variable: 'B' }) },
        run: ({ b }, argument) => run(b, argument),
      }),
    ),
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
    [['go', 'a', '--b', 'c'], 'c', 'a'],
    [['group', 'one', 'a'], 'x', 'a'],
  ])('%j runs its command with --b %s and <thing> %s', async (argv, option, argument) => {
    seen.mockResolvedValue(7);
    expect(await runCommandLine(commands, argv)).toBe(7);
    expect(seen).toHaveBeenCalledWith(option, argument);
  });

  it.each([
    [[], 'a command is missing'],
    [['fly'], 'unknown command "fly"'],
    [['fly', 'away'], 'unknown command "fly"'],
    [['group'], '"group" needs a command'],
    [['group', 'two'], 'unknown command "group two"'],
  ])('%j is rejected with the list of commands and exit code 2', async (argv, fault) => {
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

  it('suggests the option that a misspelled option resembles', async () => {
    expect(await runCommandLine(COMMANDS, ['run', 'create', '--promt', 'x'])).toBe(2);
    expect(errors).toContain('Did you mean "--prompt"?');
  });

  it('lists the commands of a group on --help, without running anything', async () => {
    expect(await runCommandLine(commands, ['group', '--help'])).toBe(0);
    expect(output).toContain('  group one  Does group one\n');
    expect(output).not.toContain('Does go');
  });

  it('lists commands by what they need: nothing, the API or the database', async () => {
    expect(await runCommandLine(COMMANDS, ['--help'])).toBe(0);
    const section = (title: string): string => output.split('\n\n').find((text) => text.startsWith(title)) ?? '';
    expect(section('On the server, with its database')).toMatch(/^ {2}administrator create /m);
    for (const command of ['run', 'token', 'team', 'user', 'service-account', 'factory'])
      expect(section('Over the API')).toMatch(new RegExp(`^ {2}${command} create `, 'm'));
    expect(section('Processes')).toMatch(/^ {2}up /m);
  });

  it('prints the usage line after a usage error', async () => {
    expect(await runCommandLine(commands, ['misused', 'a'])).toBe(2);
    expect(errors).toBe('headrace: <thing> is missing.\n\nUsage: headrace misused <thing> [options]\n');
  });

  it('prints an expected failure in one line', async () => {
    expect(await runCommandLine(commands, ['refused', 'a'])).toBe(1);
    expect(errors).toBe('headrace: there is no such thing.\n');
    expect(await runCommandLine(commands, ['unset', 'a'])).toBe(1);
    expect(errors).toContain('  - PORT must be a number.');
  });

  it('rethrows an unexpected error', async () => {
    await expect(runCommandLine(commands, ['broken', 'a'])).rejects.toThrow('a bug');
  });

  it('prints help and version without running a command', async () => {
    for (const argv of [['--help'], ['-h'], ['help'], ['go', '--help'], ['--version']])
      expect(await runCommandLine(commands, argv)).toBe(0);
    expect(output).toContain(
      'Does go\n\nUsage: headrace go <thing> [options]\n\nOptions:\n  --b <value>  An option. Default: x. Environment: B.\n',
    );
    expect(output).toMatch(/^\d+\.\d+\.\d+$/m);
    expect(seen).not.toHaveBeenCalled();
  });
});

describe('headrace worker', () => {
  it('does not start with the old name of a setting in the environment', async () => {
    vi.stubEnv('HARNESSES', 'harnesses.json');
    expect(await runCommandLine(COMMANDS, ['worker', '--worker-id', 'a'])).toBe(2);
    vi.unstubAllEnvs();
    expect(errors).toContain('headrace: HARNESSES was renamed to HARNESSES_FILE.\n');
  });
});

describe('every command of the table', () => {
  it.each(COMMANDS.map((entry) => [entry.name, entry] as const))('%s can be loaded', async (_name, entry) => {
    expect(await entry.load()).toHaveProperty('run', expect.any(Function));
  });

  it.each([
    [['up', 'x'], 'unexpected argument "x"'],
    [['api', '--port', '1'], "unknown option '--port'"],
    [['migrate', 'x'], 'unexpected argument "x"'],
    [['administrator', 'create', 'nobody'], '<email> must be an e-mail address'],
    [['administrator', 'token'], '<uid|email> is missing'],
    [
      ['token', 'create', '--user', 'a', '--agent', 'b'],
      '--user, --service-account and --agent are mutually exclusive',
    ],
    [
      ['token', 'create', '--user', 'a', '--expires', 'soon'],
      '--expires must be a duration such as 30d or a date such as 2030-01-31T00:00:00Z',
    ],
    [['token', 'revoke'], '<token-uid> is missing'],
    [['token', 'revoke', 'a', 'b'], 'unexpected argument "b"'],
    [['token', 'list', '--all'], "unknown option '--all'"],
    [
      ['team', 'create', 'A', '--max-concurrent-runs', '0'],
      '--max-concurrent-runs must be an integer between 1 and 999999',
    ],
    [['team', 'update'], '<uid> is missing'],
    [['team', 'update', 'a'], 'nothing to update'],
    [['team', 'update', 'a', '--name', ' '], '--name is missing'],
    [['team', 'update', 'a', '--schedules', 'true'], '--schedules must be one of on, off'],
    [
      ['team', 'update', 'a', '--default-worker-host', 'Warp-1'],
      '--default-worker-host must be exactly `warp`, for hosted workers, or a name that does not begin with it, in any case',
    ],
    [
      ['team', 'update', 'a', '--max-concurrent-runs', '0'],
      '--max-concurrent-runs must be an integer between 1 and 999999',
    ],
    [['user', 'create', 'nobody'], '<email> must be an e-mail address'],
    [['user', 'add', 'u'], '--role is missing'],
    [['user', 'add', 'u', '--team', 't', '--role', 'king'], '--role must be one of owner, admin, member, viewer'],
    [['service-account', 'create'], '<name> is missing'],
    [['invitation', 'create', 'a@b.test', '--role', 'king'], '--role must be one of owner, admin, member, viewer'],
    [['factory', 'update', 'a'], 'nothing to update'],
    [['secrets', 'list'], '--team is missing'],
    [['secrets', 'set', 'a', 'value', '--team', 't'], 'unexpected argument "value"'],
    [
      ['secrets', 'set', 'a b', '--team', 't'],
      '<name> must be 1 to 128 letters, digits, dots, underscores and hyphens',
    ],
    [['secrets', 'delete', '--team', 't'], '<name> is missing'],
    [['secrets', 'rotate-key', 'now'], 'unexpected argument "now"'],
  ])('%j is a usage error, found before anything is opened', async (argv, fault) => {
    expect(await runCommandLine(COMMANDS, argv)).toBe(2);
    expect(errors).toContain(`headrace: ${fault}`);
  });
});
