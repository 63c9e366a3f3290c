import { expect, it } from 'vitest';
import {
  EVALUATION_LEASES_MS,
  givenUpReason,
  isExhausted,
  MAX_EVALUATION_ATTEMPTS,
  waitAfterFailure,
} from './evaluation-retry.js';

it('an evaluation is tried twenty times within some hours, with longer and longer waits', () => {
  const waits = Array.from({ length: MAX_EVALUATION_ATTEMPTS }, (_, index) => waitAfterFailure(index + 1));
  expect(waits).toEqual([
    ...[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, ...Array<number>(9).fill(900)].map((seconds) => seconds * 1000),
    null,
  ]);
});

it('a lost attempt is waited for as long as after a failure, and never shorter than an evaluation may take', () => {
  expect(EVALUATION_LEASES_MS.map((milliseconds) => milliseconds / 1000)).toEqual([
    ...[15, 15, 15, 15, 16, 32, 64, 128, 256, 512, ...Array<number>(9).fill(900), 15, 15],
  ]);
});

it('failed and lost attempts count alike, and the reason tells them apart', () => {
  expect(isExhausted({ failures: 12, losses: 7 })).toBe(false);
  expect(isExhausted({ failures: 12, losses: 8 })).toBe(true);
  expect(givenUpReason({ failures: 20, losses: 0 })).toBe(
    "The evaluation failed 20 times; the service's log says why.",
  );
  expect(givenUpReason({ failures: 0, losses: 20 })).toBe(
    "The evaluation was cut off 20 times, as by the end of the process in the middle of it; the service's log says more.",
  );
  expect(givenUpReason({ failures: 1, losses: 19 })).toBe(
    "The evaluation failed once and was cut off 19 times, as by the end of the process in the middle of it; the service's log says more.",
  );
});
