import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { readIfPresent, writePrivateFile } from '#platform/config';

/** What a program needs to use this installation; `$HEADRACE_DATA_DIR/connection.json`, readable by its owner only. */
export interface Connection {
  readonly base_url: string;
  readonly ingress_base_url: string;
  readonly docs_url: string;
  /** Of the first user. */
  readonly token: string;
  readonly service_account_token: string;
  readonly team_uid: string;
  readonly factory_uid: string;
}

export class ConnectionFile {
  readonly path: string;

  constructor(dataDir: string) {
    this.path = join(dataDir, 'connection.json');
  }

  /** What the file says, as far as it is legible. */
  read(): Partial<Connection> {
    const text = readIfPresent(this.path);
    if (text === null) return {};
    try {
      const value: unknown = JSON.parse(text);
      return typeof value === 'object' && value !== null ? value : {};
    } catch {
      return {};
    }
  }

  write(connection: Connection): void {
    writePrivateFile(this.path, `${JSON.stringify(connection, null, 2)}\n`);
  }

  remove(): void {
    rmSync(this.path, { force: true });
  }
}
