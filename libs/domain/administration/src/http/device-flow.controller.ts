import { Controller, HttpStatus, Post, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { AttemptLimit, auditSource, DeviceAuthorizationsService, UnauthorizedThrottle } from '#platform/auth';
import { AuditLog } from '#platform/audit';
import { Settings } from '#platform/config';
import { Public, readForm, SenderAddress, senderOf, StreamedBody } from '#platform/http';
import { Clock, isStorableText } from '#platform/kernel';

const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:device_code';
const MAX_BODY_BYTES = 8192;
/** Without control characters and marks that change the direction of a text. */
const NAME = /^[^\p{C}]{1,100}$/u;
/** Programs of one address that can ask for a code; each is a row until it expires. */
const MAX_STARTED = 100;
const WINDOW_MS = 10 * 60_000;

type Form = URLSearchParams;

/** An error in the form of RFC 6749, section 5.2. */
class FlowError extends Error {
  constructor(
    readonly code: string,
    readonly description: string,
    readonly status: number = HttpStatus.BAD_REQUEST,
  ) {
    super(description);
  }
}

/** The endpoints of RFC 8628, with the forms and the errors of OAuth: they are not part of the JSON API. */
@ApiExcludeController()
@Controller('oauth')
export class DeviceFlowController {
  private readonly started: AttemptLimit;

  constructor(
    private readonly authorizations: DeviceAuthorizationsService,
    private readonly addresses: SenderAddress,
    private readonly throttle: UnauthorizedThrottle,
    private readonly settings: Settings,
    private readonly audit: AuditLog,
    clock: Clock,
  ) {
    this.started = new AttemptLimit(MAX_STARTED, WINDOW_MS, clock);
  }

  @Post('device_authorization')
  @Public()
  @StreamedBody()
  authorize(@Req() request: Request, @Res() response: Response): Promise<void> {
    return answer(request, response, async (form) => {
      const { address, user_agent: userAgent = null } = auditSource(request, this.addresses);
      const sender = senderOf(address);
      const wait = this.started.waitSeconds(sender);
      if (wait > 0) {
        response.setHeader('Retry-After', String(wait));
        throw new FlowError('slow_down', 'Too many programs of this address have asked.', HttpStatus.TOO_MANY_REQUESTS);
      }
      this.started.note(sender);
      const id = nameIn(form, 'client_id');
      const name = form.has('client_name') ? nameIn(form, 'client_name') : id;
      const created = await this.authorizations.create({ id, name, address, userAgent });
      const page = `${this.settings.publicUrl}/console/device`;
      return {
        device_code: created.deviceCode,
        user_code: created.userCode,
        verification_uri: page,
        verification_uri_complete: `${page}?user_code=${created.userCode}`,
        expires_in: created.expiresInSeconds,
        interval: created.intervalSeconds,
      };
    });
  }

  @Post('token')
  @Public()
  @StreamedBody()
  token(@Req() request: Request, @Res() response: Response): Promise<void> {
    return answer(request, response, async (form) => {
      if (one(form, 'grant_type') !== GRANT_TYPE)
        throw new FlowError('unsupported_grant_type', `The grant type must be ${GRANT_TYPE}.`);
      const result = await this.authorizations.redeem(one(form, 'device_code'), one(form, 'client_id'));
      if (result.kind === 'invalid_grant') await this.throttle.wait(request);
      if (result.kind !== 'created') throw new FlowError(result.kind, DESCRIPTIONS[result.kind]);
      const { record, token } = result;
      await this.audit.append(null, {
        action: 'token.created',
        actor: { type: 'user', uid: record.owner.uid },
        target: { type: 'token', uid: record.uid, name: record.name },
        source: auditSource(request, this.addresses),
        details: { method: 'device', ...(record.expiresAt && { expires_at: record.expiresAt.toISOString() }) },
      });
      const expiresIn = record.expiresAt === null ? null : secondsBetween(record.createdAt, record.expiresAt);
      return { access_token: token, token_type: 'Bearer', ...(expiresIn !== null && { expires_in: expiresIn }) };
    });
  }
}

const DESCRIPTIONS = {
  authorization_pending: 'The user has not decided yet.',
  slow_down: 'The program has asked too often. Add five seconds to the interval.',
  access_denied: 'The user has denied the access.',
  expired_token: 'The code has expired. Ask for another one.',
  invalid_grant: 'The code is unknown, was used already, or belongs to another program.',
} as const;

const secondsBetween = (from: Date, to: Date): number =>
  Math.max(0, Math.floor((to.getTime() - from.getTime()) / 1000));

async function answer(request: Request, response: Response, work: (form: Form) => Promise<object>): Promise<void> {
  try {
    response.status(HttpStatus.OK).json(await work(await formOf(request)));
  } catch (error) {
    if (!(error instanceof FlowError)) throw error;
    response.status(error.status).json({ error: error.code, error_description: error.description });
  }
}

async function formOf(request: Request): Promise<Form> {
  const form = await readForm(request, MAX_BODY_BYTES);
  if (form === 'unsupported_media_type')
    throw new FlowError('invalid_request', 'The body must be application/x-www-form-urlencoded.');
  if (form === 'payload_too_large') throw new FlowError('invalid_request', 'The body is too large.');
  return form;
}

/** A parameter must not be repeated (RFC 6749, section 3.2). */
function one(form: Form, name: string): string {
  const [value, ...others] = form.getAll(name);
  if (value === undefined || value === '' || others.length > 0)
    throw new FlowError('invalid_request', `The parameter ${name} must be given once.`);
  return value;
}

function nameIn(form: Form, parameter: string): string {
  const value = one(form, parameter).trim();
  if (!NAME.test(value) || !isStorableText(value))
    throw new FlowError('invalid_request', `${parameter} must have 1 to 100 characters, none of them invisible.`);
  return value;
}
