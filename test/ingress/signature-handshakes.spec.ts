import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { incoming, NOW, SAMPLES } from './scheme-samples.js';

function sampleOf(id: string) {
  const sample = SAMPLES.find(({ scheme }) => scheme.id === id);
  if (!sample) throw new Error(`There is no ${id}.`);
  return sample;
}

/** What a signed request with this body is answered with; null when it is an ordinary delivery. */
function answerTo(id: string, body: unknown) {
  const { scheme, secret, request } = sampleOf(id);
  const signed = request({ body: Buffer.from(JSON.stringify(body)) });
  const seen = incoming(signed, signed.headers);
  expect(scheme.verify(seen, secret, NOW)).toBe(true);
  return scheme.handshake(seen, secret);
}

describe('a signed handshake', () => {
  it('of Slack is answered with its challenge as text', () => {
    const answer = answerTo('slack', { type: 'url_verification', challenge: 'a<b>c' });
    expect(answer).toEqual({ status: 200, contentType: 'text/plain; charset=utf-8', body: 'a<b>c' });
  });

  it('of Zoom is answered with its token and the HMAC of the token', () => {
    const answer = answerTo('zoom', { event: 'endpoint.url_validation', payload: { plainToken: 'qgg8' } });
    const encryptedToken = createHmac('sha256', sampleOf('zoom').secret).update('qgg8').digest('hex');
    expect(answer).toMatchObject({ status: 200, contentType: 'application/json' });
    expect(JSON.parse(answer?.body ?? '')).toEqual({ plainToken: 'qgg8', encryptedToken });
  });

  it('of Discord is a ping of both kinds, but not an event', () => {
    expect(answerTo('discord', { version: 1, application_id: '1', type: 0 })).toEqual({
      status: 204,
      contentType: 'application/json',
    });
    expect(answerTo('discord', { id: '1', type: 1, token: 't', version: 1 })).toMatchObject({
      status: 200,
      body: '{"type":1}',
    });
    expect(answerTo('discord', { version: 1, type: 1, event: { type: 'ENTITLEMENT_CREATE' } })).toBeNull();
  });

  it('of Notion, which contains the secret again, is not a delivery', () => {
    expect(answerTo('notion', { verification_token: 'secret_tMrlL1qK5vu' })).toEqual({ status: 200 });
  });

  it.each([
    ['slack', { type: 'url_verification' }],
    ['slack', { type: 'url_verification', challenge: { a: 1 } }],
    ['slack', { type: 'url_verification', challenge: 'x'.repeat(1025) }],
    ['slack', { type: 'event_callback', challenge: 'c' }],
    ['slack', [{ type: 'url_verification', challenge: 'c' }]],
    ['zoom', { event: 'endpoint.url_validation', payload: null }],
    ['zoom', { event: 'endpoint.url_validation', payload: { plainToken: 'x'.repeat(1025) } }],
    ['zoom', { event: 'meeting.started', payload: { plainToken: 'qgg8' } }],
    ['discord', { type: 2 }],
    ['discord', { type: '0' }],
    ['discord', null],
    ['notion', { verification_token: 'something else' }],
    ['notion', { id: '1' }],
    ['github', { zen: 'Ping', type: 'url_verification', challenge: 'c' }],
    ['terraform_cloud', { notifications: [{ trigger: 'verification' }] }],
  ])('of %s is not %j', (id, body) => {
    expect(answerTo(id, body)).toBeNull();
  });
});

describe('a handshake that contains the secret', () => {
  const bring = (id: string, headers: readonly (readonly [string, string])[], body: unknown = {}) => {
    const bytes = Buffer.from(JSON.stringify(body));
    return sampleOf(id).scheme.extractSecret(
      incoming({ body: bytes, headers: {}, url: 'https://ingress.example/w' }, headers),
    );
  };

  it('of Asana has it in a header, and is answered with it', () => {
    const secret = 'b537207f20cbfa02357cf448134da559';
    expect(bring('asana', [['X-Hook-Secret', secret]])).toEqual({
      secret,
      answer: { status: 200, headers: { 'X-Hook-Secret': secret } },
    });
  });

  it('of Notion has it in the body', () => {
    const secret = 'secret_tMrlL1qK5vuQAh1b6cZGhFChZTSYJlce98V0pYn7yBl';
    expect(bring('notion', [], { verification_token: secret })).toEqual({ secret, answer: { status: 200 } });
  });

  it.each([
    [
      'two secrets',
      [
        ['x-hook-secret', 'a'],
        ['x-hook-secret', 'b'],
      ],
    ],
    ['an empty one', [['x-hook-secret', '']]],
    ['one with a line break', [['x-hook-secret', 'a\r\nSet-Cookie: b']]],
    ['one that is too long', [['x-hook-secret', 'x'.repeat(1025)]]],
    [
      'a signed request',
      [
        ['x-hook-secret', 'a'],
        ['x-hook-signature', 'b'],
      ],
    ],
    ['none', []],
  ] as const)('of Asana is not %s', (_what, headers) => {
    expect(bring('asana', headers)).toBeNull();
  });

  it.each([
    { verification_token: 'secret_'.padEnd(1025, 'x') },
    { verification_token: 1 },
    { a: { verification_token: 'secret_1' } },
    [],
  ])('of Notion is not %j', (body) => {
    expect(bring('notion', [], body)).toBeNull();
  });

  it('is expected by these two schemes only', () => {
    const waiting = SAMPLES.filter(({ scheme }) => scheme.hasSecretInHandshake).map(({ scheme }) => scheme.id);
    expect(waiting.sort()).toEqual(['asana', 'notion']);
    const others = SAMPLES.filter(({ scheme }) => !waiting.includes(scheme.id));
    const found = others.map(({ scheme }) =>
      bring(scheme.id, [['x-hook-secret', 'a']], { verification_token: 'secret_1' }),
    );
    expect(found.every((each) => each === null)).toBe(true);
  });
});
