import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Command, CommandError, UsageError } from './command.js';

/** Finds the command that the arguments name, runs it and returns the exit code. Faults are told on standard error. */
export async function runCommandLine(commands: readonly Command[], argv: readonly string[]): Promise<number> {
  const [first] = argv;
  if (first === undefined) return misuse('a command is missing', helpText(commands));
  if (first === '--version' || first === '-v') return say(version());
  if (first === '--help' || first === '-h' || first === 'help') return say(helpText(commands));
  const command = findCommand(commands, argv);
  if (!command) return misuse(`there is no command "${describeUnknown(commands, argv)}"`, helpText(commands));
  const args = argv.slice(command.name.split(' ').length);
  if (args.includes('--help') || args.includes('-h')) return say(await helpOf(command));
  try {
    return await (await command.load()).run(args);
  } catch (error) {
    if (isArgumentError(error)) return misuse(lowerFirst(error.message), usageLine(command));
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

function describeUnknown(commands: readonly Command[], argv: readonly string[]): string {
  const isGroup = commands.some(({ name }) => name.startsWith(`${argv[0]} `));
  return argv.slice(0, isGroup ? 2 : 1).join(' ');
}

function helpText(commands: readonly Command[]): string {
  const width = Math.max(...commands.map(({ name }) => name.length));
  return [
    'Usage: headrace <command> [arguments]',
    '',
    ...commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`),
    '',
    'headrace <command> --help shows the arguments of a command; --version the version.',
    'Settings are read from the environment and from .env; .env.example lists them.',
  ].join('\n');
}

async function helpOf(command: Command): Promise<string> {
  const details = await command.details?.();
  return [command.summary, usageLine(command), ...(details === undefined ? [] : [details])].join('\n\n');
}

const usageLine = ({ name, usage }: Command): string => `Usage: headrace ${name}${usage === '' ? '' : ` ${usage}`}`;

function version(): string {
  let directory = import.meta.dirname;
  while (!existsSync(join(directory, 'package.json'))) directory = dirname(directory);
  return (JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as { version: string }).version;
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

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

function say(text: string): number {
  process.stdout.write(`${text}\n`);
  return 0;
}

function misuse(fault: string, help: string): number {
  process.stderr.write(`headrace: ${fault}.\n\n${help}\n`);
  return 2;
}
