import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { SweepExecutions } from '#execution/executions';
import { discordViolations, slackViolations, teamsViolations, type TestResponse } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';
import { lockOfRun, pointersOf, untilWaiting } from '../../support/api-requests.js';
import {
  buttonsIn,
  CHAT_FORMATS,
  type ChatFormat,
  DecisionChannel,
  type PressedButton,
  type WaitingRun,
} from './decision-messages.js';
import { deliverDue, LOCAL_RECEIVERS, NOTIFICATION_WEBHOOKS } from './webhook-receiver.js';

const HOUR = 3_600_000;
const FORM = 'application/x-www-form-urlencoded';
const PREVIEW = { 'user-agent': 'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)' };

let fixture: ApiFixture;
let channel: DecisionChannel;

beforeAll(async () => {
  fixture = await ApiFixture.start({ settings: LOCAL_RECEIVERS });
});
afterAll(() => fixture.close());
beforeEach(async () => {
  channel = await DecisionChannel.create(fixture, 'slack');
});
afterEach(() => channel.close());

const pathOf = (url: string): string => new URL(url).pathname;
const open = (status: number, url: string, headers: Record<string, string> = {}) =>
  fixture.api.atOrigin(status, `GET ${pathOf(url)}`, { headers });
const press = (status: number, url: string, body = '') =>
  fixture.api.atOrigin(status, `POST ${pathOf(url)}`, { body, contentType: FORM });
function urlOf(buttons: readonly PressedButton[], label: string): string {
  const found = buttons.find((button) => button.label === label);
  if (!found) throw new Error(`No button ${label} among ${buttons.map((button) => button.label).join()}.`);
  return found.url;
}
const headingOf = ({ text }: TestResponse): string => /<h1>([^<]*)<\/h1>/.exec(text)?.[1] ?? '';
const deliveredBy = (of: DecisionChannel): unknown => expect.objectContaining({ uid: of.uid });
async function waiting(fields: object = {}): Promise<{ run: WaitingRun; allow: string; deny: string }> {
  const run = await channel.permission(fields);
  const buttons = await channel.buttons();
  return { run, allow: urlOf(buttons, 'Allow'), deny: urlOf(buttons, 'Deny') };
}

describe('a message about a run that waits', () => {
  const VIOLATIONS: Readonly<Record<ChatFormat, (message: never) => string[]>> = {
    slack: slackViolations,
    discord: discordViolations,
    teams: teamsViolations,
  };

  it.each(CHAT_FORMATS)('has buttons that decide, in the format %s', async (format) => {
    const other = await DecisionChannel.create(fixture, format);
    try {
      const run = await other.permission();
      const { body, url } = await other.message();
      expect(VIOLATIONS[format](body as never)).toEqual([]);
      expect(new URL(url, 'http://receiver').searchParams.get('with_components')).toBe(
        format === 'discord' ? 'true' : null,
      );
      const allow = urlOf(buttonsIn(body), 'Allow');
      expect(headingOf(await open(200, allow))).toBe('Allow this request?');
      expect(headingOf(await press(200, allow))).toBe('Allowed');
      expect(await run.state()).toBe('INPROGRESS');
      expect(await run.approval()).toMatchObject({
        state: 'allowed',
        decided_via: 'channel',
        decided_by: { type: 'notification_webhook', uid: other.uid, display_name: `${format} channel` },
      });
      const again = await press(409, allow);
      expect(headingOf(again)).toBe('Already decided');
      expect(again.text).toMatch(
        new RegExp(`Already decided by ${format} channel at \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d UTC: allowed\\.`),
      );
    } finally {
      await other.close();
    }
  });

  it.each(CHAT_FORMATS)('has a button for each option of a question, in the format %s', async (format) => {
    const other = await DecisionChannel.create(fixture, format);
    try {
      const options = Array.from({ length: 10 }, (_, index) => `Option number ${index}`);
      const run = await other.question({ title: 'Which one?', options, allow_text: true });
      const { body } = await other.message();
      expect(VIOLATIONS[format](body as never)).toEqual([]);
      expect(buttonsIn(body).map(({ label }) => label)).toEqual([...options, 'Another answer']);
      const page = await open(200, urlOf(buttonsIn(body), 'Option number 7'));
      expect(page.text).toContain('Option number 7');
      expect(headingOf(await press(200, urlOf(buttonsIn(body), 'Option number 7')))).toBe('Answered');
      expect((await run.approval()).answer).toEqual({ option_id: '8', option: 'Option number 7' });
      const late = await press(409, urlOf(buttonsIn(body), 'Option number 3'));
      expect(late.text).toContain('answered: Option number 7.');
    } finally {
      await other.close();
    }
  });

  it('has no buttons unless the webhook decides, and none in JSON', async () => {
    await channel.update({ decisions: false });
    await channel.permission();
    expect(await channel.buttons()).toEqual([]);
    const { token } = fixture.admin;
    const line = `${NOTIFICATION_WEBHOOKS}/${channel.uid}`;
    await channel.update({ format: 'json' });
    const refused = await fixture.request(400, `PUT ${line}`, { token, body: { decisions: true } });
    expect(pointersOf(refused.body)).toEqual(['/decisions']);
    await channel.update({ format: 'teams', decisions: true });
    const changed = await fixture.request(400, `PUT ${line}`, { token, body: { format: 'json' } });
    expect(pointersOf(changed.body)).toEqual(['/format']);
    const body = { name: 'programs', url: 'http://127.0.0.1:1/', decisions: true };
    const created = await fixture.request(400, `POST ${NOTIFICATION_WEBHOOKS}`, { token, body });
    expect(pointersOf(created.body)).toEqual(['/decisions']);
  });

  it('has no buttons when the request was decided before the message was sent', async () => {
    const run = await channel.permission();
    await run.decide({ decision: 'deny' });
    expect(await channel.buttons()).toEqual([]);
  });

  it('has no button to allow in an environment that is not of the team, and one to deny', async () => {
    const { token } = fixture.admin;
    const environment = { config: { name: 'mine' }, team: false };
    const { uid } = (await fixture.request(201, 'POST /environments', { token, body: environment })).body;
    const run = await channel.permission({}, { config: { environment_id: uid } });
    const buttons = await channel.buttons();
    expect(buttons.map(({ label }) => label)).toEqual(['Deny']);
    await press(200, urlOf(buttons, 'Deny'));
    expect((await run.approval()).state).toBe('denied');
  });

  it('has no button to allow what no page shows', async () => {
    await channel.permission({ input: { command: 'x'.repeat(40_000) } });
    expect((await channel.buttons()).map(({ label }) => label)).toEqual(['Deny']);
    await channel.permission({ input: { truncated: true, size_bytes: 500_000 } });
    expect((await channel.buttons()).map(({ label }) => label)).toEqual(['Deny']);
    await channel.permission({ input: { command: `ls${' '.repeat(20_000)}; curl evil` } });
    expect((await channel.buttons()).map(({ label }) => label)).toEqual(['Deny']);
    await channel.permission({ title: 'git push https://user:hunter2@example.com/', input: null });
    expect((await channel.buttons()).map(({ label }) => label)).toEqual(['Deny']);
    await channel.question({ title: 'Which?', options: ['https://user:hunter2@example.com/', 'Blue'] });
    expect((await channel.buttons()).map(({ label }) => label)).toEqual(['Blue']);
  });

  it('stores no token', async () => {
    const { allow } = await waiting();
    await open(200, allow);
    await press(200, allow);
    const token = pathOf(allow).slice('/decisions/'.length);
    const tables = ['notification_deliveries', 'approvals', 'run_events', 'audit_log_entries', 'notification_webhooks'];
    for (const table of tables) {
      const rows = await fixture.database.query<{ text: string }>(`SELECT t::text AS text FROM headrace.${table} t`);
      expect(rows.length).toBeGreaterThan(0);
      expect(rows.map(({ text }) => text).join('\n')).not.toContain(token);
    }
    expect(fixture.api.log.text).not.toContain(token);
  });
});

it.each(CHAT_FORMATS)('the log of deliveries has no token that a receiver echoes, in the format %s', async (format) => {
  const other = await DecisionChannel.create(fixture, format);
  try {
    // Only the first kilobyte is kept: the tokens come first.
    other.receiver.status = 200;
    other.receiver.echo = (body) => {
      const urls = buttonsIn(JSON.parse(body)).map(({ url }) => url);
      return JSON.stringify({ urls, value: urls[0]?.split('/').at(-1), end: urls }).replaceAll('/', '\\/');
    };
    await other.permission();
    const [allow, deny] = (await other.buttons()).map(({ url }) => pathOf(url).slice('/decisions/'.length));
    const line = `GET ${NOTIFICATION_WEBHOOKS}/${other.uid}/deliveries`;
    const { text } = await fixture.request(200, line, { token: fixture.admin.token });
    const rows = await fixture.database.query<{ text: string }>(
      'SELECT t::text AS text FROM headrace.notification_deliveries t',
    );
    for (const stored of [text, ...rows.map((row) => row.text)])
      for (const token of [allow, deny]) expect(stored).not.toContain(token?.slice(0, 40));
    expect(text).toContain('***');
  } finally {
    await other.close();
  }
});

describe('the page of a button', () => {
  it('only shows what would be decided, also to services that fetch links', async () => {
    const { run, allow, deny } = await waiting();
    for (const url of [allow, deny]) {
      const page = await open(200, url, PREVIEW);
      expect(page.text).toContain('Deploy the shop');
      expect(page.text).toContain('Run `make deploy`');
      expect(page.text).toContain('&quot;command&quot;: &quot;make deploy&quot;');
      expect(page.text).toContain('slack channel');
      await open(200, url, { ...PREVIEW, 'sec-purpose': 'prefetch' });
      expect((await fixture.api.atOrigin(200, `HEAD ${pathOf(url)}`)).text).toBe('');
    }
    for (const method of ['PUT', 'DELETE', 'PATCH']) await fixture.api.atOrigin(405, `${method} ${pathOf(allow)}`);
    expect((await run.approval()).state).toBe('pending');
    expect(await run.state()).toBe('BLOCKED');
  });

  it('is not stored, not indexed, has no script, and names its address to nobody', async () => {
    const { allow } = await waiting();
    for (const answer of [await open(200, allow), await press(200, allow), await open(404, `${allow}A`)]) {
      const { headers, text } = answer;
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      expect(headers.get('x-robots-tag')).toBe('noindex, nofollow, noarchive');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(headers.get('set-cookie')).toBeNull();
      expect(headers.get('content-security-policy')).toMatch(
        /^default-src 'none'; style-src 'sha256-[A-Za-z0-9+/=]{44}'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'$/,
      );
      expect(text).not.toMatch(/<script|javascript:|\son\w+=|https?:\/\/(?!127\.0\.0\.1|localhost)/i);
      expect(text).toContain('name="viewport"');
    }
  });

  it('escapes texts of agents, and shows no character that hides another', async () => {
    const hostile = '<script>alert(1)</script> "\'& \u202E\u200B\u0007\uFE0F\u3164 <!channel> @everyone';
    await channel.permission({ title: hostile, input: { command: hostile } }, { title: hostile });
    const page = await open(200, urlOf(await channel.buttons(), 'Allow'));
    expect(page.text).not.toMatch(/<script|[\u202E\u200B\u0007\uFE0F\u3164]/);
    expect(page.text).toContain(
      '&lt;script&gt;alert(1)&lt;/script&gt; &quot;&#39;&amp; \\u202e\\u200b\\u0007\\ufe0f\\u3164 ',
    );
    await channel.question({ title: hostile, options: [hostile, '\u200B'] });
    const [first, second] = await channel.buttons();
    expect(second?.label).toBe('Option 2');
    expect((await open(200, first?.url ?? '')).text).not.toMatch(/<script|[\u202E\u200B\u0007]/);
  });

  it('masks credentials like a message, and does not allow what it masks', async () => {
    const secret = 'hunter2hunter2';
    const input = { command: 'curl', headers: { authorization: secret } };
    const run = await channel.permission({ title: `fetch https://user:${secret}@example.com/`, input });
    const buttons = await channel.buttons();
    expect(buttons.map(({ label }) => label)).toEqual(['Deny']);
    const page = await open(200, urlOf(buttons, 'Deny'));
    expect(page.text).not.toContain(secret);
    expect(page.text).toContain('https://***@example.com/');
    expect((await run.approval()).state).toBe('pending');
  });

  it('accepts only its own form', async () => {
    const { run, allow } = await waiting();
    const line = `POST ${pathOf(allow)}`;
    await fixture.api.atOrigin(415, line, { body: { decision: 'allow' } });
    await fixture.api.atOrigin(413, line, { body: `text=${'x'.repeat(200_000)}`, contentType: FORM });
    expect((await run.approval()).state).toBe('pending');
  });
});

describe('a button', () => {
  it('counts once, also when many people press at the same moment', async () => {
    const { run, allow, deny } = await waiting();
    const send = (url: string) => fetch(url, { method: 'POST', headers: { 'content-type': FORM } });
    const answers = await Promise.all([allow, deny, allow, deny, allow, deny].map(send));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409, 409]);
    const decided = (await run.approval()).state;
    expect(['allowed', 'denied']).toContain(decided);
    for (const answer of answers.filter(({ status }) => status === 409))
      expect(await answer.text()).toContain(`UTC: ${decided}.`);
  });

  it('names the person who has decided before, in the page and after pressing', async () => {
    const { run, allow } = await waiting();
    await run.decide({ decision: 'deny' });
    for (const page of [await open(409, allow), await press(409, allow)])
      expect(page.text).toMatch(/Already decided by Mia Member at \d{4}-\d\d-\d\d \d\d:\d\d UTC: denied\./);
    expect((await run.approval()).decided_by).toMatchObject({ type: 'user', display_name: 'Mia Member' });
  });

  it('is recorded in the timeline and the audit log under the name of the webhook', async () => {
    const { run, deny } = await waiting();
    await press(200, deny);
    const line = `GET /agent/runs/${run.id}/timeline`;
    const { events } = (await fixture.request(200, line, { token: run.token })).body;
    expect(events.at(-1)).toMatchObject({
      event_type: 'permission_decided',
      payload: { decision: 'deny', by: 'channel', principal: { type: 'notification_webhook', name: 'slack channel' } },
    });
    const { entries } = await fixture.requestAs(fixture.owner, 200, 'GET /audit-log?action=approval.decided&limit=1');
    expect(entries[0]).toMatchObject({
      actor: { type: 'notification_webhook', uid: channel.uid, name: 'slack channel' },
      target: { type: 'approval', uid: 'a1' },
      source: { address: '127.0.0.1' },
      details: { path: { runId: run.id }, decision: 'deny', channel: deliveredBy(channel) },
    });
  });

  it('expires after a day, and says so', async () => {
    const run = await channel.permission({}, { config: { approval_timeout_minutes: 10_080 } });
    const allow = urlOf(await channel.buttons(), 'Allow');
    await fixture.api.advanceClock(23 * HOUR);
    await open(200, allow);
    await fixture.api.advanceClock(HOUR);
    expect(headingOf(await open(410, allow))).toBe('Expired');
    expect(headingOf(await press(410, allow))).toBe('Expired');
    expect((await run.approval()).state).toBe('pending');
  });

  it('expires with its request, and then says that nobody decided', async () => {
    const { run, allow } = await waiting();
    await fixture.database.query(
      `UPDATE executions SET lease_expires_at = lease_expires_at + interval '1 day' WHERE run_id = $1`,
      [run.id],
    );
    await fixture.api.advanceClock(fixture.api.settings.approvalTimeout + 1000);
    expect(headingOf(await press(410, allow))).toBe('Expired');
    await fixture.api.app.get(SweepExecutions).execute();
    expect((await press(409, allow)).text).toContain('Already decided by the timeout');
    expect((await run.approval()).decided_via).toBe('timeout');
  });

  it('does nothing for a run that has ended', async () => {
    const { run, allow } = await waiting();
    await fixture.request(200, `POST /agent/runs/${run.id}/cancel`, { token: run.token });
    for (const page of [await open(409, allow), await press(409, allow)])
      expect(['Not waiting', 'Already decided']).toContain(headingOf(page));
    expect(await run.state()).toBe('CANCELLED');
    expect((await run.approval()).state).not.toBe('allowed');
  });

  it('is sent again without buttons after a failed attempt, when the request was decided meanwhile', async () => {
    channel.receiver.status = 500;
    const run = await channel.permission();
    const [first] = await channel.buttons();
    await press(200, first?.url ?? '');
    channel.receiver.status = 204;
    await fixture.api.advanceClock(10_000);
    expect(await channel.buttons()).toEqual([]);
    expect((await run.approval()).state).toBe('allowed');
  });

  it('answers a free text with a text', async () => {
    const run = await channel.question({ title: 'What now?', allow_text: true });
    const buttons = await channel.buttons();
    expect(buttons.map(({ label }) => label)).toEqual(['Answer']);
    const url = urlOf(buttons, 'Answer');
    expect((await open(200, url)).text).toContain('<textarea');
    const encoded = (text: string): string => new URLSearchParams({ text }).toString();
    for (const wrong of ['', encoded('  '), encoded('x'.repeat(10_001))]) {
      const page = await press(400, url, wrong);
      expect(page.text).toContain('role="alert"');
      expect(page.text).toContain('<textarea');
    }
    await press(200, url, encoded('Grüße & <b>Ende</b>\r\nzweite Zeile'));
    expect((await run.approval()).answer).toEqual({ text: 'Grüße & <b>Ende</b>\nzweite Zeile' });
    expect((await press(409, url, encoded('Again'))).text).toContain('&lt;b&gt;Ende&lt;/b&gt;');
  });
});

describe('a link that is not valid', () => {
  const ended: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['the webhook was disabled', () => channel.update({ enabled: false })],
    ['its decisions were switched off', () => channel.update({ decisions: false })],
    [
      'they were switched off and on again',
      () => channel.update({ decisions: false }).then(() => channel.update({ decisions: true })),
    ],
    [
      'the webhook was disabled and enabled again',
      () => channel.update({ enabled: false }).then(() => channel.update({ enabled: true })),
    ],
    ['the messages go to another address', () => channel.update({ url: 'http://127.0.0.1:1/other' })],
    [
      'the secret was rotated',
      () =>
        fixture.request(200, `POST ${NOTIFICATION_WEBHOOKS}/${channel.uid}/rotate-secret`, {
          token: fixture.admin.token,
        }),
    ],
    [
      'the webhook was deleted',
      () => fixture.request(204, `DELETE ${NOTIFICATION_WEBHOOKS}/${channel.uid}`, { token: fixture.admin.token }),
    ],
    [
      'the receiver was gone',
      () => ((channel.receiver.status = 410), channel.permission().then(() => deliverDue(fixture.api))),
    ],
  ];

  it.each(ended)('because %s looks like a forged one', async (_reason, end) => {
    const { run, allow } = await waiting();
    const forged = [
      await open(404, `${allow.slice(0, -1)}${allow.endsWith('A') ? 'B' : 'A'}`),
      await press(404, `${allow}A`),
    ];
    await end();
    const answers = [...forged, await open(404, allow), await press(404, allow)];
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers[0]?.text).not.toContain('slack channel');
    expect((await run.approval()).state).toBe('pending');
  });

  it('stays valid when only the name changes, and shows the new one', async () => {
    const { run, allow } = await waiting();
    await channel.update({ name: 'release channel' });
    await press(200, allow);
    expect((await run.approval()).decided_by.display_name).toBe('release channel');
  });

  it('is also one that waits for the run while its webhook is disabled', async () => {
    const { run, allow } = await waiting();
    const blocker = new pg.Client({ connectionString: fixture.database.url });
    await blocker.connect();
    await blocker.query(`BEGIN; ${lockOfRun(run.id)}`);
    const pressing = press(404, allow);
    await untilWaiting(fixture.api, 1);
    await channel.update({ enabled: false });
    await blocker.query('COMMIT');
    await blocker.end();
    await pressing;
    expect((await run.approval()).state).toBe('pending');
  });

  it('is answered with 429 after 300 requests of an address in a minute, and does not keep others from deciding', async () => {
    const { allow } = await waiting();
    await fixture.api.advanceClock(61_000);
    const statusesOf = async (path: string): Promise<number[]> => {
      const statuses: number[] = [];
      for (let count = 0; count < 301; count += 1)
        statuses.push((await fetch(`${fixture.api.url}${path}`, { method: 'HEAD' })).status);
      return statuses;
    };
    expect(await statusesOf('/decisions/x')).toEqual([...Array<number>(300).fill(404), 429]);
    expect(await statusesOf(pathOf(allow))).toEqual([...Array<number>(300).fill(200), 429]);
    const limited = await open(429, allow);
    expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(0);
    await fixture.api.advanceClock(61_000);
    await open(200, allow);
  });
});
