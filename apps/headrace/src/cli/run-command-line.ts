import { closestName, ownVersion } from '#platform/kernel';
import { type CommandEntry, type CommandModule, isForUser, UsageError } from './command.js';
import { commandHelp, overview, usageLine } from './help.js';

export async function runCommandLine(commands: readonly CommandEntry[], argv: readonly string[]): Promise<number> {
  const [first] = argv;
  if (first === undefined) return misuse('a command is missing', overview(commands));
  if (first === '--version' || first === '-v') return print(ownVersion());
  if (first === '--help' || first === '-h' || first === 'help') return print(overview(commands, argv[1]));
  const entry = findCommand(commands, argv);
  const isHelp = argv.includes('--help') || argv.includes('-h');
  if (!entry)
    return isHelp && isGroup(commands, first) ? print(overview(commands, first)) : unknownCommand(commands, argv);
  const module = await entry.load();
  if (isHelp) return print(await commandHelp(entry, module));
  try {
    return await module.run(argv.slice(entry.name.split(' ').length));
  } catch (error) {
    if (error instanceof UsageError)
      return misuse(error.message, usageLine(entry, module), similarOption(error, module));
    if (!isForUser(error)) throw error;
    process.stderr.write(`headrace: ${error.message}\n`);
    return 1;
  }
}

function findCommand(commands: readonly CommandEntry[], argv: readonly string[]): CommandEntry | undefined {
  const named = (words: number): CommandEntry | undefined =>
    commands.find(({ name }) => name === argv.slice(0, words).join(' '));
  return named(2) ?? named(1);
}

const isGroup = (commands: readonly CommandEntry[], word: string): boolean =>
  commands.some(({ name }) => name.startsWith(`${word} `));

/** Lists the commands, or the group when only the second word is unknown, and suggests a similar command. */
function unknownCommand(commands: readonly CommandEntry[], argv: readonly string[]): number {
  const [first = '', second] = argv;
  const words = commands.map(({ name }) => name.split(' '));
  const commandsOf = (group: string): string[] =>
    words.flatMap(([word, next]) => (word === group && next !== undefined ? [next] : []));
  if (isGroup(commands, first)) {
    if (second === undefined || second.startsWith('-'))
      return misuse(`"${first}" needs a command`, overview(commands, first));
    const best = closestName(second, commandsOf(first));
    const similar = best === undefined ? undefined : `${first} ${best}`;
    return misuse(`unknown command "${first} ${second}"`, overview(commands, first), similar);
  }
  const best = closestName(first, [...new Set(words.map(([word = '']) => word))]);
  const next = best === undefined || second === undefined ? undefined : closestName(second, commandsOf(best));
  const similar = best === undefined || next === undefined ? best : `${best} ${next}`;
  return misuse(`unknown command "${first}"`, overview(commands), similar);
}

function similarOption({ message }: UsageError, { options }: CommandModule): string | undefined {
  const [, given] = /^unknown option '--([a-z-]+)'/i.exec(message) ?? [];
  const best = given === undefined ? undefined : closestName(given, Object.keys(options));
  return best === undefined ? undefined : `--${best}`;
}

function print(text: string): number {
  process.stdout.write(`${text}\n`);
  return 0;
}

function misuse(problem: string, help: string, similar?: string): number {
  const hint = similar === undefined ? '' : ` Did you mean "${similar}"?`;
  process.stderr.write(`headrace: ${problem.replace(/\.$/, '')}.${hint}\n\n${help}\n`);
  return 2;
}
