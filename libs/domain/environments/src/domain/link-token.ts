import { createHash, randomBytes } from 'node:crypto';
import { base62 } from '#platform/kernel';

const PREFIX = 'hrl_';
const RANDOM_BYTES = 32;
/** 32 bytes need 43 digits of base 62. */
const DIGITS = 43;
const SHAPE = new RegExp(`^${PREFIX}[0-9A-Za-z]{${DIGITS}}$`);

/** `hrl_` and 32 random bytes in base62. */
export const newLinkToken = (): string => PREFIX + base62(randomBytes(RANDOM_BYTES), DIGITS);

export const isLinkToken = (value: string): boolean => SHAPE.test(value);

/** What is stored. The token is random in full, so a plain digest suffices. */
export const hashLinkToken = (token: string): Buffer => createHash('sha256').update(token).digest();
