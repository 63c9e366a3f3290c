import { describe, expect, it } from 'vitest';
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

describe('ExecutorRegistry', () => {
  it('finds executors by name, and refuses a name that is taken', () => {
    const registry = new ExecutorRegistry();
    const [one, other] = [new NoExecutor(), new NoExecutor()];
    registry.register('one', one);
    registry.register('other', other);
    expect(registry.get('other')).toBe(other);
    expect(() => registry.register('one', other)).toThrow('The executor one is registered twice.');
    expect(registry.get('one')).toBe(one);
  });

  it('says which names are known', () => {
    const registry = new ExecutorRegistry();
    registry.register('one', new NoExecutor());
    expect(() => registry.get('two')).toThrow('EXECUTOR must be one of one; it is two.');
  });
});
