import { setTimeout as delay } from 'node:timers/promises';
import { ChaosClient, type Reply, textField } from './chaos-client.js';
import type { Access } from './installation.js';
import type { Ledger } from './ledger.js';

const INTERVAL_MS = 1_000;
/** Creates cost a runner each. */
const CREATE_EVERY = 4;
/** Beyond the longest limit that the service promises; a request that reaches it was never answered. */
const CLIENT_TIMEOUT_MS = 120_000;

export interface Probe {
  readonly operation: string;
  readonly startedAt: number;
  endedAt: number | null;
  status: number | null;
}

/** Calls every kind of operation at a steady pace, each without waiting for the others. */
export class Probes {
  readonly sent: Probe[] = [];
  readonly runs: string[] = [];
  private readonly client: ChaosClient;
  private readonly pending = new Set<Promise<void>>();
  private readonly stopped = new AbortController();
  private loop: Promise<void> = Promise.resolve();
  private webhook = { path: '', secret: '' };

  constructor(
    private readonly access: Access,
    ledger: Ledger,
  ) {
    this.client = new ChaosClient(access, ledger, CLIENT_TIMEOUT_MS);
  }

  async start(): Promise<void> {
    const path = `/factories/${this.access.factoryUid}/webhooks`;
    const created = await this.client.call('set up', 'POST', path, { body: { name: 'probe' } });
    this.webhook = {
      path: new URL(textField(created?.body, 'ingress_url')).pathname,
      secret: textField(created?.body, 'secret'),
    };
    this.loop = this.run();
  }

  async stop(): Promise<void> {
    this.stopped.abort();
    await this.loop;
    await Promise.all(this.pending);
  }

  private async run(): Promise<void> {
    for (let round = 0; !this.stopped.signal.aborted; round += 1) {
      this.probe('list', () => this.client.call('list', 'GET', '/agent/runs?limit=20'));
      this.probe('delivery', () => this.deliver(round));
      if (round % CREATE_EVERY === 0) {
        this.probe('create', () => this.create({}));
        const file = { file_name: 'note.txt', mime_type: 'text/plain', data: Buffer.from('note').toString('base64') };
        this.probe('create with a file', () => this.create({ attachments: [file] }));
      }
      await delay(INTERVAL_MS, null, { signal: this.stopped.signal }).catch(() => undefined);
    }
  }

  private probe(operation: string, send: () => Promise<Reply | null>): void {
    const probe: Probe = { operation, startedAt: performance.now(), endedAt: null, status: null };
    this.sent.push(probe);
    const settled = send()
      .then((reply) => {
        probe.endedAt = performance.now();
        probe.status = reply?.status ?? null;
      })
      .finally(() => this.pending.delete(settled));
    this.pending.add(settled);
  }

  private async create(fields: object): Promise<Reply | null> {
    const body = { prompt: '```sh\necho probe\n```', config: { idle_timeout_minutes: 1 }, ...fields };
    const reply = await this.client.call('create', 'POST', '/agent/runs', { body });
    if (reply?.status === 200) this.runs.push(textField(reply.body, 'run_id'));
    return reply;
  }

  private deliver(round: number): Promise<Reply | null> {
    const headers = { Authorization: `Bearer ${this.webhook.secret}`, 'X-Headrace-Delivery-Id': `probe-${round}` };
    return this.client.deliver(this.webhook.path, JSON.stringify({ round }), headers);
  }
}
