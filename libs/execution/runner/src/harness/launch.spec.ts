import { describe, expect, it } from 'vitest';
import { requestedModel, fillPlaceholders, usesPlaceholder } from './launch.js';

describe('placeholders', () => {
  it('are filled with what the run names, and leave out what holds another', () => {
    const values = { home: '/w/home', model: 'm-{home}' };
    expect(fillPlaceholders('--model={model}', values)).toBe('--model=m-{home}');
    expect(fillPlaceholders('{home}/.codex', values)).toBe('/w/home/.codex');
    expect(fillPlaceholders('{"a":"{b}"}', values)).toBe('{"a":"{b}"}');
    expect(fillPlaceholders('{model}/{reasoning_level}', values)).toBeNull();
  });

  it('know no model when the run leaves the choice to the agent', () => {
    expect(requestedModel({ type: 'x', model_id: 'auto', reasoning_level: 'high' })).toEqual({
      reasoningLevel: 'high',
    });
    expect(requestedModel({ type: 'x', model_id: 'opus' })).toEqual({ model: 'opus' });
  });

  it('are looked for in arguments and variables', () => {
    const harness = { command: 'x', install_hint: '', args: ['--m={model}'], env: { LEVEL: '{reasoning_level}' } };
    expect(usesPlaceholder(harness, 'model') && usesPlaceholder(harness, 'reasoning_level')).toBe(true);
    expect(usesPlaceholder({ ...harness, args: [] }, 'model')).toBe(false);
  });
});
