import { performance } from 'node:perf_hooks';
import { LRUCache } from 'lru-cache';
import { Injectable } from '@nestjs/common';
import { Database, type Statement } from '#platform/persistence';
import type { PrincipalType } from '../domain/principal.js';

export interface PrincipalRef {
  readonly type: PrincipalType;
  readonly uid: string;
}

/** The contract's `PrincipalInfo`, as it goes on the wire. */
export interface PrincipalInfo {
  readonly type: PrincipalType;
  readonly uid: string;
  readonly display_name: string;
  readonly email?: string;
  readonly photo_url?: string;
}

const DESCRIBE: Statement = {
  name: 'auth_describe_principals',
  text: `
SELECT 'user' AS type, uid, display_name, email, photo_url FROM headrace.users WHERE uid = ANY($1::text[])
UNION ALL
SELECT 'service_account', uid, name, NULL, NULL FROM headrace.service_accounts WHERE uid = ANY($2::text[])`,
};

const FRESH_MS = 5_000;
const MAX_CACHED = 5_000;

interface Row {
  type: PrincipalType;
  uid: string;
  display_name: string;
  email: string | null;
  photo_url: string | null;
}

/** Names and photos of principals, for presenting who created or executed something. Names may be five seconds old. */
@Injectable()
export class PrincipalDirectory {
  /** By type and uid. An unknown or deleted principal is cached too: lists refer to those again and again. */
  private readonly cache = new LRUCache<string, { readonly info: PrincipalInfo | null }>({
    max: MAX_CACHED,
    ttl: FRESH_MS,
    ttlResolution: 0,
  });

  constructor(private readonly database: Database) {}

  /** By uid; unknown ones are left out. One query for all that are not known yet, none when all are. */
  async describe(refs: readonly PrincipalRef[]): Promise<Map<string, PrincipalInfo>> {
    const start = performance.now();
    const found = new Map<string, PrincipalInfo>();
    const missing = new Map<string, PrincipalRef>();
    for (const ref of refs) {
      if (found.has(ref.uid)) continue;
      const key = keyOf(ref);
      const cached = this.cache.get(key);
      if (!cached) missing.set(key, ref);
      else if (cached.info) found.set(ref.uid, cached.info);
    }
    if (missing.size === 0) return found;
    const ofType = (type: PrincipalType): string[] =>
      [...missing.values()].filter((ref) => ref.type === type).map(({ uid }) => uid);
    const rows = await this.database.query<Row>(DESCRIBE, [ofType('user'), ofType('service_account')]);
    for (const key of missing.keys()) this.cache.set(key, { info: null }, { start });
    for (const { type, uid, display_name, email, photo_url } of rows) {
      const info = {
        type,
        uid,
        display_name,
        ...(email === null ? {} : { email }),
        ...(photo_url === null ? {} : { photo_url }),
      };
      this.cache.set(keyOf(info), { info }, { start });
      found.set(uid, info);
    }
    return found;
  }
}

const keyOf = ({ type, uid }: PrincipalRef): string => `${type}/${uid}`;
