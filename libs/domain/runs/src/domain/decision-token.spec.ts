import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DecisionTokens, type SignedDecision } from './decision-token.js';

const KEY = 'a-key-for-tests-only-0123456789abcdef';
const tokens = new DecisionTokens(KEY);
const DECISION: SignedDecision = {
  channel: { type: 'notification_webhook', uid: '1v3kqM0dQeXoWw2GqXbq7Z', revision: 3 },
  runId: '01936f0e-7c6b-7a3e-9a53-0d3f5f7f1a11',
  approvalId: '01936f0e-7c6b-7a3e-9a53-0d3f5f7f1a12',
  choice: { kind: 'allow' },
  expiresAt: new Date('2026-11-27T12:00:00Z'),
};

const decisions: fc.Arbitrary<SignedDecision> = fc.record({
  channel: fc.record({
    type: fc.constantFrom('notification_webhook' as const, 'chat_app' as const),
    uid: fc.stringMatching(/^[A-Za-z0-9/_-]{1,128}$/),
    revision: fc.integer({ min: 0, max: 0xffff_ffff }),
  }),
  runId: fc.uuid(),
  approvalId: fc.stringMatching(/^[A-Za-z0-9._-]{1,128}$/),
  choice: fc.oneof(
    fc.constantFrom({ kind: 'allow' as const }, { kind: 'deny' as const }, { kind: 'text' as const }),
    fc.record({ kind: fc.constant('option' as const), index: fc.integer({ min: 0, max: 239 }) }),
  ),
  expiresAt: fc.integer({ min: 0, max: 0xffff_ffff }).map((seconds) => new Date(seconds * 1000)),
});

describe('a decision token', () => {
  it('says what was signed, in at most 430 characters of a URL', () => {
    fc.assert(
      fc.property(decisions, (decision) => {
        const token = tokens.sign(decision);
        expect(token).toMatch(/^[A-Za-z0-9_-]{80,430}$/);
        expect(tokens.verify(token)).toEqual(decision);
      }),
    );
    expect(tokens.sign(DECISION).length).toBeLessThan(170);
  });

  it('is forged when one bit or its length differs', () => {
    const token = tokens.sign(DECISION);
    const bytes = Buffer.from(token, 'base64url');
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const forged = Buffer.from(bytes);
      forged[bit >> 3] = (forged[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(tokens.verify(forged.toString('base64url'))).toBeNull();
    }
    for (const text of [token.slice(1), token.slice(0, -1), `${token}A`, `${token}=`, ` ${token}`, token + token])
      expect(tokens.verify(text)).toBeNull();
  });

  it('has one text only: other texts with the same bytes are forged', () => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const tried = Array.from({ length: 3 }, (_, extra) =>
      tokens.sign({ ...DECISION, approvalId: `a${'x'.repeat(extra)}` }),
    ).flatMap((token) => [...alphabet].map((last) => [token, token.slice(0, -1) + last] as const));
    const accepted = tried.filter(([, text]) => tokens.verify(text) !== null);
    expect(accepted.every(([token, text]) => token === text)).toBe(true);
    expect(accepted).toHaveLength(3);
  });

  it('does not verify arbitrary text', () => {
    fc.assert(fc.property(fc.string({ maxLength: 600 }), (text) => tokens.verify(text) === null));
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 330 }), (bytes) => {
        return tokens.verify(Buffer.from(bytes).toString('base64url')) === null;
      }),
    );
  });

  it('remains valid with a previous key, and is forged with another one', () => {
    const token = tokens.sign(DECISION);
    const other = 'another-key-for-tests-only-0123456789';
    expect(new DecisionTokens(other, [KEY]).verify(token)).toEqual(DECISION);
    expect(new DecisionTokens(other).verify(token)).toBeNull();
  });

  it('is not signed for ids and options that it cannot contain', () => {
    const { channel } = DECISION;
    for (const wrong of [
      { approvalId: '' },
      { approvalId: 'a'.repeat(129) },
      { channel: { ...channel, uid: 'a'.repeat(129) } },
      { channel: { ...channel, revision: -1 } },
      { choice: { kind: 'option' as const, index: 240 } },
      { runId: 'not a UUID' },
    ])
      expect(() => tokens.sign({ ...DECISION, ...wrong })).toThrow();
  });
});
