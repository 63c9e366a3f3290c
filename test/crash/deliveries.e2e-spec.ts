import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseSettings } from '#platform/config';
import { EmbeddedPostgres } from '../../libs/platform/embedded-postgres/src/embedded-postgres.js';
import { type BuiltWebhook, WebhookBuilder } from '../../libs/testing/src/webhook-builder.js';
import { bearer, post } from '../ingress/post.js';
import { freePort, Installation, MAIN, type Program, tick, until } from '../support/installation.js';
import { placeReadyDatabase } from '../support/ready-database.js';
import { isLong } from '../support/long-tests.js';

const DELIVERIES = isLong ? 5_000 : 600;
const WEBHOOKS = 100;
const SENDERS = 20;
/** The processes to kill in this order, one each time another share of the deliveries has been accepted. */
const VICTIMS = ['ingress', 'processor', 'postgres', 'ingress', 'postgres', 'processor'] as const;
const MINUTE = 60_000;

let directory: string;
let postgres: EmbeddedPostgres;
let installation: Installation;
let database: pg.Pool;
let hooks: BuiltWebhook[];
const running = new Map<string, Program>();

const run = async (
  name: string,
  command: 'ingress' | 'processor',
  more: Record<string, string> = {},
): Promise<void> => {
  const program = installation.start(command, more);
  running.set(name, program);
  try {
    await program.says(`${command} is ready`);
  } catch (error) {
    // PostgreSQL was recovering (57P03), so the process is started again as a supervisor would do.
    if (!program.text.includes('57P03')) throw error;
    await run(name, command, more);
  }
};

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'headrace-test-'));
  chmodSync(directory, 0o711);
  const dataDir = join(directory, 'data');
  await placeReadyDatabase(dataDir, MAIN);
  postgres = await EmbeddedPostgres.start({ dataDir, log: () => undefined });
  database = new pg.Pool({ connectionString: postgres.url, max: 2, options: '-c search_path=headrace,public' });
  database.on('error', () => undefined);
  await database.query(`
    CREATE TABLE public.recorded (delivery_id uuid NOT NULL);
    CREATE FUNCTION public.note_record() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO public.recorded VALUES (NEW.id); RETURN NEW; END';
    CREATE TRIGGER note_record AFTER UPDATE OF evaluated_at ON headrace.webhook_deliveries FOR EACH ROW
      WHEN (NEW.evaluated_at IS NOT NULL) EXECUTE FUNCTION public.note_record();`);
  const secretsKey = randomBytes(24).toString('hex');
  const builder = new WebhookBuilder(
    { query: async (text, values = []) => (await database.query(text, [...values])).rows },
    parseSettings({ SECRETS_KEY: secretsKey }),
  );
  const { factoryUid } = await builder.factory();
  hooks = await Promise.all(Array.from({ length: WEBHOOKS }, () => builder.webhook({ factoryUid })));
  installation = await Installation.create({
    ...{ DATABASE_URL: postgres.url, SECRETS_KEY: secretsKey },
    ...{ WEBHOOK_RATE_LIMIT: '6000', LOG_LEVEL: 'warn' },
  });
}, MINUTE);

afterAll(async () => {
  await Promise.all([...running.values()].map((program) => program.stop()));
  await database.end();
  await postgres.stop();
  installation.remove();
  rmSync(directory, { recursive: true, force: true });
});

describe(`${DELIVERIES} deliveries during kills of ingress, processor and PostgreSQL`, () => {
  it(
    'loses no delivery, accepts each once and records the evaluation of each once',
    { timeout: isLong ? 9 * MINUTE : 2 * MINUTE },
    async () => {
      const ports = [await freePort(), await freePort()];
      const ingresses = ports.map((port, index) => ({ name: `ingress-${index}`, port }));
      for (const { name, port } of ingresses) await run(name, 'ingress', { INGRESS_PORT: String(port) });
      await run('processor', 'processor');

      const answered = new Map<number, string>();
      let unanswered = 0;
      /** Repeats the delivery at alternating ingresses until it is accepted, as a sender behind a load balancer does. */
      const deliver = async (n: number): Promise<void> => {
        const hook = hooks[n % WEBHOOKS];
        for (let attempt = n; ; attempt += 1) {
          const url = `http://127.0.0.1:${ports[attempt % ports.length]}${hook?.path ?? ''}`;
          const headers = { ...bearer(hook?.secret ?? ''), 'X-Headrace-Delivery-Id': `event-${n}` };
          const answer = await post(url, { headers, body: JSON.stringify({ n, attempt }) }).catch(() => null);
          if (answer?.status === 202) {
            answered.set(n, String(answer.json?.delivery_id));
            return;
          }
          unanswered += 1;
          if (answer && answer.status !== 503)
            throw new Error(`Delivery ${n} was answered ${answer.status}: ${answer.text}`);
          await tick(20);
        }
      };
      let next = 0;
      const senders = Array.from({ length: SENDERS }, async () => {
        while (next < DELIVERIES) {
          next += 1;
          await deliver(next);
        }
      });

      const killed: string[] = [];
      const destroyer = (async () => {
        for (const [turn, victim] of VICTIMS.entries()) {
          const due = Math.floor((DELIVERIES * (turn + 1)) / (VICTIMS.length + 2));
          await until(() => answered.size >= due, isLong ? 4 * MINUTE : MINUTE, `the acceptance of ${due} deliveries`);
          killed.push(victim);
          if (victim === 'postgres') process.kill(postgres.pid, 'SIGKILL');
          else {
            const { name, port } = ingresses[turn % 2] ?? { name: '', port: 0 };
            const key = victim === 'ingress' ? name : 'processor';
            expect(await running.get(key)?.stop('SIGKILL')).toBe('SIGKILL');
            await run(key, victim, victim === 'ingress' ? { INGRESS_PORT: String(port) } : {});
          }
        }
      })();
      await Promise.all([...senders, destroyer]);
      expect(killed).toEqual(VICTIMS);
      expect(unanswered).toBeGreaterThan(0);
      expect(answered.size).toBe(DELIVERIES);

      const pending = async (): Promise<number> =>
        Number(
          (
            await database.query(
              `SELECT count(*) AS n FROM webhook_deliveries WHERE outcome = 'A' AND evaluated_at IS NULL`,
            )
          ).rows[0]?.n,
        );
      await until(async () => (await pending()) === 0, MINUTE, 'the last evaluation');

      const { rows } = await database.query<{ id: string; identity: string; outcome: string; records: string }>(
        `SELECT d.id, d.identity, d.outcome, (SELECT count(*) FROM public.recorded AS r WHERE r.delivery_id = d.id) AS records
           FROM webhook_deliveries AS d`,
      );
      const accepted = rows.filter(({ outcome }) => outcome === 'A');
      expect(accepted).toHaveLength(DELIVERIES);
      expect(accepted.filter(({ records }) => Number(records) !== 1)).toEqual([]);
      const byIdentity = new Map(accepted.map(({ identity, id }) => [identity, id]));
      expect([...answered].filter(([n, id]) => byIdentity.get(`event-${n}`) !== id)).toEqual([]);
      expect(new Set(rows.map(({ outcome }) => outcome))).toEqual(
        new Set(rows.length > DELIVERIES ? ['A', 'D'] : ['A']),
      );
    },
  );
});
