import { UsageError } from './command.js';

/** The value of an option that has to be given. */
export function required(name: string, value: string | undefined): string {
  if (value === undefined || value.trim() === '') throw new UsageError(`--${name} is missing`);
  return value;
}

/** The one positional argument. */
export function onlyPositional(name: string, positionals: readonly string[]): string {
  const [value, extra] = positionals;
  if (value === undefined || value.trim() === '') throw new UsageError(`<${name}> is missing`);
  if (extra !== undefined) throw new UsageError(`unexpected argument "${extra}"`);
  return value;
}
