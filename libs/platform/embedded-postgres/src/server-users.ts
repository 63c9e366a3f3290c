import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { holderIsAlive, readHolder, self } from './pid-lock.js';

let counter = 0;

/**
 * The processes that use one embedded server. Any of them may be the one that started it; the last one to leave stops
 * it. A process that died without leaving does not count. To be called under the start lock.
 */
export class ServerUsers {
  private readonly own = `${process.pid}-${++counter}`;

  constructor(private readonly directory: string) {}

  join(): void {
    mkdirSync(this.directory, { recursive: true, mode: 0o700 });
    writeFileSync(join(this.directory, this.own), JSON.stringify(self()), { mode: 0o600 });
  }

  leave(): void {
    rmSync(join(this.directory, this.own), { force: true });
  }

  /** Whether anybody alive is left. */
  hasAny(): boolean {
    mkdirSync(this.directory, { recursive: true, mode: 0o700 });
    return readdirSync(this.directory).some((name) => {
      const holder = readHolder(join(this.directory, name));
      if (holder && holderIsAlive(holder)) return true;
      rmSync(join(this.directory, name), { force: true });
      return false;
    });
  }
}
