import { join } from 'node:path';
import { ensurePrivateDir, readIfPresent, writePrivateFile } from '#platform/config';

/** What the first start made, so that it is found again when `connection.json` is lost. */
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
