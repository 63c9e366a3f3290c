import { RETIRE_SIGNAL } from '#execution/runner';

type Controllers<T> = Readonly<Record<'drain' | 'abort' | 'retire', T>>;

/** The signals to this process, for one execution after the other. Without an execution, SIGTERM and SIGINT end the process. */
export class ExecutionSignals {
  isStopped = false;
  private current: Controllers<AbortController> | null = null;

  constructor() {
    for (const name of ['SIGTERM', 'SIGINT'] as const) process.on(name, () => this.stop(name));
    process.on('SIGHUP', () => undefined);
    process.on(RETIRE_SIGNAL, () => this.current?.retire.abort());
  }

  /** The signals from now on: the first SIGTERM drains, the second aborts. */
  begin(): Controllers<AbortSignal> {
    const [drain, abort, retire] = [new AbortController(), new AbortController(), new AbortController()];
    this.current = { drain, abort, retire };
    return { drain: drain.signal, abort: abort.signal, retire: retire.signal };
  }

  end(): void {
    this.current = null;
  }

  private stop(name: NodeJS.Signals): void {
    this.isStopped = true;
    if (this.current === null) {
      process.removeAllListeners(name);
      process.kill(process.pid, name);
      return;
    }
    const { drain, abort } = this.current;
    (drain.signal.aborted ? abort : drain).abort();
  }
}
