import { expect, expectTypeOf, it } from 'vitest';
import type { Rejection, RejectionOf } from '#platform/kernel';
import { ProblemError } from './problem-error.js';
import { type ResourceProblems, type ResourceWords, unwrap } from './rejection-problem.js';

interface Created {
  readonly kind: 'created';
  readonly uid: string;
}
interface HasRuns {
  readonly kind: 'has_runs';
  readonly runs: number;
}

const WORDS: ResourceWords = { noun: 'schedule', plural: 'schedules' };
const WITH_OWN: ResourceProblems<HasRuns | RejectionOf<'forbidden'>> = {
  ...WORDS,
  problems: {
    has_runs: ({ runs }) => new ProblemError('conflict', `The schedule has ${runs} runs.`),
    forbidden: () => new ProblemError('not_authorized', 'Your role does not permit this.'),
  },
};

const result = (value: Created | Rejection): Created | Rejection => value;
const resultWithRuns = (value: Created | HasRuns | Rejection): Created | HasRuns | Rejection => value;

it('returns a result that is no rejection, narrowed', () => {
  const created = unwrap(result({ kind: 'created', uid: '1' }), WORDS);
  expectTypeOf(created).toEqualTypeOf<Created>();
  expect(created.uid).toBe('1');
  expectTypeOf(unwrap(resultWithRuns(created), WITH_OWN)).toEqualTypeOf<Created>();
});

it('leaves kinds without a problem to the handler', () => {
  const rest = unwrap(resultWithRuns({ kind: 'has_runs', runs: 2 }), WORDS);
  expectTypeOf(rest).toEqualTypeOf<Created | HasRuns>();
  expect(rest.kind).toBe('has_runs');
});

it('throws the problem of a shared rejection, with the words of the resource', () => {
  expect(() => unwrap(result({ kind: 'not_found' }), WORDS)).toThrow('Schedule not found.');
  expect(() => unwrap(resultWithRuns({ kind: 'not_found' }), WITH_OWN)).toThrow('Schedule not found.');
  expect(() => unwrap(result({ kind: 'limit_reached', limit: 3 }), WORDS)).toThrow('at most 3 schedules');
});

it('throws the problems that the resource declares, also in place of a shared one', () => {
  expect(() => unwrap(resultWithRuns({ kind: 'has_runs', runs: 2 }), WITH_OWN)).toThrow('The schedule has 2 runs.');
  expect(() => unwrap(resultWithRuns({ kind: 'forbidden' }), WITH_OWN)).toThrow('Your role does not permit this.');
});
