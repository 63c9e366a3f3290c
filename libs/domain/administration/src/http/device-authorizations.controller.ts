import { Body, Controller, Get, Param, Post, Req } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Request } from 'express';
import {
  AttemptLimit,
  Audited,
  Authorize,
  type Caller,
  CurrentCaller,
  type DeviceAuthorization,
  DeviceAuthorizationsService,
  isAllowed,
} from '#platform/auth';
import { forbidden, invalidInput, Operation, ProblemError, SenderAddress, senderOf } from '#platform/http';
import { Clock } from '#platform/kernel';
import { DecideDeviceAuthorizationRequest, DeviceAuthorizationItem } from './dto/device-authorizations.dto.js';

const RESOURCE = 'device_authorization';
const WINDOW_MS = 10 * 60_000;
/** Codes that do not exist, in the window. There are 2.56e10 codes, so that a guess has no prospect of success. */
const MAX_GUESSES_OF_USER = 10;
const MAX_GUESSES_OF_ADDRESS = 50;
const MAX_CODE = 20;

@ApiTags('Administration')
@Controller('device-authorizations')
export class DeviceAuthorizationsController {
  private readonly ofUser: AttemptLimit;
  private readonly ofAddress: AttemptLimit;

  constructor(
    private readonly authorizations: DeviceAuthorizationsService,
    private readonly addresses: SenderAddress,
    private readonly clock: Clock,
  ) {
    this.ofUser = new AttemptLimit(MAX_GUESSES_OF_USER, WINDOW_MS, clock);
    this.ofAddress = new AttemptLimit(MAX_GUESSES_OF_ADDRESS, WINDOW_MS, clock);
  }

  @Get(':userCode')
  @Authorize('tokens:manage', RESOURCE)
  @Operation({
    id: 'getDeviceAuthorization',
    summary: 'Get a device authorization',
    description:
      'The program that waits for your decision on this code (RFC 8628). Wrong codes are limited per user and per address.',
    success: { status: 200, description: 'The program.', type: DeviceAuthorizationItem },
  })
  async get(
    @CurrentCaller() caller: Caller,
    @Param('userCode') userCode: string,
    @Req() request: Request,
  ): Promise<DeviceAuthorizationItem> {
    this.assertAllowed(caller);
    return present(await this.limited(caller, request, userCode, () => this.authorizations.find(userCode)));
  }

  @Post(':userCode/decision')
  @Authorize('tokens:manage', RESOURCE)
  @Audited('device_authorization.decided', { values: ['decision', 'token_expires_at'] })
  @Operation({
    id: 'decideDeviceAuthorization',
    summary: 'Decide a device authorization',
    description:
      'Approves or denies the program, once. An approved program gets a token of yours, which `GET /tokens` lists.',
    request: { value: { decision: 'approve' } },
    success: { status: 200, description: 'The program.', type: DeviceAuthorizationItem },
  })
  async decide(
    @CurrentCaller() caller: Caller,
    @Param('userCode') userCode: string,
    @Body() { decision, token_expires_at: tokenExpiresAt }: DecideDeviceAuthorizationRequest,
    @Req() request: Request,
  ): Promise<DeviceAuthorizationItem> {
    this.assertAllowed(caller);
    if (tokenExpiresAt !== undefined && tokenExpiresAt <= this.clock.now())
      throw invalidInput([{ pointer: '/token_expires_at', detail: 'must be in the future' }]);
    const { principal: user } = caller;
    return present(
      await this.limited(caller, request, userCode, () =>
        this.authorizations.decide(userCode, { decision, user, tokenExpiresAt: tokenExpiresAt ?? null }),
      ),
    );
  }

  /** Service accounts get no tokens. */
  private assertAllowed(caller: Caller): void {
    if (!isAllowed(caller, { teamUid: null, userUid: caller.principal.uid })) throw forbidden(RESOURCE);
  }

  /** Limits how many codes somebody can guess. */
  private async limited(
    caller: Caller,
    request: Request,
    userCode: string,
    read: () => Promise<DeviceAuthorization | null>,
  ): Promise<DeviceAuthorization> {
    if (userCode.length > MAX_CODE)
      throw invalidInput([{ pointer: '/userCode', detail: `must have at most ${MAX_CODE} characters` }]);
    const limits = [
      [this.ofUser, caller.principal.uid],
      [this.ofAddress, senderOf(this.addresses.of(request))],
    ] as const;
    const retryAfterSeconds = Math.max(...limits.map(([limit, key]) => limit.waitSeconds(key)));
    if (retryAfterSeconds > 0)
      throw new ProblemError('rate_limited', 'Too many wrong codes. Try again later.', { retryAfterSeconds });
    // Counted before the query, so that guesses that are sent at the same time are limited, too.
    for (const [limit, key] of limits) limit.note(key);
    const found = await read();
    if (found === null)
      throw new ProblemError(
        'resource_not_found',
        'No program waits with this code: it is wrong, was decided already, or has expired.',
      );
    for (const [limit, key] of limits) limit.forgive(key);
    return found;
  }
}

const present = ({ uid, clientName, address, createdAt, expiresAt }: DeviceAuthorization): DeviceAuthorizationItem => ({
  uid,
  client_name: clientName,
  address,
  created_at: createdAt.toISOString(),
  expires_at: expiresAt.toISOString(),
});
