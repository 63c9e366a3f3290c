import { closestName, ownVersion } from '#platform/kernel';
import { type Command, CommandError, UsageError } from './command.js';

/** Sections of `--help`. */
const SECTIONS = [
  { requires: undefined, title: 'Processes' },
  {
    requires: 'api',
    title: 'Over the API, from anywhere (address and token: `headrace login`, or --url and --token-file)',
  },
  { requires: 'database', title: 'On the server, with its database (HEADRACE_DATA_DIR or DATABASE_URL)' },
] as const;

const USAGE_BY_REQUIREMENT = {
  api: '[--url <origin of the API>] [--token-file <path, or - for standard input>] [--json]',
  database: '[--json]',
} as const;

/** Finds the command that the arguments name, runs it and returns the exit code. Faults are printed to standard error. */
export async function runCommandLine(commands: readonly Command[], argv: readonly string[]): Promise<number> {
  const [first] = argv;
  if (first === undefined) return misuse('a command is missing', helpText(commands));
  if (first === '--version' || first === '-v') return print(ownVersion());
  if (first === '--help' || first === '-h' || first === 'help') return print(helpText(commands, argv.slice(1)));
  const command = findCommand(commands, argv);
  const isHelp = argv.includes('--help') || argv.includes('-h');
  if (!command)
    return isHelp && isGroup(commands, first) ? print(helpText(commands, [first])) : unknown(commands, argv);
  if (isHelp) return print(await helpOf(command));
  const args = argv.slice(command.name.split(' ').length);
  try {
    return await (await command.load()).run(args);
  } catch (error) {
    if (isArgumentError(error))
      return misuse(lowerFirst(error.message), usageLine(command), meantOption(error, command));
    if (!(error instanceof CommandError) && !hasOwnText(error)) throw error;
    process.stderr.write(`headrace: ${error.message}\n`);
    return 1;
  }
}

function findCommand(commands: readonly Command[], argv: readonly string[]): Command | undefined {
  const named = (words: number): Command | undefined =>
    commands.find(({ name }) => name === argv.slice(0, words).join(' '));
  return named(2) ?? named(1);
}

const isGroup = (commands: readonly Command[], word: string): boolean =>
  commands.some(({ name }) => name.startsWith(`${word} `));

/** Lists the commands, or the group when only the second word is unknown, and suggests what was probably meant. */
function unknown(commands: readonly Command[], argv: readonly string[]): number {
  const [first = '', second] = argv;
  const words = commands.map(({ name }) => name.split(' '));
  if (isGroup(commands, first)) {
    if (second === undefined || second.startsWith('-'))
      return misuse(`"${first}" needs a command`, helpText(commands, [first]));
    const best = closestName(second, commandsOf(words, first));
    const meant = best === undefined ? undefined : `${first} ${best}`;
    return misuse(`there is no command "${first} ${second}"`, helpText(commands, [first]), meant);
  }
  const best = closestName(first, [...new Set(words.map(([word = '']) => word))]);
  const next = best === undefined || second === undefined ? undefined : closestName(second, commandsOf(words, best));
  const meant = best === undefined || next === undefined ? best : `${best} ${next}`;
  return misuse(`there is no command "${first}"`, helpText(commands), meant);
}

/** The second words of a group. */
const commandsOf = (words: readonly (readonly string[])[], group: string): string[] =>
  words.flatMap(([first, second]) => (first === group && second !== undefined ? [second] : []));

/** The option of the command that a misspelt one resembles. */
function meantOption({ message }: Error, command: Command): string | undefined {
  const [, given] = /^Unknown option '--([a-z-]+)'/i.exec(message) ?? [];
  if (given === undefined) return undefined;
  const options = [...usageLine(command).matchAll(/--([a-z-]+)/g)].map(([, option = '']) => option);
  const best = closestName(given, options);
  return best === undefined ? undefined : `--${best}`;
}

/** All commands, or those of a group. */
function helpText(commands: readonly Command[], [group]: readonly string[] = []): string {
  const shown = commands.filter(({ name }) => group === undefined || name === group || name.startsWith(`${group} `));
  const listed = shown.length > 0 ? shown : commands;
  const width = Math.max(...listed.map(({ name }) => name.length));
  const sections = SECTIONS.flatMap(({ requires, title }) => {
    const lines = listed
      .filter((command) => command.requires === requires)
      .map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`);
    return lines.length === 0 ? [] : [`${title}:`, ...lines, ''];
  });
  return [
    'Usage: headrace <command> [arguments]',
    '',
    ...sections,
    'headrace <command> --help shows the arguments of a command; --version the version.',
    'Settings are read from the environment and from .env; .env.example lists them.',
  ].join('\n');
}

async function helpOf(command: Command): Promise<string> {
  const details = await command.details?.();
  return [command.summary, usageLine(command), ...(details === undefined ? [] : [details])].join('\n\n');
}

function usageLine({ name, usage, requires }: Command): string {
  const more = requires === undefined ? '' : USAGE_BY_REQUIREMENT[requires];
  return ['Usage: headrace', name, usage, more].filter((part) => part !== '').join(' ');
}

/** `node:util` parseArgs throws TypeErrors with such a code. */
function isArgumentError(error: unknown): error is Error {
  if (error instanceof UsageError) return true;
  return error instanceof TypeError && String((error as NodeJS.ErrnoException).code).startsWith('ERR_PARSE_ARGS');
}

/** Errors of the libraries whose message is written for whoever started the process. */
function hasOwnText(error: unknown): error is Error {
  return error instanceof Error && error.name === 'SettingsError';
}

/** Names of variables keep their case. */
function lowerFirst(text: string): string {
  return /^[A-Z]{2}/.test(text) ? text : text.charAt(0).toLowerCase() + text.slice(1);
}

function print(text: string): number {
  process.stdout.write(`${text}\n`);
  return 0;
}

function misuse(fault: string, help: string, meant?: string): number {
  const hint = meant === undefined ? '' : ` Did you mean "${meant}"?`;
  process.stderr.write(`headrace: ${fault.replace(/\.$/, '')}.${hint}\n\n${help}\n`);
  return 2;
}
