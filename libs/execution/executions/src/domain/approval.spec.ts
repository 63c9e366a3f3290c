import { describe, expect, it } from 'vitest';
import { readRequest } from './approval.js';

const subjectOf = (title: string) => readRequest({ approval_id: 'a', title, ask: true })?.subject;

describe('readRequest', () => {
  it('takes the title for what a request is about that does not say it', () => {
    expect(subjectOf('Run the tests')).toEqual({ type: 'title', value: 'Run the tests' });
  });

  it('tells long titles apart that begin the same', () => {
    const start = 'echo '.repeat(2_000);
    expect(subjectOf(`${start}1`)).toEqual(subjectOf(`${start}1`));
    expect(subjectOf(`${start}1`)).not.toEqual(subjectOf(`${start}2`));
    // A title that is written as the hash of another one.
    expect(subjectOf(subjectOf(`${start}1`)?.value ?? '')).not.toEqual(subjectOf(`${start}1`));
  });
});
