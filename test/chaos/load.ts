import { createHmac, randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Chance } from '../../libs/testing/src/chance.js';
import { ChaosClient, type Reply, textField } from './chaos-client.js';
import type { Access } from './installation.js';
import type { Ledger, SentCreate, SentSchedule } from './ledger.js';
import type { Witness } from './witness.js';

/** Beyond so many queued runs none are added: a backlog would only lengthen the final wait. */
const MAX_QUEUED = 30;
const RETRY_MS = 400;
const OBSERVE_MS = 2_000;
const RECENT_RUNS = 30;
const SCHEDULES = 2;
const OK = [200, 201, 202];

export const SCHEDULE_TAG = 'schedule';
export const AUTOMATION_TAG = 'automation';

interface Webhook {
  readonly uid: string;
  readonly path: string;
  readonly secret: string;
  readonly scheme: 'github' | 'standard_webhooks';
  readonly automationIds: readonly string[];
  /** Triggered by deliveries with `kind: "both"` only. */
  readonly filteredAutomationId: string;
}

/** Callers and senders of one installation, until they are stopped. */
export class Load {
  private readonly client: ChaosClient;
  private readonly chance: Chance;
  private readonly pending = new Set<Promise<void>>();
  private webhooks: readonly Webhook[] = [];
  private isStopping = false;
  private queued = 0;
  private number = 0;
  private loop: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly access: Access,
    private readonly ledger: Ledger,
    private readonly witness: Witness,
    { seed, intervalMs }: { readonly seed: number; readonly intervalMs: number },
  ) {
    this.client = new ChaosClient(access, ledger);
    this.chance = new Chance(seed);
    this.intervalMs = intervalMs;
  }

  private readonly intervalMs: number;

  /** Makes webhooks, automations and schedules, and begins. */
  async start(): Promise<void> {
    this.webhooks = [await this.createWebhook('github'), await this.createWebhook('standard_webhooks')];
    for (let index = 0; index < SCHEDULES; index += 1) this.ledger.schedules.push(await this.createSchedule(index));
    this.loop = Promise.all([this.operate(), this.observe()]);
  }

  /** Sends nothing new, and waits until everything that is to be repeated is answered. */
  async stop(): Promise<void> {
    this.isStopping = true;
    await this.loop;
    await Promise.all(this.pending);
  }

  async pauseSchedules(): Promise<void> {
    for (const schedule of this.ledger.schedules) {
      const from = Date.now();
      await this.repeat(() => this.client.call('pause schedule', 'POST', `/agent/schedules/${schedule.id}/pause`));
      schedule.pausedBetween = [from, Date.now()];
    }
  }

  private async operate(): Promise<void> {
    while (!this.isStopping) {
      await delay(this.intervalMs * (0.5 + this.chance.next()));
      this.begin(this.chance.next());
    }
  }

  private begin(choice: number): void {
    const operation =
      choice < 0.5 ? this.create() : choice < 0.8 ? this.deliver() : choice < 0.9 ? this.followUp() : this.cancel();
    const settled = operation.finally(() => this.pending.delete(settled));
    this.pending.add(settled);
  }

  /** Reads like any user interface, and thereby learns the length of the queue. */
  private async observe(): Promise<void> {
    while (!this.isStopping) {
      await delay(OBSERVE_MS);
      const reply = await this.client.call('list', 'GET', '/agent/runs?state=QUEUED&limit=100');
      if (reply?.status === 200) this.queued = (reply.body as { runs: unknown[] }).runs.length;
    }
  }

  private async create(): Promise<void> {
    if (this.queued > MAX_QUEUED) return;
    const tag = this.nextTag('create');
    const idempotencyKey = this.chance.is(0.5) ? tag : null;
    const sent: SentCreate = { tag, idempotencyKey, runId: null };
    this.ledger.creates.push(sent);
    const file = { file_name: 'note.txt', mime_type: 'text/plain', data: Buffer.from(tag).toString('base64') };
    const body = {
      prompt: this.witness.prompt(tag, 0.2 + this.chance.next() * 7.8),
      title: tag,
      metadata: { tag },
      config: { idle_timeout_minutes: 1 },
      ...(this.chance.is(0.3) ? { attachments: [file] } : {}),
    };
    const headers: Record<string, string> = idempotencyKey === null ? {} : { 'Idempotency-Key': idempotencyKey };
    // A request under way with the same key is a 409.
    const send = () =>
      this.client.call('create', 'POST', '/agent/runs', {
        body,
        headers,
        expected: idempotencyKey === null ? [] : [409],
      });
    const reply = idempotencyKey === null ? await send() : await this.repeat(send);
    if (reply?.status === 200) sent.runId = textField(reply.body, 'run_id');
  }

  private async deliver(): Promise<void> {
    const webhook = this.webhooks[this.chance.below(this.webhooks.length)];
    if (webhook === undefined || this.queued > MAX_QUEUED) return;
    const isBoth = this.chance.is(0.5);
    const isTwice = this.chance.is(0.1);
    const tag = this.nextTag('delivery');
    const body = JSON.stringify({ tag, kind: isBoth ? 'both' : 'one' });
    const { uid: webhookUid, automationIds, filteredAutomationId } = webhook;
    const sent = {
      webhookUid,
      automationIds: isBoth ? [...automationIds, filteredAutomationId] : automationIds,
      deliveryId: null as string | null,
    };
    this.ledger.deliveries.push(sent);
    for (let sends = isTwice ? 2 : 1; sends > 0; sends -= 1) {
      const reply = await this.repeat(() => this.client.deliver(webhook.path, body, signatureOf(webhook, tag, body)));
      const deliveryId = textField(reply.body, 'delivery_id');
      if (sent.deliveryId !== null && sent.deliveryId !== deliveryId)
        this.ledger.wrongAnswers.push(`delivery ${tag}: sent again, answered ${deliveryId} after ${sent.deliveryId}`);
      sent.deliveryId = deliveryId;
    }
  }

  private async followUp(): Promise<void> {
    const runId = this.recentRun();
    if (runId === null) return;
    const tag = this.nextTag('followup');
    const sent = { tag, runId, accepted: false };
    this.ledger.followups.push(sent);
    const body = { message: this.witness.prompt(tag, 0.2 + this.chance.next() * 2) };
    // 400: a run that ended before it had a conversation.
    const options = { body, expected: [400, 409] };
    const reply = await this.client.call('follow-up', 'POST', `/agent/runs/${runId}/followups`, options);
    sent.accepted = reply?.status === 200;
  }

  private async cancel(): Promise<void> {
    const runId = this.recentRun();
    if (runId === null) return;
    // 400: ended; 409: offered to a worker.
    const options = { expected: [400, 409] };
    const reply = await this.client.call('cancel', 'POST', `/agent/runs/${runId}/cancel`, options);
    if (reply === null || reply.status === 200 || reply.status === 503) this.ledger.cancelled.add(runId);
  }

  private recentRun(): string | null {
    const known = this.ledger.creates.flatMap(({ runId }) => runId ?? []).slice(-RECENT_RUNS);
    return known[this.chance.below(known.length)] ?? null;
  }

  /** Until it is answered with 2xx, as senders of webhooks do. */
  private async repeat(send: () => Promise<Reply | null>): Promise<Reply> {
    for (;;) {
      const reply = await send();
      if (reply !== null && OK.includes(reply.status)) return reply;
      await delay(RETRY_MS);
    }
  }

  private nextTag(kind: string): string {
    this.number += 1;
    return `${kind}-${this.number}`;
  }

  private async createWebhook(scheme: Webhook['scheme']): Promise<Webhook> {
    const factory = `/factories/${this.access.factoryUid}`;
    const body = {
      name: scheme,
      auth_mode: 'signature',
      signature_scheme: scheme,
      ...(scheme === 'github' ? { secret: randomBytes(20).toString('hex') } : {}),
    };
    const { body: created } = await this.repeat(() =>
      this.client.call('set up', 'POST', `${factory}/webhooks`, { body }),
    );
    const uid = textField(created, 'uid');
    const automation = async (payload?: object): Promise<string> => {
      const trigger = {
        provider: 'webhook',
        event: 'received',
        filter: { webhook_ids: [uid], ...(payload && { payload }) },
      };
      const reply = await this.repeat(() =>
        this.client.call('set up', 'POST', `${factory}/automations`, {
          body: {
            name: `${scheme} ${payload ? 'filtered' : 'all'}`,
            enabled: true,
            prompt: this.witness.prompt(AUTOMATION_TAG, 1),
            agent_config: { idle_timeout_minutes: 1 },
            triggers: [trigger],
          },
        }),
      );
      return textField(reply.body, 'uid');
    };
    return {
      uid,
      scheme,
      secret: scheme === 'github' ? (body.secret ?? '') : textField(created, 'secret'),
      path: new URL(textField(created, 'ingress_url')).pathname,
      automationIds: [await automation()],
      filteredAutomationId: await automation({ kind: ['both'] }),
    };
  }

  private async createSchedule(index: number): Promise<SentSchedule> {
    const body = {
      name: `every minute ${index}`,
      cron_schedule: '* * * * *',
      prompt: this.witness.prompt(SCHEDULE_TAG, 1),
      enabled: true,
      agent_config: { idle_timeout_minutes: 1 },
    };
    const reply = await this.repeat(() => this.client.call('set up', 'POST', '/agent/schedules', { body }));
    return { id: textField(reply.body, 'id'), pausedBetween: null };
  }
}

/** As the provider signs it: each attempt signed again, with the identity of the first one. */
function signatureOf({ scheme, secret }: Webhook, id: string, body: string): Record<string, string> {
  if (scheme === 'github') {
    const signature = createHmac('sha256', secret).update(body).digest('hex');
    return { 'X-GitHub-Event': 'ping', 'X-GitHub-Delivery': id, 'X-Hub-Signature-256': `sha256=${signature}` };
  }
  const timestamp = String(Math.floor(Date.now() / 1000));
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` };
}
