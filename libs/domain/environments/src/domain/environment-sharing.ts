import { createHash, randomBytes } from 'node:crypto';
import type { PrincipalRef } from '#platform/auth';
import { base62 } from '#platform/kernel';

/** Per environment; links that have expired count until they are revoked. */
export const MAX_GRANTS = 100;
export const MAX_LINKS = 20;

export interface Grantee {
  readonly type: 'user' | 'team';
  readonly uid: string;
}

export interface EnvironmentGrant {
  readonly uid: string;
  readonly environmentUid: string;
  readonly grantee: Grantee;
  readonly creator: PrincipalRef;
  readonly createdAt: Date;
}

/** Every person who has its token and signs in can use the environment. */
export interface EnvironmentLink extends Omit<EnvironmentGrant, 'grantee'> {
  readonly expiresAt: Date | null;
  /** How many people can redeem it; null: any number. */
  readonly maxUses: number | null;
  /** How many people have redeemed it. */
  readonly uses: number;
}

const PREFIX = 'hrl_';
/** 32 bytes need 43 digits of base 62. */
const DIGITS = 43;
const SHAPE = new RegExp(`^${PREFIX}[0-9A-Za-z]{${DIGITS}}$`);

export const newLinkToken = (): string => PREFIX + base62(randomBytes(32), DIGITS);

export const isLinkToken = (value: string): boolean => SHAPE.test(value);

/** The stored form. All bits of the token are random, so a plain digest suffices. */
export const hashLinkToken = (token: string): Buffer => createHash('sha256').update(token).digest();
