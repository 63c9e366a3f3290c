import { join } from 'node:path';
import { ensurePrivateDir, readIfPresent, type Settings, writePrivateFile } from '#platform/config';

/** Addresses and tokens for programs that use this installation: `$HEADRACE_DATA_DIR/connection.json`, readable by its owner only. */
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

  /** The content of the file; empty when it is missing or not valid JSON. */
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
}

/** Public origin of the ingress. A running `up` may have selected a free port, so its file has precedence over the setting. */
export function ingressOrigin({ dataDir, ingressPublicUrl }: Settings): string {
  const { ingress_base_url: running } = new ConnectionFile(dataDir).read();
  return running ?? ingressPublicUrl;
}

/** Resources of the first start, to find them again when `connection.json` is lost. */
export interface KnownUids {
  readonly team_uid?: string;
  readonly user_uid?: string;
  readonly service_account_uid?: string;
  readonly factory_uid?: string;
}

export class UidFile {
  private readonly path: string;

  constructor(dataDir: string) {
    this.path = join(ensurePrivateDir(dataDir, 'state'), 'first-start.json');
  }

  read(): KnownUids {
    return JSON.parse(readIfPresent(this.path) ?? '{}') as KnownUids;
  }

  write(uids: KnownUids): void {
    writePrivateFile(this.path, `${JSON.stringify(uids, null, 2)}\n`);
  }
}
