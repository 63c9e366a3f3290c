import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyText } from '#testing';
import { incoming, NOW, SAMPLES, type SchemeSample } from './scheme-samples.js';

const RUNS = 300;
const BODY_NOT_SIGNED = ['figma', 'gitlab_token', 'mailgun'];

/** One change to a text: a character put in, taken out or replaced, or a stretch of it repeated. */
const edit = fc.record({
  at: fc.nat(10_000),
  kind: fc.constantFrom('insert', 'remove', 'replace', 'repeat'),
  character: fc.oneof(
    fc.constantFrom(' ', ',', ';', '=', '.', '0', 'A', 't', 'v', '\u0161', '\u0000', '%'),
    fc.string({ minLength: 1, maxLength: 3 }),
  ),
});

function edited(text: string, { at, kind, character }: { at: number; kind: string; character: string }): string {
  const place = text.length === 0 ? 0 : at % text.length;
  const [head, tail] = [text.slice(0, place), text.slice(place)];
  if (kind === 'insert') return head + character + tail;
  if (kind === 'remove') return head + tail.slice(1);
  if (kind === 'replace') return head + character + tail.slice(1);
  return head + tail + tail;
}

/** What must stand in a changed header for it to be as good as the old one: its signature and its time, unharmed. */
function essence({ row }: SchemeSample, value: string): readonly string[] {
  const separator = row?.framings.at(-1)?.signature.separator;
  return separator === undefined ? [value] : value.split(separator.trim() || ' ').map((item) => item.trim());
}

describe.each(SAMPLES.map((sample) => [sample.scheme.id, sample] as const))('%s', (id, sample) => {
  const request = sample.request();
  const signed = Object.keys(request.headers).filter(
    (name) => sample.scheme.signatureHeaders.includes(name) || name.endsWith('-id'),
  );
  const names = signed.filter(
    (name) => sample.scheme.signatureHeaders.includes(name) || sample.row?.content.includes('{id}'),
  );

  // Where all of it lies in the body, there is none.
  if (names.length > 0) {
    it('rejects a changed header', () => {
      fc.assert(
        fc.property(fc.constantFrom(...names), fc.array(edit, { minLength: 1, maxLength: 3 }), (name, edits) => {
          const before = request.headers[name] ?? '';
          const after = edits.reduce(edited, before);
          const accepted = sample.scheme.verify(
            incoming(request, { ...request.headers, [name]: after }),
            sample.secret,
            NOW,
          );
          if (accepted) expect(essence(sample, after)).toEqual(expect.arrayContaining([...essence(sample, before)]));
        }),
        { numRuns: RUNS },
      );
    });
  }

  it('rejects a changed body', () => {
    fc.assert(
      fc.property(fc.nat(request.body.length - 1), fc.integer({ min: 1, max: 255 }), (at, bits) => {
        const body = Buffer.from(request.body);
        body[at] = (body[at] ?? 0) ^ bits;
        const accepted = sample.scheme.verify(incoming({ ...request, body }, request.headers), sample.secret, NOW);
        if (!BODY_NOT_SIGNED.includes(id)) expect(accepted).toBe(false);
      }),
      { numRuns: RUNS },
    );
  });

  it('rejects arbitrary requests without throwing', () => {
    const header = fc.constantFrom(
      ...sample.scheme.signatureHeaders,
      ...sample.scheme.deliveryIdHeaders,
      'x-hook-secret',
      'authorization',
    );
    fc.assert(
      fc.property(
        fc.array(
          fc.tuple(
            header,
            fc.oneof(fc.string(), anyText(), fc.base64String(), fc.stringMatching(/^(t=|v1=|sha256=|v0=)[0-9a-f,=]*$/)),
          ),
        ),
        fc.oneof(
          fc.uint8Array(),
          fc.json().map((json) => Buffer.from(json)),
        ),
        fc.string(),
        (pairs, bytes, query) => {
          const body = Buffer.from(bytes);
          const any = incoming({ body, headers: {}, url: `https://ingress.example/w?${query}` }, pairs);
          expect(sample.scheme.verify(any, sample.secret, NOW)).toBe(false);
          sample.scheme.handshake(any, sample.secret);
          sample.scheme.extractSecret(any);
          sample.scheme.sign({ body, secret: query, now: NOW, url: any.url, deliveryId: query });
        },
      ),
      { numRuns: RUNS },
    );
  });

  it('rejects requests under an invalid secret', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 100 }), (secret) => {
        expect(sample.scheme.verify(incoming(request, request.headers), secret, NOW)).toBe(secret === sample.secret);
        expect(typeof (sample.scheme.checkSecret(secret) ?? '')).toBe('string');
      }),
      { numRuns: RUNS },
    );
  });
});
