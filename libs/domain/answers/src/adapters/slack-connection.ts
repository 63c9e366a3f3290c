import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Settings } from '#platform/config';
import { Clock, isObject } from '#platform/kernel';
import { AnswerFailure } from '../domain/answer-failure.js';

const SLACK_API = 'https://slack.com/api';
const TIMEOUT_MS = 10_000;
const MAX_LIMITS = 2_000;
const DEFAULT_LIMIT_SECONDS = 60;
const TOO_MANY_REQUESTS = 429;
const RATE_LIMITS: ReadonlySet<unknown> = new Set(['ratelimited', 'rate_limited', 'message_limit_exceeded']);
/** Another attempt may succeed; all other errors are permanent. https://docs.slack.dev/reference/methods */
const TEMPORARY: ReadonlySet<unknown> = new Set([
  'fatal_error',
  'internal_error',
  'request_timeout',
  'service_unavailable',
  'team_added_to_org',
  'accesslimited',
  'unknown_error',
  'failed_sending_message',
  'could_not_post_message',
]);

export type SlackResponse = Readonly<Record<string, unknown>>;

/** The Web API of Slack, with one token. */
export interface SlackConnection {
  /**
   * `expected`: errors that are returned. Rejects with an AnswerFailure for others, and when Slack limits the method for the token.
   */
  call(
    method: string,
    parameters: Readonly<Record<string, unknown>>,
    expected?: readonly string[],
  ): Promise<SlackResponse>;
}

export const slackApiOf = ({ slackApiUrl = SLACK_API }: Pick<Settings, 'slackApiUrl'>): string =>
  slackApiUrl.replace(/\/$/, '');

@Injectable()
export class SlackConnections {
  /** By token and method: until when no request is sent. */
  private readonly limits = new LRUCache<string, Date>({ max: MAX_LIMITS });

  constructor(
    private readonly settings: Settings,
    private readonly clock: Clock,
  ) {}

  open(token: string, signal: AbortSignal): SlackConnection {
    return { call: (method, parameters, expected = []) => this.call(token, method, parameters, expected, signal) };
  }

  private async call(
    token: string,
    method: string,
    parameters: Readonly<Record<string, unknown>>,
    expected: readonly string[],
    signal: AbortSignal,
  ): Promise<SlackResponse> {
    const key = createHash('sha256').update(`${method} ${token}`).digest('hex');
    const limitedUntil = this.limits.get(key);
    if (limitedUntil && limitedUntil > this.clock.now()) throw limited(limitedUntil);
    const { status, data, retryAfter } = await this.post(token, method, parameters, signal);
    const error = data?.error;
    if (status === TOO_MANY_REQUESTS || RATE_LIMITS.has(error)) {
      const until = new Date(this.clock.now().getTime() + (retryAfter ?? DEFAULT_LIMIT_SECONDS) * 1000);
      this.limits.set(key, until);
      throw limited(until);
    }
    if (data?.ok === true || expected.some((one) => one === error)) return data ?? {};
    if (typeof error === 'string' && !TEMPORARY.has(error) && status < 500)
      throw new AnswerFailure('refused', `Slack rejected ${method}: ${error.slice(0, 100)}`);
    if (status >= 400 && status < 500) throw new AnswerFailure('refused', `Slack rejected ${method} (${status}).`);
    throw new AnswerFailure('temporary', `Slack has failed (${status}).`);
  }

  /** As a form: every method accepts one, and those that read accept no JSON. */
  private async post(
    token: string,
    method: string,
    parameters: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
  ) {
    const body = new URLSearchParams();
    for (const [name, value] of Object.entries(parameters))
      body.set(name, typeof value === 'string' ? value : JSON.stringify(value));
    try {
      const response = await fetch(`${slackApiOf(this.settings)}/${method}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'user-agent': 'headrace' },
        body,
        redirect: 'error',
        signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
      });
      const retryAfter = Number(response.headers.get('retry-after'));
      const data: unknown = await response.json().catch(() => null);
      return {
        status: response.status,
        data: isObject(data) ? data : null,
        retryAfter: retryAfter > 0 ? retryAfter : null,
      };
    } catch {
      throw new AnswerFailure('temporary', 'Slack does not respond.');
    }
  }
}

const limited = (until: Date): AnswerFailure =>
  new AnswerFailure('limited', `Slack limits the requests until ${until.toISOString()}.`, until);
