import { describe, expect, it } from 'vitest';
import { requestedModel, fillPlaceholders, usesPlaceholder } from './launch.js';

describe('placeholders', () => {
  it('are filled from the run, and omit texts with an undefined placeholder', () => {
    const values = { home: '/w/home', model: 'm-{home}' };
    expect(fillPlaceholders('--model={model}', values)).toBe('--model=m-{home}');
    expect(fillPlaceholders('{home}/.codex', values)).toBe('/w/home/.codex');
    expect(fillPlaceholders('{"a":"{b}"}', values)).toBe('{"a":"{b}"}');
    expect(fillPlaceholders('{model}/{reasoning_level}', values)).toBeNull();
  });

  it('have no model when the run uses the agent’s default', () => {
    expect(requestedModel({ type: 'x', model_id: 'auto', reasoning_level: 'high' })).toEqual({
      reasoningLevel: 'high',
    });
    expect(requestedModel({ type: 'x', model_id: 'opus' })).toEqual({ model: 'opus' });
  });

  it('are found in arguments and variables', () => {
    const harness = { command: 'x', install_hint: '', args: ['--m={model}'], env: { LEVEL: '{reasoning_level}' } };
    expect(usesPlaceholder(harness, 'model') && usesPlaceholder(harness, 'reasoning_level')).toBe(true);
    expect(usesPlaceholder({ ...harness, args: [] }, 'model')).toBe(false);
  });
});
