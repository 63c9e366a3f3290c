/** One command of `headrace`, named by one word or two. */
export interface Command {
  /** As typed, such as `token create`. */
  readonly name: string;
  /** What follows the name in its usage line. */
  readonly usage: string;
  readonly summary: string;
  /** What has to be reachable: the installation's own database, or its API. */
  readonly requires?: 'database' | 'api';
  /** What `--help` shows below the usage line. */
  readonly details?: () => Promise<string>;
  /** Loads the code of this command and nothing else: the runner and the built-in agent must start quickly and small. */
  load(): Promise<CommandModule>;
}

export interface CommandModule {
  /** Runs to the end. Returns the exit code: 0 success, 1 failure, 2 wrong use. */
  run(args: readonly string[]): Promise<number>;
}

/** Wrong use: printed with the usage line, exit code 2. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UsageError';
  }
}

/** Something that went wrong in a way the caller can understand and mend: printed without a stack, exit code 1. */
export class CommandError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'CommandError';
  }
}
