import { Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { DatabaseListener } from '#platform/persistence';
import { COMMANDS_CHANNEL } from '../domain/lease.js';

export interface CommandSignal {
  /** Resolves on a notification for the execution, after `ms`, or when aborted; whichever is first. */
  wait(ms: number, abort: AbortSignal): Promise<void>;
  dispose(): void;
}

/** Wakes waiting long-polls. A signal is taken before the database is read, so that nothing falls between. */
@Injectable()
export class CommandSignals implements OnModuleInit, OnModuleDestroy {
  private readonly waiting = new Map<string, Set<() => void>>();
  private unsubscribe: () => void = () => undefined;

  constructor(private readonly listener: DatabaseListener) {}

  onModuleInit(): void {
    this.unsubscribe = this.listener.subscribe(COMMANDS_CHANNEL, (executionId) => this.fire(executionId));
  }

  onModuleDestroy(): void {
    this.unsubscribe();
    this.fire('');
  }

  next(executionId: string): CommandSignal {
    let fired = false;
    let wake: (() => void) | null = null;
    const onFire = (): void => {
      fired = true;
      wake?.();
    };
    const set = this.waiting.get(executionId) ?? new Set<() => void>();
    set.add(onFire);
    this.waiting.set(executionId, set);
    return {
      wait: (ms, abort) =>
        new Promise((resolve) => {
          const timer = setTimeout(finish, ms);
          function finish(): void {
            clearTimeout(timer);
            abort.removeEventListener('abort', finish);
            resolve();
          }
          wake = finish;
          abort.addEventListener('abort', finish, { once: true });
          if (fired || abort.aborted) finish();
        }),
      dispose: () => {
        set.delete(onFire);
        if (set.size === 0 && this.waiting.get(executionId) === set) this.waiting.delete(executionId);
      },
    };
  }

  /** An empty id wakes everybody: the connection was lost and anything may have been missed. */
  private fire(executionId: string): void {
    const sets =
      executionId === '' ? [...this.waiting.values()] : [this.waiting.get(executionId) ?? new Set<() => void>()];
    for (const set of sets) for (const onFire of set) onFire();
  }
}
