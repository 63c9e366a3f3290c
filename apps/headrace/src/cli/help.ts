import type { CommandEntry, CommandModule, Option } from './command.js';

const SECTIONS = [
  { requires: null, title: 'Processes' },
  {
    requires: 'api',
    title: 'Over the API, from anywhere (address and token: `headrace login`, or --url and --token-file)',
  },
  { requires: 'database', title: 'On the server, with its database (HEADRACE_DATA_DIR or DATABASE_URL)' },
] as const;
const MAX_SIGNATURE = 34;
const MAX_LINE = 120;

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
  const required = entries
    .filter(([, option]) => option.isRequired)
    .map(([name, option]) => signature({ name, ...option }));
  return [
    `Usage: headrace ${name}`,
    ...(argument === undefined ? [] : [`<${argument}>`]),
    ...required,
    ...(entries.length > required.length ? ['[options]'] : []),
  ].join(' ');
}

export async function commandHelp(entry: CommandEntry, module: CommandModule): Promise<string> {
  const options = Object.entries(module.options).map(([name, option]) => ({ name, ...option }));
  const details = await module.details?.();
  return [
    entry.summary,
    usageLine(entry, module),
    ...(options.length > 0 ? [optionsHelp(options)] : []),
    ...(details === undefined ? [] : [details]),
  ].join('\n\n');
}

export type OptionHelp = Pick<Option<unknown>, 'value' | 'description' | 'default' | 'variable'> & {
  readonly name: string;
  readonly short?: string;
  readonly isRequired?: boolean;
  readonly isRepeatable?: boolean;
};

export function optionsHelp(options: readonly OptionHelp[]): string {
  const rows = options.map((option) => [signature(option), describe(option)] as const);
  const width = Math.min(MAX_SIGNATURE, Math.max(0, ...rows.map(([head]) => head.length)));
  const lines = rows.flatMap(([head, description]) => {
    const [first = '', ...rest] = wrap(description, MAX_LINE - width - 4);
    const start =
      head.length <= width ? [`${head.padEnd(width)}  ${first}`] : [head, `${' '.repeat(width + 2)}${first}`];
    return [...start, ...rest.map((line) => `${' '.repeat(width + 2)}${line}`)];
  });
  return ['Options:', ...lines.map((line) => `  ${line}`)].join('\n');
}

const signature = ({ name, short, value }: OptionHelp): string =>
  `${short === undefined ? '' : `-${short}, `}--${name}${value === null ? '' : ` <${value}>`}`;

function describe({ description, isRequired, isRepeatable, default: fallback, variable }: OptionHelp): string {
  return [
    description,
    ...(isRequired === true ? ['Required.'] : []),
    ...(isRepeatable === true ? ['May be repeated.'] : []),
    ...(fallback === undefined ? [] : [`Default: ${fallback}.`]),
    ...(variable === undefined ? [] : [`Environment: ${variable}.`]),
  ].join(' ');
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
