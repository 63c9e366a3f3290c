import { Controller, Get, HttpStatus, Param, Post, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { SignedDecisions, type SignedDecisionResult } from '#domain/runs';
import { AttemptLimit, auditSource, UnauthorizedThrottle } from '#platform/auth';
import { Settings } from '#platform/config';
import { OutsideApi, Public, readForm, SenderAddress, senderOf, StreamedBody } from '#platform/http';
import { Clock } from '#platform/kernel';
import { NotificationDecisions, type OpenedDecision } from '../application/notification-decisions.js';
import { formPage, type Message, messagePage, PAGE_HEADERS } from './decision-page.js';
import { decisionForm, outcomeMessage } from './decision-presenter.js';

/** Requests of one address: many people can share it, and each page costs a few queries. */
const MAX_REQUESTS = 300;
const WINDOW_MS = 60_000;
/** A text of 10,000 characters, each percent-encoded as four bytes. */
const MAX_BODY_BYTES = 131_072;

/** Forged tokens, and those of webhooks and requests that are gone, are answered with the same bytes. */
const NOT_VALID: Message = {
  heading: 'Not valid',
  text: 'This link is not valid. It was changed, or its messages may not decide any more.',
};

/**
 * The pages that buttons of messages open. The address is the permission. GET only shows what would be decided, because services
 * fetch the links of messages for previews; POST decides.
 */
@Public()
@OutsideApi()
@ApiExcludeController()
@Controller('decisions')
export class DecisionPagesController {
  private readonly genuine: AttemptLimit;
  /** Who sends forged tokens cannot keep the people behind the same address from deciding. */
  private readonly forged: AttemptLimit;

  constructor(
    private readonly notifications: NotificationDecisions,
    private readonly decisions: SignedDecisions,
    private readonly addresses: SenderAddress,
    private readonly throttle: UnauthorizedThrottle,
    private readonly settings: Settings,
    clock: Clock,
  ) {
    this.genuine = new AttemptLimit(MAX_REQUESTS, WINDOW_MS, clock);
    this.forged = new AttemptLimit(MAX_REQUESTS, WINDOW_MS, clock);
  }

  @Get(':token')
  async show(@Param('token') token: string, @Req() request: Request, @Res() response: Response): Promise<void> {
    const opened = await this.open(token, request, response);
    if (!opened) return;
    const { decision, subject } = opened;
    const closed = await this.closed(opened);
    if (closed) return this.send(response, closed, opened);
    const reason = await this.decisions.obstacle(subject, decision.choice);
    if (reason !== null) return this.send(response, { kind: 'not_allowed', reason }, opened);
    sendPage(response, HttpStatus.OK, formPage(decisionForm(opened, null)));
  }

  @Post(':token')
  @StreamedBody()
  async decide(@Param('token') token: string, @Req() request: Request, @Res() response: Response): Promise<void> {
    const opened = await this.open(token, request, response);
    if (!opened) return;
    const form = await readForm(request, MAX_BODY_BYTES);
    if (typeof form === 'string') {
      const status = form === 'payload_too_large' ? HttpStatus.PAYLOAD_TOO_LARGE : HttpStatus.UNSUPPORTED_MEDIA_TYPE;
      return sendPage(response, status, messagePage({ heading: 'Not accepted', text: 'Send the form of this page.' }));
    }
    const text = opened.decision.choice.kind === 'text' ? (form.get('text') ?? '').replace(/\r\n?/g, '\n') : null;
    const source = auditSource(request, this.addresses);
    this.send(response, await this.notifications.decide(opened, text, source), opened);
  }

  /** Null: answered already. */
  private async open(token: string, request: Request, response: Response): Promise<OpenedDecision | null> {
    const sender = senderOf(this.addresses.of(request));
    const decision = this.notifications.verify(token);
    const limit = decision === null ? this.forged : this.genuine;
    const wait = limit.waitSeconds(sender);
    if (wait > 0) {
      response.setHeader('Retry-After', String(wait));
      const text = `An address can open ${MAX_REQUESTS} of these pages in a minute. Try again later.`;
      sendPage(response, HttpStatus.TOO_MANY_REQUESTS, messagePage({ heading: 'Too many requests', text }));
      return null;
    }
    limit.note(sender);
    const opened = decision && (await this.notifications.open(decision));
    if (opened) return opened;
    await this.throttle.wait(request);
    sendPage(response, HttpStatus.NOT_FOUND, messagePage(NOT_VALID));
    return null;
  }

  /** Why nothing can be decided any more, or null. */
  private async closed({ decision, subject: { run, approval } }: OpenedDecision): Promise<SignedDecisionResult | null> {
    if (approval.state !== 'pending')
      return { kind: 'already_decided', approval, outcome: await this.decisions.outcome(approval) };
    if (this.decisions.isExpired(decision)) return { kind: 'expired' };
    // A message reports only requests that block their run.
    return run.state === 'BLOCKED' ? null : { kind: 'not_waiting' };
  }

  private send(response: Response, result: SignedDecisionResult, opened: OpenedDecision): void {
    const inbox = `${this.settings.publicUrl}/console/inbox?item=${opened.decision.runId}/${opened.decision.approvalId}`;
    switch (result.kind) {
      case 'not_valid':
        return sendPage(response, HttpStatus.NOT_FOUND, messagePage(NOT_VALID));
      case 'invalid': {
        const error = result.issues.map(({ detail }) => `The answer ${detail}.`).join(' ');
        return sendPage(response, HttpStatus.BAD_REQUEST, formPage(decisionForm(opened, error)));
      }
      case 'decided':
      case 'already_decided':
      case 'expired':
      case 'not_waiting':
      case 'not_allowed': {
        const isExpired = this.decisions.isExpired(opened.decision);
        const { status, ...message } = outcomeMessage(result, isExpired);
        return sendPage(
          response,
          status,
          messagePage({ ...message, link: { url: inbox, label: 'Open the request in the console' } }),
        );
      }
    }
  }
}

function sendPage(response: Response, status: number, html: string): void {
  response.status(status).set(PAGE_HEADERS);
  response.end(html);
}
