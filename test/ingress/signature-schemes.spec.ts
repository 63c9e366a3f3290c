import { createHash, createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { bodyWith } from '../../libs/domain/webhooks/src/domain/signing/body-text.js';
import type { SignedRequest } from '../../libs/domain/webhooks/src/domain/signing/signature-scheme.js';
import { SignatureSchemes } from '../../libs/domain/webhooks/src/domain/signing/signature-schemes.js';
import {
  BODY,
  DELIVERY_ID,
  incoming,
  NOW,
  PUBLIC_KEY_SCHEMES,
  SAMPLES,
  type SchemeSample,
  URL_HERE,
} from './scheme-samples.js';

/** Ids are on the wire for good. */
const SHIPPED =
  'airtable anthropic asana bitbucket buildkite calendly circleci clerk customerio discord figma github gitlab_signing ' +
  'gitlab_token grafana grafana_timestamped hubspot_v3 incident_io intercom jira launchdarkly linear mailgun netlify ' +
  'notion openai paddle pagerduty polar resend sendgrid sentry shopify slack square standard_webhooks ' +
  'standard_webhooks_v1a stripe terraform_cloud twilio typeform vercel workos zendesk zoom';
/** These sign less than the body: who has the secret, or a signature, may send what he likes. Said in the documentation. */
const BODY_NOT_SIGNED = ['figma', 'gitlab_token', 'mailgun'];

type Pairs = readonly (readonly [string, string])[];
const pairsOf = ({ headers }: SignedRequest): Pairs => Object.entries(headers);
const without = (pairs: Pairs, name: string): Pairs => pairs.filter(([each]) => each !== name);
const withValue = (pairs: Pairs, name: string, value: string): Pairs =>
  pairs.map(([each, old]) => (each === name ? [each, value] : [each, old]));

function verdict(
  sample: SchemeSample,
  request: SignedRequest,
  pairs: Pairs = pairsOf(request),
  now = NOW,
  secret = sample.secret,
) {
  return sample.scheme.verify(incoming(request, pairs), secret, now);
}

it('registers every scheme of the list once', () => {
  expect(new SignatureSchemes(SAMPLES.map(({ scheme }) => scheme)).all().map(({ id }) => id)).toEqual(
    SHIPPED.split(' '),
  );
});

describe.each(SAMPLES.map((sample) => [sample.scheme.id, sample] as const))('%s', (id, sample) => {
  const { scheme, row, secret, otherSecret } = sample;
  const request = sample.request();
  const signedHeaders = [
    ...new Set([
      ...scheme.signatureHeaders,
      ...(row?.framings ?? []).flatMap((framing) => (framing.id && 'header' in framing.id ? [framing.id.header] : [])),
    ]),
  ].filter((name) => name in request.headers);

  it('accepts a request of its sender, and describes itself', () => {
    expect(verdict(sample, request)).toBe(true);
    expect(scheme.documentationUrl).toMatch(/^https:\/\/[a-z]/);
    expect([...scheme.signatureHeaders, ...scheme.deliveryIdHeaders].every((name) => name === name.toLowerCase())).toBe(
      true,
    );
  });

  it('signs as the sender does, where the receiver can', () => {
    const signed = scheme.sign({ body: BODY, secret, now: NOW, url: URL_HERE, deliveryId: DELIVERY_ID });
    expect(signed === null).toBe(PUBLIC_KEY_SCHEMES.includes(id));
    if (signed === null) return;
    expect(verdict(sample, signed)).toBe(true);
    const sent = scheme.deliveryIdHeaders.filter((name) => name in signed.headers);
    expect(sent.map((name) => signed.headers[name])).toEqual(scheme.deliveryIdHeaders.length > 0 ? [DELIVERY_ID] : []);
  });

  it('rejects every other secret', () => {
    expect(scheme.checkSecret(secret)).toBeNull();
    for (const wrong of [otherSecret, `${secret}x`, secret.slice(0, -1), secret.toUpperCase() + secret, ` ${secret}`]) {
      expect(verdict(sample, request, undefined, NOW, wrong), wrong).toBe(false);
    }
  });

  it.each(['', ' ', '\n\t ', 'whsec_', 'whpk_'])('refuses to work with the secret %j', (blank) => {
    if (blank.trim() === '') expect(scheme.checkSecret(blank)).toMatch(/empty or blank/);
    expect(verdict(sample, request, undefined, NOW, blank)).toBe(false);
    // Not even what somebody signed with just that secret.
    const forged = row?.algorithm.sign([request.body], blank) ?? null;
    const header = scheme.signatureHeaders[0];
    if (blank.trim() === '' && forged !== null && header !== undefined) {
      expect(verdict(sample, request, withValue(pairsOf(request), header, forged), NOW, blank)).toBe(false);
    }
  });

  it('rejects a changed body', () => {
    const changed = [
      Buffer.concat([request.body, Buffer.from(' ')]),
      Buffer.from(request.body.toString('utf8').replace('evt_1', 'evt_2')),
      Buffer.from(request.body.toString('utf8').normalize('NFD')),
    ].map((body) => verdict(sample, { ...request, body }));
    expect(changed).toEqual(changed.map(() => BODY_NOT_SIGNED.includes(id)));
    expect(verdict(sample, { ...request, body: Buffer.alloc(0) })).toBe(id === 'gitlab_token');
  });

  describe.each(signedHeaders)('its header %s', (name) => {
    const pairs = pairsOf(request);
    const value = request.headers[name] ?? '';

    it('must be present once and complete', () => {
      const cases: Record<string, Pairs> = {
        missing: without(pairs, name),
        twice: [...pairs, [name, value]],
        'twice, in other case': [...pairs, [name.toUpperCase(), value]],
        'twice, the second empty': [...pairs, [name, '']],
        'twice, the first wrong': [[name, 'x'], ...pairs],
        empty: withValue(pairs, name, ''),
        blank: withValue(pairs, name, ' '),
        truncated: withValue(pairs, name, value.slice(0, -1)),
        'without its start': withValue(pairs, name, value.slice(1)),
        longer: withValue(pairs, name, `${value}0`),
        padded: withValue(pairs, name, `${value}=`),
        'with a line break': withValue(pairs, name, `${value}\n`),
        'too long': withValue(pairs, name, `${'x,'.repeat(2048)}${value}`),
      };
      for (const [what, changed] of Object.entries(cases)) expect(verdict(sample, request, changed), what).toBe(false);
    });

    it('is case sensitive', () => {
      if (value.toUpperCase() === value) return;
      expect(verdict(sample, request, withValue(pairs, name, value.toUpperCase()))).toBe(false);
    });
  });
});

describe.each(SAMPLES.filter(({ row }) => row?.time).map((sample) => [sample.scheme.id, sample] as const))(
  'the time of %s',
  (id, sample) => {
    const tolerance = id === 'linear' ? 60 : 300;
    const at = (seconds: number): Date => new Date(NOW.getTime() + seconds * 1000);
    const unit = sample.row?.time?.unit;
    const text = (date: Date): string =>
      unit === 'rfc3339' ? date.toISOString() : String(date.getTime() / (unit === 's' ? 1000 : 1));
    const judge = (timestamp: string): boolean => verdict(sample, sample.request({ timestamp }));

    it.each([
      [-tolerance - 1, false],
      [-tolerance, true],
      [0, true],
      [tolerance, true],
      [tolerance + 1, false],
    ])('%d s from now: %s', (seconds, accepted) => {
      expect(judge(text(at(seconds)))).toBe(accepted);
    });

    it.each([
      '1e9',
      '1.79e9',
      '+1790000000',
      ' 1790000000',
      '1790000000 ',
      '1790000000junk',
      '0x6ab13b80',
      '-1',
      '17900000000000000000',
      '1790000000.0',
      'NaN',
      'Infinity',
      '٠',
      'now',
    ])('is not %j, even if that is signed', (timestamp) => {
      expect(judge(timestamp)).toBe(false);
    });

    it('has one unit', () => {
      const others = ['1790000000', '1790000000000', '1790000000000000', '2026-09-21T14:13:20.000Z'].filter(
        (each) => each !== text(NOW),
      );
      expect(others.length).toBe(3);
      expect(others.filter(judge)).toEqual([]);
    });

    it('must not change after signing', () => {
      const request = sample.request();
      const moved = text(at(7));
      const { timestamp, signature } = sample.row?.framings.at(-1) ?? {};
      if (timestamp && 'path' in timestamp) {
        const body = bodyWith(request.body, timestamp.path, timestamp.asNumber ? Number(moved) : moved);
        expect(verdict(sample, { ...request, body: body ?? request.body })).toBe(false);
        return;
      }
      const name =
        timestamp && 'header' in timestamp
          ? timestamp.header
          : signature && 'header' in signature
            ? signature.header
            : '';
      const value = (request.headers[name] ?? '').replace(text(NOW), moved);
      expect(value).toContain(moved);
      expect(verdict(sample, request, withValue(pairsOf(request), name, value))).toBe(false);
    });
  },
);

it('is described in the documentation, line by line', () => {
  const page = readFileSync(new URL('../../docs/webhooks/signature-schemes.md', import.meta.url), 'utf8');
  const cells = page.split('\n').map((line) => line.split('|').map((cell) => cell.trim()));
  const found = cells.filter(([, id, sender]) => /^`\w+`$/.test(id ?? '') && sender?.startsWith('['));
  const code = (texts: readonly string[]): string => texts.map((text) => `\`${text}\``).join(', ');
  const byId = SAMPLES.toSorted((one, other) => (one.scheme.id < other.scheme.id ? -1 : 1));
  const expected = byId.map(({ scheme, row }) => [
    `\`${scheme.id}\``,
    `[${scheme.label}](${scheme.documentationUrl})`,
    code(scheme.signatureHeaders) || 'in the body',
    row?.time ? `${row.time.toleranceSeconds ?? 300} s` : '—',
    code(scheme.deliveryIdHeaders) || (scheme.deliveryIdPath ? `body ${code([scheme.deliveryIdPath.join('.')])}` : '—'),
  ]);
  const written = found.map(([, id, sender, , ...rest]) => [id, sender, ...rest.slice(0, 3)]);
  expect(written).toEqual(expected);
});

describe('a list of signatures', () => {
  const LISTS = {
    circleci: ',',
    pagerduty: ',',
    standard_webhooks: ' ',
    stripe: ',',
    paddle: ';',
    calendly: ',',
    workos: ', ',
  };

  it.each(Object.entries(LISTS))('of %s: any that fits will do, of 32 at most', (id, separator) => {
    const sample = SAMPLES.find(({ scheme }) => scheme.id === id);
    const request = sample?.request();
    const name =
      sample?.scheme.signatureHeaders.find((each) => each.endsWith('signature') && request?.headers[each]) ?? '';
    const value = request?.headers[name] ?? '';
    const signature = value.split(separator).at(-1) ?? '';
    const tag = /^[a-z0-9]+[,=]/.exec(signature)?.[0] ?? '';
    if (!sample || !request || tag === '') throw new Error(`There is no list in ${value}.`);
    const first = value.slice(0, value.length - signature.length);
    const judge = (...items: string[]): boolean =>
      verdict(sample, request, withValue(pairsOf(request), name, first + items.join(separator)));
    const wrong = `${tag}AAAA`;
    const fields = first === '' ? 0 : 1;

    expect(judge(wrong, signature)).toBe(true);
    expect(judge(signature, 'v9=what', wrong)).toBe(true);
    expect(judge(...Array.from({ length: 31 - fields }, () => wrong), signature)).toBe(true);
    expect(judge(...Array.from({ length: 32 - fields }, () => wrong), signature)).toBe(false);
    expect(judge('v9='.padEnd(4096 - value.length - separator.length, 'x'), signature)).toBe(true);
    expect(judge('v9='.padEnd(4097, 'x'), signature)).toBe(false);
    expect(judge(wrong, wrong)).toBe(false);
    expect(judge(signature.replace(tag, 'v0='), signature.replace(tag, 'v2,'))).toBe(false);
    if (fields === 1) expect(judge(signature, first.slice(0, -separator.length))).toBe(false);
  });
});

describe('Standard Webhooks', () => {
  const sample = SAMPLES.find(({ scheme }) => scheme.id === 'standard_webhooks');
  if (!sample?.row) throw new Error('There is no standard_webhooks.');
  const [svix, webhook] = sample.row.framings;
  const webhookRequest = sample.request({ framing: webhook });
  const svixRequest = sample.request({ framing: svix, id: 'msg_svix' });

  it('accepts either complete trio, and prefers that of Svix', () => {
    expect(verdict(sample, webhookRequest)).toBe(true);
    expect(verdict(sample, svixRequest)).toBe(true);
    const both = [...pairsOf(webhookRequest), ...pairsOf(svixRequest)];
    expect(verdict(sample, webhookRequest, both)).toBe(true);
    expect(verdict(sample, webhookRequest, withValue(both, 'webhook-signature', 'v1,AAAA'))).toBe(true);
    expect(verdict(sample, webhookRequest, withValue(both, 'svix-signature', 'v1,AAAA'))).toBe(false);
  });

  it.each(['svix-id', 'svix-timestamp', 'svix-signature'])(
    'never mixes: not with a stray %s, nor without it',
    (name) => {
      const value = svixRequest.headers[name] ?? '';
      expect(verdict(sample, webhookRequest, [...pairsOf(webhookRequest), [name, value]])).toBe(false);
      const plain = name.replace('svix', 'webhook');
      expect(
        verdict(sample, webhookRequest, [
          ...without(pairsOf(webhookRequest), plain),
          [name, webhookRequest.headers[plain] ?? ''],
        ]),
      ).toBe(false);
    },
  );

  it('rejects an id with a dot, because another id and time would have the same bytes', () => {
    const dotted = sample.request({ framing: webhook, id: 'a' });
    const time = dotted.headers['webhook-timestamp'] ?? '';
    expect(verdict(sample, dotted)).toBe(true);
    const content = Buffer.from(`a.1.${time}.${dotted.body.toString('utf8')}`);
    const signature = `v1,${sample.row?.algorithm.sign([content], sample.secret)}`;
    const signed = withValue(withValue(pairsOf(dotted), 'webhook-id', 'a.1'), 'webhook-signature', signature);
    expect(verdict(sample, dotted, signed)).toBe(false);
  });

  it.each(['zażółć', 'a\u0000b', 'a\tb', 'a'.repeat(4097)])('refuses the id %j, even if that is signed', (id) => {
    expect(verdict(sample, sample.request({ framing: webhook, id }))).toBe(false);
  });

  it('generates a secret for senders that accept one, and for no other scheme', () => {
    const made = SAMPLES.map(({ scheme }) => [scheme.id, scheme.generateSecret()] as const).filter(
      ([, each]) => each !== null,
    );
    expect(made.map(([id]) => id)).toEqual(['standard_webhooks']);
    expect(made[0]?.[1]).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(sample.scheme.checkSecret(made[0]?.[1] ?? '')).toBeNull();
    expect(sample.scheme.generateSecret()).not.toBe(made[0]?.[1]);
  });
});

describe('a token of Netlify', () => {
  const sample = SAMPLES.find(({ scheme }) => scheme.id === 'netlify');
  if (!sample) throw new Error('There is no netlify.');
  const request = sample.request();
  const claims = { iss: 'netlify', sha256: createHash('sha256').update(BODY).digest('hex') };
  const judge = (head: unknown, said: unknown, more = ''): boolean => {
    const signed = [head, said].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
    const signature = createHmac('sha256', sample.secret).update(signed).digest('base64url');
    return verdict(sample, request, [['x-webhook-signature', `${signed}.${signature}${more}`]]);
  };

  it('must have the expected algorithm, issuer and hash', () => {
    expect(judge({ alg: 'HS256' }, claims)).toBe(true);
    for (const alg of ['none', 'HS512', 'hs256', '', null]) expect(judge({ alg }, claims)).toBe(false);
    expect(judge(null, claims)).toBe(false);
    expect(judge({ alg: 'HS256' }, { ...claims, iss: 'evil' })).toBe(false);
    expect(judge({ alg: 'HS256' }, { iss: 'netlify' })).toBe(false);
    expect(judge({ alg: 'HS256' }, [claims])).toBe(false);
    expect(judge({ alg: 'HS256' }, claims, '.')).toBe(false);
    expect(judge({ alg: 'HS256', pad: 'x'.repeat(4096) }, claims)).toBe(false);
  });
});

describe('a secret of another form', () => {
  const bytes = (count: number): string => Buffer.alloc(count, 7).toString('base64');
  it.each([
    ['standard_webhooks', `whsec_${bytes(24)}`, true],
    ['standard_webhooks', bytes(64), true],
    ['standard_webhooks', `whsec_${bytes(23)}`, false],
    ['standard_webhooks', `whsec_${bytes(65)}`, false],
    ['standard_webhooks', 'whsec_not base64 at all, but quite long', false],
    ['gitlab_signing', `whsec_${bytes(32)}`, true],
    ['gitlab_signing', `whsec_${bytes(33)}`, false],
    ['polar', 'polar_whs_anything', true],
    ['standard_webhooks_v1a', `whpk_${bytes(31)}`, false],
    ['standard_webhooks_v1a', `whsec_${bytes(32)}`, false],
    ['discord', 'ab'.repeat(31), false],
    ['discord', 'AB'.repeat(32), false],
    ['sendgrid', bytes(91), false],
    ['airtable', 'plain text', false],
  ])('%s: %s is one: %s', (id, secret, isOne) => {
    const problem = SAMPLES.find(({ scheme }) => scheme.id === id)?.scheme.checkSecret(secret);
    expect(problem === null).toBe(isOne);
    expect(problem ?? '').not.toContain(secret);
  });
});
