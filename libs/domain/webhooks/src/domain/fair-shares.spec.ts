import fc from 'fast-check';
import { expect, it } from 'vitest';
import { FACTORY_SHARE, fairShares } from './fair-shares.js';

const waitingOf = (counts: Record<string, number>) =>
  Object.entries(counts).flatMap(([factoryUid, count]) =>
    Array.from({ length: count }, (_, index) => ({ webhookId: `${factoryUid}${index}`, factoryUid })),
  );

it('gives every factory the same share, independent of its number of webhooks', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.integer({ min: 1, max: 30 })), fc.nat(), (counts, round) => {
      const turns = fairShares(waitingOf(counts), round);
      expect(turns).toHaveLength(Object.keys(counts).length);
      for (const ofFactory of turns) {
        expect(ofFactory.reduce((sum, { share }) => sum + share, 0)).toBe(FACTORY_SHARE);
        expect(new Set(ofFactory.map(({ webhookId }) => webhookId)).size).toBe(ofFactory.length);
      }
    }),
  );
});

it('includes every webhook of a factory within a few rounds', () => {
  const seen = new Set<string>();
  for (let round = 0; round < 3; round += 1)
    for (const { webhookId } of fairShares(waitingOf({ flood: 20 }), round).flat()) seen.add(webhookId);
  expect(seen.size).toBe(20);
});
