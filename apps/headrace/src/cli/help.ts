import type { CommandModule, Option, OptionTable } from './command.js';
import type { CommandEntry } from './command-table.js';

const SECTIONS = [
  { requires: null, title: 'Processes' },
  {
    requires: 'api',
    title: 'Over the API, from anywhere (address and token: `headrace login`, or --url and --token-file)',
  },
  { requires: 'database', title: 'On the server, with its database (HEADRACE_DATA_DIR or DATABASE_URL)' },
] as const;
const MAX_WIDTH = 34;

/** All commands, or those of a group. */
export function overview(commands: readonly CommandEntry[], group?: string): string {
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

export function usageLine({ name }: CommandEntry, { argument, options }: CommandModule): string {
  const entries = Object.entries(options);
  const required = entries.filter(([, option]) => option.isRequired).map(([key, option]) => signature(key, option));
  return [
    `Usage: headrace ${name}`,
    ...(argument === undefined ? [] : [`<${argument}>`]),
    ...required,
    ...(entries.length > required.length ? ['[options]'] : []),
  ].join(' ');
}

/** Summary, usage line, options and details of one command. */
export async function commandHelp(entry: CommandEntry, module: CommandModule): Promise<string> {
  const options = optionLines(module.options);
  const details = await module.details?.();
  return [
    entry.summary,
    usageLine(entry, module),
    ...(options.length > 0 ? [['Options:', ...options].join('\n')] : []),
    ...(details === undefined ? [] : [details]),
  ].join('\n\n');
}

function optionLines(options: OptionTable): string[] {
  const rows = Object.entries(options).map(([name, option]) => [signature(name, option), describe(option)] as const);
  const width = Math.min(MAX_WIDTH, Math.max(0, ...rows.map(([head]) => head.length)));
  return rows.map(([head, text]) =>
    head.length <= width ? `  ${head.padEnd(width)}  ${text}` : `  ${head}\n${' '.repeat(width + 4)}${text}`,
  );
}

const signature = (name: string, { value }: Option<unknown>): string =>
  value === null ? `--${name}` : `--${name} <${value}>`;

function describe({ description, isRequired, isRepeatable, default: fallback, variable }: Option<unknown>): string {
  return [
    description,
    ...(isRequired ? ['Required.'] : []),
    ...(isRepeatable ? ['May be repeated.'] : []),
    ...(fallback === undefined ? [] : [`Default: ${fallback}.`]),
    ...(variable === undefined ? [] : [`Environment: ${variable}.`]),
  ].join(' ');
}
