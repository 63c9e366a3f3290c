import { TestRunner, type TestResponse } from '#testing';
import type { ApiFixture } from '../../support/api-fixture.js';
import { deliverDue, NOTIFICATION_WEBHOOKS, WebhookReceiver } from './webhook-receiver.js';

export const CHAT_FORMATS = ['slack', 'discord', 'teams'] as const;
export type ChatFormat = (typeof CHAT_FORMATS)[number];

export interface PressedButton {
  readonly label: string;
  readonly url: string;
}

interface Component {
  readonly type?: unknown;
  readonly text?: { readonly text: string };
  readonly title?: string;
  readonly label?: string;
  readonly url?: string;
}

/** The buttons that decide, in a message of any format. */
export function buttonsIn(body: unknown): PressedButton[] {
  if (typeof body !== 'object' || body === null) return [];
  const { type, text, title, label, url } = body as Component;
  const isButton = type === 'button' || type === 2 || type === 'Action.OpenUrl';
  if (isButton && url?.includes('/decisions/') === true) return [{ label: label ?? title ?? text?.text ?? '', url }];
  return Object.values(body).flatMap(buttonsIn);
}

export interface Question {
  readonly title: string;
  readonly options?: readonly string[];
  readonly allow_text?: boolean;
}

/** A team's channel: a notification webhook that decides, the receiver of its messages, and runs that wait. */
export class DecisionChannel {
  private constructor(
    private readonly fixture: ApiFixture,
    readonly receiver: WebhookReceiver,
    readonly uid: string,
  ) {}

  static async create(fixture: ApiFixture, format: ChatFormat, fields: object = {}): Promise<DecisionChannel> {
    const receiver = await WebhookReceiver.listen();
    const { token } = fixture.admin;
    const body = { name: `${format} channel`, url: receiver.url, format, decisions: true, ...fields };
    const { uid } = (await fixture.request(201, `POST ${NOTIFICATION_WEBHOOKS}`, { token, body })).body;
    return new DecisionChannel(fixture, receiver, uid);
  }

  update(body: object): Promise<TestResponse> {
    return this.fixture.request(200, `PUT ${NOTIFICATION_WEBHOOKS}/${this.uid}`, {
      token: this.fixture.admin.token,
      body,
    });
  }

  async close(): Promise<void> {
    await this.fixture.api.database.query('DELETE FROM notification_webhooks WHERE uid = $1', [this.uid]);
    await this.receiver.close();
  }

  /** Delivers what is due. The last message, and the URL to which it was sent. */
  async message(): Promise<{ readonly body: unknown; readonly url: string }> {
    await deliverDue(this.fixture.api);
    const received = this.receiver.take().at(-1);
    return { body: received === undefined ? null : JSON.parse(received.body), url: received?.url ?? '' };
  }

  async buttons(): Promise<PressedButton[]> {
    return buttonsIn((await this.message()).body);
  }

  /** A run that waits for a permission. */
  permission(fields: object = {}, run: object = {}): Promise<WaitingRun> {
    return this.wait({ title: 'Run `make deploy`', input: { command: 'make deploy' }, options: [], ...fields }, run);
  }

  question({ title, options = [], allow_text = false }: Question): Promise<WaitingRun> {
    const all = options.map((name, index) => ({ option_id: String(index + 1), name, kind: 'answer' }));
    return this.wait({ kind: 'question', title, options: all, allow_text });
  }

  private async wait(request: object, run: object = {}): Promise<WaitingRun> {
    const { api, admin } = this.fixture;
    const body = { prompt: 'Go.', title: 'Deploy the shop', ...run };
    const { run_id: runId } = (await api.request(200, 'POST /agent/runs', { token: admin.token, body })).body;
    const runner = await TestRunner.take(api, runId);
    await runner.startAgent();
    await runner.report(
      ['turn_started', { turn_id: 't1', prompt: 'Go.' }],
      ['permission_requested', { approval_id: 'a1', ask: true, ...request }],
    );
    return new WaitingRun(this.fixture, runId);
  }
}

export class WaitingRun {
  constructor(
    private readonly fixture: ApiFixture,
    readonly id: string,
  ) {}

  get token(): string {
    return this.fixture.member.token;
  }

  async approval(): Promise<TestResponse['body']> {
    const line = `GET /agent/runs/${this.id}/approvals`;
    return (await this.fixture.request(200, line, { token: this.token })).body.approvals[0];
  }

  async state(): Promise<string> {
    return (await this.fixture.request(200, `GET /agent/runs/${this.id}`, { token: this.token })).body.state;
  }

  decide(body: object): Promise<TestResponse> {
    return this.fixture.request(200, `POST /agent/runs/${this.id}/approvals/a1`, { token: this.token, body });
  }
}
