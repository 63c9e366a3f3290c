import { rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { ensurePrivateDir, type Environment, readIfPresent, writePrivateFile } from '#platform/config';
import { CommandError } from '../cli/command.js';

interface Credentials {
  /** Base URL of the last login. */
  readonly current?: string;
  /** Base URL → token. */
  readonly tokens: Readonly<Record<string, string>>;
}

/** The tokens that `headrace login` stored for this user, readable by this user only. */
export class CredentialsFile {
  private readonly directory: string;
  readonly path: string;

  constructor(environment: Environment) {
    this.directory = environment.XDG_CONFIG_HOME || join(environment.HOME || homedir(), '.config');
    this.path = join(this.directory, 'headrace', 'credentials.json');
  }

  get currentUrl(): string | undefined {
    return this.read().current;
  }

  tokenFor(baseUrl: string): string | undefined {
    return this.read().tokens[baseUrl];
  }

  /** Makes this the API that commands call by default. */
  add(baseUrl: string, token: string): void {
    ensurePrivateDir(this.directory, 'headrace');
    this.write({ current: baseUrl, tokens: { ...this.read().tokens, [baseUrl]: token } });
  }

  /** False when there was nothing to remove. */
  remove(baseUrl: string): boolean {
    const { current, tokens } = this.read();
    const { [baseUrl]: removed, ...others } = tokens;
    if (removed === undefined) return false;
    const [next] = Object.keys(others);
    const left = current === baseUrl ? next : current;
    if (left === undefined) rmSync(this.path, { force: true });
    else this.write({ current: left, tokens: others });
    return true;
  }

  private write(credentials: Credentials): void {
    writePrivateFile(this.path, `${JSON.stringify(credentials, null, 2)}\n`);
  }

  private read(): Credentials {
    const text = readIfPresent(this.path);
    if (text === null) return { tokens: {} };
    try {
      const { current, tokens } = JSON.parse(text) as Partial<Credentials>;
      return { ...(current !== undefined && { current }), tokens: tokens ?? {} };
    } catch {
      throw new CommandError(`${this.path} is not valid JSON: remove it and run \`headrace login\` again.`);
    }
  }
}
