import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import { Clock } from '#platform/kernel';

/** What a link says; all of it is signed. */
export interface SignedLink {
  readonly key: string;
  /** Unix time in seconds from which the link no longer works. */
  readonly expires: number;
  readonly fileName?: string;
  readonly contentType?: string;
  /** UID of the person who has requested the link. */
  readonly requestedBy?: string;
}

export type LinkVerdict =
  | { readonly valid: true; readonly link: SignedLink }
  | { readonly valid: false; readonly reason: 'expired' | 'forged' };

/** Creates and verifies the query of a download link. It is the same in every process with the same `SECRETS_KEY`; links of previous keys remain valid. */
@Injectable()
export class SignedLinks {
  private readonly signingKey: Buffer;
  private readonly keys: readonly Buffer[];

  constructor(
    { secretsKey, secretsKeyPrevious }: Settings,
    private readonly clock: Clock,
  ) {
    if (secretsKey === undefined) throw new Error('SECRETS_KEY is required: it signs download links.');
    this.signingKey = derive(secretsKey);
    this.keys = [this.signingKey, ...secretsKeyPrevious.map(derive)];
  }

  query(link: Omit<SignedLink, 'expires'>, ttlMs: number): URLSearchParams {
    const expires = Math.ceil((this.clock.now().getTime() + ttlMs) / 1000);
    const query = new URLSearchParams({ expires: String(expires) });
    if (link.fileName !== undefined) query.set('filename', link.fileName);
    if (link.contentType !== undefined) query.set('content_type', link.contentType);
    if (link.requestedBy !== undefined) query.set('requested_by', link.requestedBy);
    query.set('signature', sign(this.signingKey, { ...link, expires }).toString('base64url'));
    return query;
  }

  /** `query` is the parsed query string as it came: a parameter that is missing, repeated, malformed or not ours is a forgery. */
  verify(key: string, query: Readonly<Record<string, unknown>>): LinkVerdict {
    if (Object.keys(query).some((name) => !PARAMETERS.has(name))) return forged;
    const { expires, filename, content_type: contentType, requested_by: requestedBy, signature } = query;
    if (typeof expires !== 'string' || !/^\d{1,12}$/.test(expires) || typeof signature !== 'string') return forged;
    if (!isOptionalText(filename) || !isOptionalText(contentType) || !isOptionalText(requestedBy)) return forged;
    const link: SignedLink = {
      key,
      expires: Number(expires),
      ...(filename === undefined ? {} : { fileName: filename }),
      ...(contentType === undefined ? {} : { contentType }),
      ...(requestedBy === undefined ? {} : { requestedBy }),
    };
    const given = Buffer.from(signature, 'base64url');
    const isOurs = this.keys.some((signingKey) => {
      const wanted = sign(signingKey, link);
      return given.length === wanted.length && timingSafeEqual(given, wanted);
    });
    if (!isOurs) return forged;
    // Only after the signature: to a forger an old link looks like a wrong one.
    if (this.clock.now().getTime() >= link.expires * 1000) return { valid: false, reason: 'expired' };
    return { valid: true, link };
  }
}

const derive = (secretsKey: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secretsKey, '', 'headrace/object-links/v1', 32));

function sign(signingKey: Buffer, { key, expires, fileName, contentType, requestedBy }: SignedLink): Buffer {
  const optional = requestedBy === undefined ? [] : [requestedBy];
  const said = JSON.stringify([key, expires, fileName ?? null, contentType ?? null, ...optional]);
  return createHmac('sha256', signingKey).update(said).digest();
}

const PARAMETERS = new Set(['expires', 'filename', 'content_type', 'requested_by', 'signature']);
const forged: LinkVerdict = { valid: false, reason: 'forged' };
const isOptionalText = (value: unknown): value is string | undefined =>
  value === undefined || typeof value === 'string';
