import { expect, it } from 'vitest';
import {
  EVALUATION_LEASES_MS,
  abandonedReason,
  isExhausted,
  MAX_EVALUATION_ATTEMPTS,
  waitAfterFailure,
} from './evaluation-retry.js';

it('tries an evaluation twenty times within hours, with increasing delays', () => {
  const waits = Array.from({ length: MAX_EVALUATION_ATTEMPTS }, (_, index) => waitAfterFailure(index + 1));
  expect(waits).toEqual([
    ...[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, ...Array<number>(9).fill(900)].map((seconds) => seconds * 1000),
    null,
  ]);
});

it('leases a delivery for the delay after a failure, and at least for the time limit of a batch', () => {
  expect(EVALUATION_LEASES_MS.map((milliseconds) => milliseconds / 1000)).toEqual([
    ...[15, 15, 15, 15, 16, 32, 64, 128, 256, 512, ...Array<number>(9).fill(900), 15, 15],
  ]);
});

it('counts failed and lost attempts together, and distinguishes them in the reason', () => {
  expect(isExhausted({ failures: 12, losses: 7 })).toBe(false);
  expect(isExhausted({ failures: 12, losses: 8 })).toBe(true);
  expect(abandonedReason({ failures: 20, losses: 0 })).toBe(
    'The evaluation failed 20 times; see the log of the service.',
  );
  expect(abandonedReason({ failures: 0, losses: 20 })).toBe(
    'The evaluation was interrupted 20 times, for example by the end of the process; see the log of the service.',
  );
  expect(abandonedReason({ failures: 1, losses: 19 })).toBe(
    'The evaluation failed once and was interrupted 19 times, for example by the end of the process; see the log of the service.',
  );
});
