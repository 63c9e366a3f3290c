import { createHash, randomBytes } from 'node:crypto';
import { base62 } from '#platform/kernel';

/** Per environment; links that have expired count until they are revoked. */
export const MAX_GRANTS = 100;
export const MAX_LINKS = 20;

interface PrincipalRef {
  readonly type: 'user' | 'service_account';
  readonly uid: string;
}

/** A person or team that an environment is granted to. */
export type Grantee = { readonly type: 'user'; readonly uid: string } | { readonly type: 'team'; readonly uid: string };

export interface EnvironmentGrant {
  readonly uid: string;
  readonly environmentUid: string;
  readonly grantee: Grantee;
  readonly creator: PrincipalRef;
  readonly createdAt: Date;
}

/** Every person who has its token and signs in can use the environment. */
export interface EnvironmentLink {
  readonly uid: string;
  readonly environmentUid: string;
  /** From then on it cannot be redeemed. */
  readonly expiresAt: Date | null;
  /** How many people can redeem it; null: any number. */
  readonly maxUses: number | null;
  /** How many people have redeemed it. */
  readonly uses: number;
  readonly creator: PrincipalRef;
  readonly createdAt: Date;
}

const PREFIX = 'hrl_';
const RANDOM_BYTES = 32;
/** 32 bytes need 43 digits of base 62. */
const DIGITS = 43;
const SHAPE = new RegExp(`^${PREFIX}[0-9A-Za-z]{${DIGITS}}$`);

/** `hrl_` and 32 random bytes in base62. */
export const newLinkToken = (): string => PREFIX + base62(randomBytes(RANDOM_BYTES), DIGITS);

export const isLinkToken = (value: string): boolean => SHAPE.test(value);

/** The stored form. All bits of the token are random, so a plain digest suffices. */
export const hashLinkToken = (token: string): Buffer => createHash('sha256').update(token).digest();
