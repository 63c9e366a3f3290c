import { describe, expect, it } from 'vitest';
import { subjectOf } from './subject';

describe('subjectOf', () => {
  it('is the first line of the prompt, unless it is the title', () => {
    expect(subjectOf({ title: 'Nightly', prompt: '\n\n  Update the dependencies.\nThen test.' })).toBe(
      'Update the dependencies.',
    );
    expect(subjectOf({ title: 'Update', prompt: 'update.' })).toBe('');
    expect(subjectOf({ title: 'Update' })).toBe('');
  });

  it('contains the values of the event of an automation', () => {
    const values = '[payload value 1] payload.issue.title: "A \\"wrong\\" total"\n[payload value 2] payload.number: 7';
    const prompt = `Fix "[payload value 1]" (#[payload value 2], [payload value 3]).\n\n---\n\n${values}`;
    expect(subjectOf({ title: 'Fix bugs', prompt })).toBe('Fix "A "wrong" total" (#7, [payload value 3]).');
  });

  it('leaves a value out that the list has only in parts', () => {
    const prompt = 'Fix [payload value 1].\n\n[payload value 1] payload.title: "A wro';
    expect(subjectOf({ title: 'Fix bugs', prompt })).toBe('Fix [payload value 1].');
  });

  it('is no line of a code block', () => {
    expect(subjectOf({ title: 'x', prompt: '```sh\necho one\n```' })).toBe('echo one');
  });
});
