import { expect, it } from 'vitest';
import { MAX_EVALUATION_ATTEMPTS, waitAfterFailure } from './evaluation-retry.js';

it('an evaluation is tried twenty times within some hours, with longer and longer waits', () => {
  const waits = Array.from({ length: MAX_EVALUATION_ATTEMPTS }, (_, index) => waitAfterFailure(index + 1));
  expect(waits).toEqual([
    ...[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, ...Array<number>(9).fill(900)].map((seconds) => seconds * 1000),
    null,
  ]);
});
