import { describe, expect, it } from 'vitest';
import { parseSettings } from '#platform/config';
import { Executor, ExecutorRegistry } from './executors.js';

class NoExecutor extends Executor {
  override launch(): void {
    throw new Error('Nothing is launched here.');
  }
  override prepare(): Promise<void> {
    return Promise.resolve();
  }
  override drain(): Promise<void> {
    return Promise.resolve();
  }
}

const open = (executor: string) => new ExecutorRegistry(parseSettings({ EXECUTOR: executor }));

describe('ExecutorRegistry', () => {
  it('finds the executor of the settings, and refuses a name that is taken', () => {
    const registry = open('other');
    const [one, other] = [new NoExecutor(), new NoExecutor()];
    registry.register('one', one);
    registry.register('other', other);
    expect(() => registry.register('one', other)).toThrow('The executor one is registered twice.');
    expect(registry.chosen).toBe(other);
  });

  it('says which names are known', () => {
    const registry = open('two');
    registry.register('one', new NoExecutor());
    expect(() => registry.chosen).toThrow('EXECUTOR must be one of one; it is two.');
  });
});
