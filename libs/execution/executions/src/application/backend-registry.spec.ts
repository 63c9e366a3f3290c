import { DiscoveryService, ModulesContainer } from '@nestjs/core';
import { describe, expect, it } from 'vitest';
import type { Backend } from '#execution/backends';
import { parseSettings } from '#platform/config';
import { BackendRegistry } from './backend-registry.js';

const backend = (name: string): Backend => ({
  name,
  claimDeadlines: 1,
  isReady: true,
  prepare: () => Promise.resolve(),
  check: () => Promise.resolve(false),
  start: () => Promise.reject(new Error('This backend starts nothing.')),
  reattach: () => Promise.resolve(null),
  list: () => Promise.resolve([]),
  remove: () => Promise.resolve(),
});
const registryOf = (executor: string) =>
  new BackendRegistry(parseSettings({ EXECUTOR: executor }), new DiscoveryService(new ModulesContainer()));

describe('BackendRegistry', () => {
  it('creates the backend of the settings once, and no other', () => {
    const registry = registryOf('other');
    const created: string[] = [];
    for (const name of ['one', 'other'])
      registry.register(name, () => {
        created.push(name);
        return backend(name);
      });
    expect(registry.chosen.name).toBe('other');
    expect(registry.chosen).toBe(registry.chosen);
    expect(created).toEqual(['other']);
  });

  it('rejects a second backend of the same name', () => {
    const registry = registryOf('one');
    registry.register('one', () => backend('one'));
    expect(() => registry.register('one', () => backend('one'))).toThrow('The backend one is registered twice.');
  });

  it('names the known backends when the setting names another one', () => {
    const registry = registryOf('two');
    registry.register('one', () => backend('one'));
    expect(() => registry.chosen).toThrow('EXECUTOR must be one of one; it is two.');
  });
});
