import { parseArgs, type ParseArgsConfig } from 'node:util';

/** Wrong usage: printed with the usage line, exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** A failure that the message explains to the user: printed without a stack trace, exit code 1. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}

/** Failures that are printed without a stack trace; those of the settings come from a library that knows no commands. */
export const isForUser = (error: unknown): error is Error =>
  error instanceof CommandError || (error instanceof Error && error.name === 'SettingsError');

/** An option of a command. Parsing, help and the TypeScript type of its value are derived from it. */
export interface Option<T> {
  readonly type: 'string' | 'boolean';
  /** Placeholder of the value in help, such as `uid`; null for a switch. */
  readonly value: string | null;
  readonly description: string;
  readonly isRequired: boolean;
  readonly isRepeatable: boolean;
  readonly default?: string;
  /** Variable that is read when the option is missing. */
  readonly variable?: string;
  /** Converts what the command line has. `name` is for messages. */
  readonly parse: (given: unknown, name: string) => T;
}

export type OptionTable = Readonly<Record<string, Option<unknown>>>;
export type OptionValues<O extends OptionTable> = {
  readonly [K in keyof O]: O[K] extends Option<infer T> ? T : never;
};

type TextExtras = Pick<Option<string>, 'default' | 'variable'>;

const define = <T>(
  value: string | null,
  description: string,
  parse: (given: string | undefined, name: string) => T,
  extras: Partial<Option<T>> = {},
): Option<T> => ({
  type: 'string',
  value,
  description,
  isRequired: false,
  isRepeatable: false,
  ...extras,
  parse: (given, name) => parse((given as string | undefined) ?? extras.default, name),
});

export const text = (value: string, description: string, extras: TextExtras = {}): Option<string | undefined> =>
  define(value, description, (given) => given, extras);

export const requiredText = (value: string, description: string): Option<string> =>
  define(value, description, (given, name) => filled(`--${name}`, given), { isRequired: true });

/** Optional text that is converted. `parse` may throw a UsageError that contains the name of the option. */
export const parsed = <T>(
  value: string,
  description: string,
  parse: (given: string, option: string) => T,
  extras: TextExtras = {},
): Option<T | undefined> =>
  define<T | undefined>(
    value,
    description,
    (given, name) => (given === undefined ? undefined : parse(given, `--${name}`)),
    extras,
  );

export const filledText = (value: string, description: string): Option<string | undefined> =>
  parsed(value, description, (given, option) => filled(option, given));

export const choice = <const C extends string>(
  choices: readonly C[],
  description: string,
  extras: TextExtras = {},
): Option<C | undefined> =>
  parsed(choices.join('|'), description, (given, option) => oneOf(option, choices, given), extras);

export const integer = (min: number, max: number, description: string): Option<number | undefined> =>
  parsed('number', description, (given, option) => parseInteger(option, given, min, max));

export const list = (value: string, description: string): Option<readonly string[]> => ({
  ...define<readonly string[]>(value, description, () => []),
  isRepeatable: true,
  parse: (given) => (given as string[] | undefined) ?? [],
});

export const flag = (description: string): Option<boolean> => ({
  ...define<boolean>(null, description, () => false),
  type: 'boolean',
  parse: (given) => given === true,
});

export interface CommandModule {
  readonly options: OptionTable;
  readonly argument?: string;
  /** Help below the options. */
  readonly details?: () => Promise<string>;
  /** Returns the exit code: 0 success, 1 failure, 2 wrong usage. */
  run(args: readonly string[]): Promise<number>;
}

export interface CommandEntry {
  /** One or two words, such as `token create`. */
  readonly name: string;
  readonly summary: string;
  /** What must be reachable: the database of the installation, its API, or neither. */
  readonly requires: 'database' | 'api' | null;
  /** Loads the code of this command only: the runner and the built-in agent must start quickly and stay small. */
  readonly load: () => Promise<CommandModule>;
}

type NoOptions = Readonly<Record<never, Option<unknown>>>;

/** `run` gets `Context`, the values of the options and the positional argument, which is empty for a command without one. */
export interface CommandDefinition<O extends OptionTable, Context extends readonly unknown[] = [], Values = unknown> {
  readonly options?: O;
  readonly argument?: string;
  /** Returns the exit code if it is not 0. */
  readonly run: (...args: [...Context, values: OptionValues<O> & Values, argument: string]) => Promise<number | void>;
}

export const command = <O extends OptionTable = NoOptions>({
  run,
  options,
  ...spec
}: CommandDefinition<O>): CommandModule => ({
  ...spec,
  options: options ?? {},
  run: async (args) => {
    const { values, positionals } = parseOptions(options ?? ({} as O), args);
    return (await run(values, parseArgument(spec.argument, positionals))) ?? 0;
  },
});

/** Creates commands that have further options in common, and something that is opened from their values. */
export const commandKind =
  <Added extends OptionTable, Context>(
    added: Added,
    open: (values: OptionValues<Added>, work: (context: Context) => Promise<number | void>) => Promise<number | void>,
  ) =>
  <O extends OptionTable = NoOptions>({
    check,
    run,
    options,
    ...spec
  }: CommandDefinition<O, [Context], OptionValues<Added>> & {
    /** Throws a UsageError for values that do not fit together, before anything is opened. */
    readonly check?: (values: OptionValues<O> & OptionValues<Added>, argument: string) => void;
  }): CommandModule =>
    command({
      ...spec,
      options: { ...options, ...added },
      run: (given, argument) => {
        const values = given as unknown as OptionValues<O> & OptionValues<Added>;
        check?.(values, argument);
        return open(values, (context) => run(context, values, argument));
      },
    });

/** Throws a UsageError for unknown options and invalid values. */
export function parseOptions<O extends OptionTable>(
  options: O,
  args: readonly string[],
): { readonly values: OptionValues<O>; readonly positionals: readonly string[] } {
  const config: NonNullable<ParseArgsConfig['options']> = {};
  for (const [name, { type, isRepeatable }] of Object.entries(options)) config[name] = { type, multiple: isRepeatable };
  const { values: given, positionals } = parseArguments(args, config);
  const values = Object.entries(options).map(([name, option]) => [name, option.parse(given[name], name)] as const);
  return { values: Object.fromEntries(values) as OptionValues<O>, positionals };
}

function parseArguments(args: readonly string[], options: NonNullable<ParseArgsConfig['options']>) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code?.startsWith('ERR_PARSE_ARGS') !== true) throw error;
    // The rest of the message is advice about positional arguments that begin with a hyphen.
    const [sentence = ''] = message.split('. ');
    throw new UsageError(sentence.charAt(0).toLowerCase() + sentence.slice(1));
  }
}

export function parseArgument(name: string | undefined, positionals: readonly string[]): string {
  const [value, extra] =
    name === undefined ? ['', positionals[0]] : [filled(`<${name}>`, positionals[0]), positionals[1]];
  if (extra !== undefined) throw new UsageError(`unexpected argument "${extra}"`);
  return value;
}

export function filled(name: string, value: string | undefined): string {
  if (value === undefined || value.trim() === '') throw new UsageError(`${name} is missing`);
  return value;
}

function oneOf<const C extends string>(option: string, choices: readonly C[], value: string): C {
  const match = choices.find((known) => known === value);
  if (match === undefined) throw new UsageError(`${option} must be one of ${choices.join(', ')}`);
  return match;
}

export function parseInteger(name: string, value: string, min: number, max: number): number {
  const number = Number(value);
  if (!/^(0|[1-9]\d*)$/.test(value) || number < min || number > max)
    throw new UsageError(`${name} must be an integer between ${min} and ${max}`);
  return number;
}
