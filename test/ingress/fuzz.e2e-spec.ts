import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseSettings } from '#platform/config';
import { type BuiltWebhook, Chance, createTestDatabase, type TestDatabase, WebhookBuilder } from '#testing';
import { freePort, Installation, type Program } from '../support/installation.js';
import { isLong } from '../support/long-tests.js';

const REQUESTS = isLong ? 100_000 : 1_500;
const AT_ONCE = 16;
const MINUTE = 60_000;

let database: TestDatabase;
let installation: Installation;
let ingress: Program;
let port: number;
let hooks: BuiltWebhook[];

beforeAll(async () => {
  database = await createTestDatabase();
  const secretsKey = randomBytes(24).toString('hex');
  const builder = new WebhookBuilder(database, parseSettings({ SECRETS_KEY: secretsKey }));
  hooks = [
    await builder.webhook(),
    await builder.webhook({ authMode: 'url_token' }),
    await builder.webhook({ authMode: 'signature', signatureScheme: 'github' }),
    await builder.webhook({
      authMode: 'signature',
      signatureScheme: 'standard_webhooks',
      secret: `whsec_${randomBytes(32).toString('base64')}`,
    }),
    await builder.webhook({ authMode: 'signature', signatureScheme: 'linear' }),
    await builder.webhook({ authMode: 'signature', signatureScheme: 'mailgun' }),
    await builder.webhook({ authMode: 'signature', signatureScheme: 'netlify' }),
    await builder.webhook({ authMode: 'signature', signatureScheme: 'slack' }),
    await builder.webhook({ authMode: 'signature', signatureScheme: 'asana', secretPending: true }),
  ];
  installation = await Installation.create();
  port = await freePort();
  ingress = installation.start('ingress', {
    DATABASE_URL: database.url,
    SECRETS_KEY: secretsKey,
    INGRESS_PORT: String(port),
    WEBHOOK_RATE_LIMIT: '6000',
    WEBHOOK_AUTH_FAILURE_LIMIT: '10000',
    LOG_LEVEL: 'trace',
    // A heap that may grow at will says little about leaks: what was thrown away must be collected.
    NODE_OPTIONS: '--max-old-space-size=128',
  });
  await ingress.says('ingress is ready');
}, MINUTE);

afterAll(async () => {
  await ingress.stop();
  installation.remove();
  await database.close();
});

class RandomRequests {
  /** Every other request is proper HTTP, so that it gets further than to the parser. */
  private isProper = false;
  /** Of the last request: it has all it announces, so that it is answered though more could follow. */
  isWhole = false;

  /** A sequence that its seed repeats, so that a failure can be had again. */
  constructor(private readonly chance: Chance) {}

  private random(): number {
    return this.chance.next();
  }

  private pick<T>(values: readonly T[]): T {
    return values[Math.floor(this.random() * values.length)] as T;
  }

  private text(max: number, from = 'abcdefXYZ0189._~-%/;?&=#"\'\\ \t\u00e9\u20ac'): string {
    return Array.from({ length: Math.floor(this.random() * max) }, () => this.pick([...from])).join('');
  }

  private bytes(size: number): Buffer {
    return Buffer.from(Array.from({ length: size }, () => Math.floor(this.random() * 256)));
  }

  next(): Buffer {
    this.isProper = this.random() < 0.5;
    const hook = this.pick(hooks);
    const target = this.pick([
      ...[
        hook.path,
        hook.path,
        hook.path,
        `${hook.path}/${hook.secret}`,
        `${hook.path}?${this.text(30)}`,
        `/webhooks/w/${this.text(30)}`,
      ],
      ...[
        `/${this.text(60)}`,
        '/webhooks/w',
        '*',
        'http://other.example/webhooks/w/x',
        `${hook.path}/../x`,
        `/webhooks//w/${hook.uid}`,
      ],
    ]).replace(/[\s\u0100-\uffff]/g, (char) => (this.random() < 0.9 ? encodeURIComponent(char) : char));
    const body = this.body();
    return Buffer.concat([
      Buffer.from(
        `${this.method()} ${target} HTTP/${this.isProper ? '1.1' : this.pick(['1.1', '1.1', '1.1', '1.0', '2.0', ''])}\r\n`,
        'latin1',
      ),
      Buffer.from(this.headers(hook).join('\r\n'), 'latin1'),
      ...this.framed(body),
    ]);
  }

  private method(): string {
    if (this.isProper) return 'POST';
    return this.pick([
      'POST',
      'POST',
      'POST',
      'POST',
      'POST',
      'GET',
      'HEAD',
      'PUT',
      'OPTIONS',
      'DELETE',
      'TRACE',
      'post',
      this.text(8),
    ]);
  }

  private headers(hook: BuiltWebhook): string[] {
    const time = String(Math.floor(Date.now() / 1000) + this.pick([0, 0, 0, -301, 301, 1e12]));
    const possible = [
      ...[
        `Authorization: Bearer ${hook.secret}`,
        `authorization: bearer ${hook.secret}x`,
        `Authorization: Basic ${this.text(20)}`,
      ],
      ...[`X-Hub-Signature-256: sha256=${this.bytes(32).toString('hex')}`, `X-Hub-Signature-256: ${this.text(80)}`],
      ...[`webhook-id: ${this.text(20)}`, `webhook-timestamp: ${time}`, `webhook-signature: v1,${this.text(60)}`],
      ...[
        `Linear-Signature: ${this.text(64, '0123456789abcdef')}`,
        `X-Webhook-Signature: ${this.text(40)}.${this.text(40)}.${this.text(40)}`,
      ],
      ...[
        `X-Slack-Signature: v0=${this.text(64, '0123456789abcdef')}`,
        `X-Slack-Request-Timestamp: ${time}`,
        `X-Hook-Secret: ${this.text(40)}`,
      ],
      ...[
        `Content-Type: ${this.pick(['application/json', 'text/plain', 'multipart/form-data; boundary=x', this.text(20)])}`,
      ],
      ...[
        `Content-Encoding: ${this.pick(['gzip', 'br', 'identity'])}`,
        `X-Headrace-Delivery-Id: ${this.text(300)}`,
        'Expect: 100-continue',
      ],
      ...[
        `X-Forwarded-For: ${this.text(30)}`,
        `Cookie: ${this.text(50)}`,
        `traceparent: ${this.text(60)}`,
        `Expect: ${this.text(5)}`,
      ],
      ...[
        'Upgrade: websocket',
        `${this.text(20)}: ${this.text(20)}`,
        `X-Big: ${'x'.repeat(this.pick([10, 1000, 20_000]))}`,
      ],
    ];
    const first = this.isProper && this.random() < 0.7 ? [`Authorization: Bearer ${hook.secret}`] : [];
    const count = this.random() < 0.01 ? 150 : Math.floor(this.random() * 8);
    const others = Array.from({ length: count }, () => this.pick(possible));
    return ['Host: 127.0.0.1', ...first, ...(this.isProper ? others.map(printable).filter(isHarmless) : others)];
  }

  private body(): Buffer {
    const size = this.pick([0, 1, 10, 100, 1000, 5000]);
    return this.pick([
      () => Buffer.from('{}'),
      () =>
        Buffer.from(
          JSON.stringify({
            [this.text(10)]: this.text(size),
            n: this.random(),
            type: 'url_verification',
            challenge: 'x',
          }),
        ),
      () => Buffer.from(`${'['.repeat(size)}${']'.repeat(size)}`),
      () => this.bytes(size),
      () => Buffer.from(this.text(size)),
      () => (this.random() < 0.3 ? Buffer.alloc(this.pick([262_144, 262_145, 400_000]), ' ') : Buffer.from('null')),
    ])();
  }

  /** The end of the headers, and the body: whole, in chunks, cut short, or in ways that contradict themselves. */
  private framed(body: Buffer): Buffer[] {
    const length = Buffer.from(`\r\nContent-Length: ${body.length}\r\n\r\n`);
    const chunked = Buffer.from('\r\nTransfer-Encoding: chunked\r\n\r\n');
    const chunk = (part: Buffer): Buffer[] => [
      Buffer.from(`${part.length.toString(16)}\r\n`),
      part,
      Buffer.from('\r\n'),
    ];
    this.isWhole = this.isProper && this.random() < 0.8;
    if (this.isWhole) return [Buffer.from('\r\nConnection: close'), length, body];
    return this.pick<() => Buffer[]>([
      () => [length, body],
      () => [length, body],
      () => [length, body],
      () => [chunked, ...(body.length > 0 ? chunk(body) : []), Buffer.from('0\r\n\r\n')],
      () => [
        chunked,
        ...(body.length > 1 ? [...chunk(body.subarray(0, 1)), ...chunk(body.subarray(1))] : []),
        Buffer.from('0\r\n\r\n'),
      ],
      () => [length, body.subarray(0, body.length >> 1)],
      () => [chunked, Buffer.from('zz\r\n'), body],
      () => [Buffer.from('\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n'), body],
      () => [Buffer.from('\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n'), body],
      () => [
        Buffer.from(`\r\nContent-Length: ${this.pick(['-1', '1e3', '0x10', '99999999999999999999', '+5'])}\r\n\r\n`),
        body,
      ],
      () => [Buffer.from('\n\n'), body],
    ])();
  }
}

const printable = (line: string): string => line.replace(/[^\x20-\x7e]/g, '');
const isHarmless = (line: string): boolean =>
  !/^(x-big|expect|upgrade|authorization): /i.test(line) && /^[\w-]+: /.test(line);

/** The statuses that a connection is answered with; none when it is closed without a word. */
function exchange(bytes: Buffer, isWhole: boolean): Promise<number[]> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let text = '';
    socket.setTimeout(30_000, () =>
      socket.destroy(new Error(`No answer to ${JSON.stringify(bytes.toString('latin1').slice(0, 300))}`)),
    );
    socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNRESET' || error.code === 'EPIPE') resolve(statuses(text));
      else reject(error);
    });
    socket.on('close', () => resolve(statuses(text)));
    // Half-closed: a reader that waits for more than was sent learns that nothing comes. A server of Node then answers no more
    // what takes it a moment, so what is whole is sent as senders do.
    if (isWhole) socket.write(bytes);
    else socket.end(bytes);
  });
}
const statuses = (text: string): number[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));

const residentMiB = (pid: number): number =>
  (Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * 4096) / 1_048_576;
const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

describe(`${REQUESTS} random requests`, () => {
  it(
    'never fail us, never end the process, leave no memory behind and no secret in the log',
    { timeout: (isLong ? 15 : 2) * MINUTE },
    async () => {
      const seed = Number(process.env.HEADRACE_FUZZ_SEED ?? randomBytes(4).readUInt32BE());
      const requests = new RandomRequests(new Chance(seed));
      const seen = new Map<number, number>();
      const memory: number[] = [];
      const faults: string[] = [];
      let sent = 0;
      await Promise.all(
        Array.from({ length: AT_ONCE }, async () => {
          while (sent < REQUESTS) {
            sent += 1;
            if (sent % Math.floor(REQUESTS / 200) === 0) memory.push(residentMiB(ingress.child.pid ?? 0));
            const bytes = requests.next();
            for (const status of await exchange(bytes, requests.isWhole)) {
              seen.set(status, (seen.get(status) ?? 0) + 1);
              if (status >= 500) faults.push(`${status}: ${bytes.toString('latin1').slice(0, 600)}`);
            }
          }
        }),
      );
      const context = `seed ${seed}, statuses ${JSON.stringify([...seen])}`;
      expect(faults, context).toEqual([]);
      expect(ingress.child.exitCode, context).toBeNull();
      for (const status of [202, 400, 401, 404, 405, 413]) expect(seen.get(status) ?? 0, context).toBeGreaterThan(0);
      const quarter = Math.floor(memory.length / 4);
      if (isLong)
        expect(mean(memory.slice(-quarter)), context).toBeLessThanOrEqual(
          1.2 * mean(memory.slice(quarter, 2 * quarter)),
        );
      for (const { secret } of hooks.filter((hook) => hook.secret !== ''))
        expect(ingress.text.includes(secret), context).toBe(false);
      expect(ingress.text).not.toMatch(/"level":"(error|fatal)"/);
    },
  );
});
