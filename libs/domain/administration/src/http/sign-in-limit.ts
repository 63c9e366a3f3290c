import { Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { AttemptLimit } from '#platform/auth';
import { ProblemError, SenderAddress, senderOf } from '#platform/http';
import { Clock } from '#platform/kernel';

/** Each sign-in writes rows: far more than people behind one address need, and far less than a program can send. */
export const MAX_SIGN_INS = 100;
const WINDOW_MS = 60_000;
/** Bytes of a request that needs no token. */
export const PUBLIC_BODY_LIMIT = 8_192;

/** Limits the requests by address that sign a browser in. They have no token, by which other requests are limited. */
@Injectable()
export class SignInLimit {
  private readonly attempts: AttemptLimit;

  constructor(
    private readonly addresses: SenderAddress,
    clock: Clock,
  ) {
    this.attempts = new AttemptLimit(MAX_SIGN_INS, WINDOW_MS, clock);
  }

  /** Throws a ProblemError when the address has sent too many. */
  note(request: Request): void {
    const sender = senderOf(this.addresses.of(request));
    const retryAfterSeconds = this.attempts.waitSeconds(sender);
    if (retryAfterSeconds > 0)
      throw new ProblemError('rate_limited', `An address can sign in ${MAX_SIGN_INS} times in a minute.`, {
        retryAfterSeconds,
      });
    this.attempts.note(sender);
  }
}
