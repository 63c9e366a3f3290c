import { UsageError } from './command.js';

/** For commands that take none. */
export function noArguments(args: readonly string[]): void {
  if (args.length > 0) throw new UsageError(`unexpected argument "${args[0]}"`);
}
