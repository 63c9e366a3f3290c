import type { IncomingMessage } from 'node:http';

/** A value of one kind that belongs to a request. As a property, because each garbage collection visits the entries of a WeakMap. */
export class RequestSlot<Value> {
  private readonly key: symbol;

  constructor(name: string) {
    this.key = Symbol(`headrace:${name}`);
  }

  get(request: IncomingMessage): Value | undefined {
    return (request as unknown as Record<symbol, Value | undefined>)[this.key];
  }

  set(request: IncomingMessage, value: Value): void {
    (request as unknown as Record<symbol, Value>)[this.key] = value;
  }
}
