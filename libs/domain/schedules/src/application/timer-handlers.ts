import { Injectable } from '@nestjs/common';
import type { TimerHandler } from './timer-handler.js';

/** Everything that timers of this process can be fired for. Timers of other kinds wait for a process that knows them. */
@Injectable()
export class TimerHandlers {
  private readonly handlers = new Map<string, TimerHandler>();

  /** Throws when the kind is registered already. */
  register(handler: TimerHandler): void {
    if (this.handlers.has(handler.kind)) throw new Error(`Timers of the kind ${handler.kind} are handled twice.`);
    this.handlers.set(handler.kind, handler);
  }

  find(kind: string): TimerHandler | undefined {
    return this.handlers.get(kind);
  }

  kinds(): string[] {
    return [...this.handlers.keys()];
  }
}
